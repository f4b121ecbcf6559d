"""The tiles with which pages begin: how many models, engines and alerts are in which state."""

from draftboard.dashboards.panels import Panel, tiles
from draftboard.signals.overview import ALERTS, ENGINES, MODELS

_GROUPS = (
    (
        "Models by health",
        MODELS,
        "Models for which speculation costs more than it saves, is about even or pays, and all others.",
        "Start with those that cost more.",
    ),
    (
        "Engines now",
        ENGINES,
        "Engines that do not answer, that hold requests but generate nothing, that do not draft; all others.",
        "Bring back what is down, restart what is stuck.",
    ),
    (
        "Alerts by severity",
        ALERTS,
        "Alerts that fire, by severity; a dash where no alert can fire, because no rules are loaded.",
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
