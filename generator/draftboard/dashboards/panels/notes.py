"""Paragraphs of Markdown."""

from draftboard.dashboards.context import Context
from draftboard.dashboards.grafana import GRAFANA, GRID_WIDTH, GrafanaPanel, ModernPanel
from draftboard.dashboards.panels.panel import Built, kind

_LETTERS_A_LINE = 150  # Of text across a screen of 1366 pixels.


@kind
def note(context: Context, text: str) -> Built:
    """A paragraph; `{table.key}` stands for a setting."""
    return Built(paragraph(text.format_map(dict(context.settings))))


def paragraph(text: str) -> GrafanaPanel:
    """A paragraph as wide as the page, in full on a small screen."""
    common, lines = GRAFANA["text"], -(-len(text) // _LETTERS_A_LINE)
    own = {"type": "text", "options": common["options"] | {"content": text}, "size": (GRID_WIDTH, max(2, lines))}
    return ModernPanel(**common | own)
