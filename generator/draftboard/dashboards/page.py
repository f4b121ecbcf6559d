"""A page: the table of contents of a dashboard, which is built for each of its editions."""

from dataclasses import dataclass

from draftboard.dashboards.panels import Panel
from draftboard.signals import Edition, Signal
from draftboard.signals.health import health


@dataclass(frozen=True)
class Row:
    """A question, and the panels that answer it, from left to right; each line of them is as wide as the page."""

    question: str
    """Title of the row; empty for panels without one."""
    panels: tuple[Panel, ...]
    collapsed: bool
    """A collapsed row runs no query until it is opened."""


def row(question: str, *panels: Panel, collapsed: bool = False) -> Row:
    """A question, and the panels that answer it."""
    return Row(question, panels, collapsed)


@dataclass(frozen=True, kw_only=True)
class Page:
    """One dashboard."""

    question: str
    """What it answers."""
    rows: tuple[Row, ...]
    worst: Signal = health
    """Ranks the models that graphs draw."""
    drafting: bool = False
    """Whether it is about models that draft, not about all."""
    one_model: bool = False
    """Whether one model alone can be selected, so that a line is a variant of it."""
    with_baseline: bool = False
    """Whether a baseline can be selected beside the others."""
    lines: tuple[int, ...] = (5, 12)
    """How many lines a graph may draw, beside all."""
    editions: tuple[Edition, ...] = (Edition.RECORDS, Edition.RAW)
    exported_labels: bool = False
    """Whether it knows only the labels that series have without any configuration."""
