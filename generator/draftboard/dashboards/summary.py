"""The totals with which pages begin: models, engines and alerts."""

from draftboard.dashboards.panels import Panel, tiles
from draftboard.signals.standings import ALERTS, ENGINES, MODELS


def summary(*widths: int, large: bool = False) -> tuple[Panel, ...]:
    """Three groups of tiles of these widths."""
    models, engines, alerts = widths
    return (
        tiles(
            "Models by standing",
            *MODELS.values(),
            says="Models for which speculation costs more than it saves, is about even or pays, and all others.",
            action="Start with those that cost more.",
            width=models,
            large=large,
        ),
        tiles(
            "Engines now",
            *ENGINES.values(),
            says="Engines that do not answer, that hold requests but generate nothing, that do not draft; all others.",
            action="Bring back what is down, restart what is stuck.",
            width=engines,
            large=large,
        ),
        tiles(
            "Alerts by severity",
            *ALERTS.values(),
            says="Alerts that fire, by severity; a dash where no alert can fire, because no rules are loaded.",
            action="Open the runbooks, the most urgent first.",
            width=alerts,
            large=large,
        ),
    )
