"""The HTML pages: one a dashboard, and one that leads to them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from jinja2 import Environment, PackageLoader, StrictUndefined

from draftboard.preview import colours
from draftboard.preview.document import Dashboard, Panel, Variable
from draftboard.preview.drawn import Body, Words
from draftboard.preview.legends import LINE
from draftboard.preview.panels import GRID_GAP, GRID_UNIT, GRID_WIDTH
from draftboard.preview.queries import Event
from draftboard.preview.times import PAGE_WIDTH, Span


@dataclass(frozen=True)
class DrawnPanel:
    """A panel and what has become of it."""

    panel: Panel
    body: Body
    top: int
    """Line of its row's own grid."""


@dataclass(frozen=True)
class DrawnRow:
    """Panels below a row's title."""

    title: str
    collapsed: bool
    panels: tuple[DrawnPanel, ...]


@dataclass(frozen=True)
class DrawnDashboard:
    """A dashboard and all that is drawn of it."""

    dashboard: Dashboard
    rows: tuple[DrawnRow, ...]
    span: Span
    events: tuple[Event, ...]
    """What is marked on its graphs, earliest first."""

    @property
    def panels(self) -> list[DrawnPanel]:
        """All panels, row by row."""
        return [panel for row in self.rows for panel in row.panels]

    @property
    def empty(self) -> tuple[str, ...]:
        """Titles of the panels that have nothing to draw."""
        return tuple(one.panel.title for one in self.panels if isinstance(one.body, Words) and one.body.empty)


def html(drawn: DrawnDashboard) -> str:
    """The page of one dashboard."""
    return _render("dashboard.html.j2", drawn=drawn, choices=[_choice(one) for one in drawn.dashboard.variables])


def index(all_drawn: Sequence[DrawnDashboard]) -> str:
    """The page that leads to the others."""
    return _render("index.html.j2", all_drawn=all_drawn)


def _render(template: str, **shown: object) -> str:
    environment = Environment(
        autoescape=True,
        loader=PackageLoader("draftboard.preview", "templates"),
        lstrip_blocks=True,
        trim_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {"moment": _moment, "colour": colours.colour}
    sizes = {"unit": GRID_UNIT, "gap": GRID_GAP, "columns": GRID_WIDTH, "width": PAGE_WIDTH, "line": LINE}
    return environment.get_template(template).render(colours=colours, size=sizes, **shown)


def _choice(variable: Variable) -> tuple[str, str]:
    """A variable's label and what is chosen."""
    text = variable.current.text
    return variable.label or variable.name, text if isinstance(text, str) else " + ".join(text)


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")
