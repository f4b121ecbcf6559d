"""The tiles with which pages begin: how many models, engines and alerts are in which state."""

from draftboard.dashboards.panels import Panel, tiles
from draftboard.signals.overview import ALERTS, ENGINES, MODELS

_GROUPS = (
    (
        "Models by health",
        MODELS,
        "Models that fail, are degraded, are to be watched, pay, or none of these: not measured, idle, off.",
        "Start with those that fail.",
    ),
    (
        "Engines now",
        ENGINES,
        "Engines that fail, are degraded, are to be watched, pay, or none of these: not measured, idle, off.",
        "Bring back what is down, restart what is stuck.",
    ),
    (
        "Alerts by severity",
        ALERTS,
        "Alerts that fire, by severity. A model that fails has a warning alone while its other servers serve all.",
        "Open the runbooks, the most urgent first.",
    ),
)


def summary(*widths: int, large: bool = False) -> tuple[Panel, ...]:
    """A panel of these widths for models, engines and alerts."""
    return tuple(
        tiles(
            title,
            *signals.values(),
            description=description,
            action=action,
            width=width,
            large=large,
            else_why=signals is MODELS,
        )
        for (title, signals, description, action), width in zip(_GROUPS, widths, strict=True)
    )
