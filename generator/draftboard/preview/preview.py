"""From dashboards and a Prometheus to pages."""

from collections.abc import Callable, Iterator, Sequence

from draftboard.errors import DraftboardError
from draftboard.preview import page
from draftboard.preview.document import Dashboard, Panel
from draftboard.preview.page import DrawnDashboard, DrawnPanel, DrawnRow
from draftboard.preview.panels import Found, draw
from draftboard.preview.queries import Asker, Event
from draftboard.preview.times import Span
from draftboard.preview.variables import chosen
from draftboard.prometheus import Client

Tell = Callable[[str, int, int], None]
_ROW = "row"


def drawn(dashboard: Dashboard, client: Client, span: Span, progress: Tell = lambda *_: None) -> DrawnDashboard:
    """A dashboard with all its panels drawn, those of collapsed rows too.

    Raises:
        DraftboardError: a query fails, or a panel holds what a preview does not know.
    """
    asker = Asker(client, span, chosen(dashboard))
    events = [event for one in dashboard.annotations.list if one.enable and one.expr for event in asker.events(one)]
    events.sort(key=lambda event: event.start)
    rows = list(_rows(dashboard.panels))
    total = sum(len(row.panels) for row in rows)
    finished = []
    done = 0
    for row in rows:
        panels = []
        top = min((panel.place.y for panel in row.panels), default=0)
        for panel in row.panels:
            progress(f"{dashboard.uid}: {panel.title}", done, total)
            panels.append(_panel(panel, dashboard, asker, events, top))
            done += 1
        finished.append(DrawnRow(row.title, row.collapsed, tuple(panels)))
    progress(dashboard.uid, total, total)
    return DrawnDashboard(dashboard, tuple(finished), span, tuple(events))


def pages(all_drawn: Sequence[DrawnDashboard]) -> dict[str, str]:
    """The pages by file name: one a dashboard, and an index."""
    return {f"{one.dashboard.uid}.html": page.html(one) for one in all_drawn} | {"index.html": page.index(all_drawn)}


def _rows(panels: Sequence[Panel]) -> Iterator[Panel]:
    """Each row with the panels that belong to it, whether it is collapsed or they follow it."""
    row, below = Panel(type=_ROW), list[Panel]()
    for panel in panels:
        if panel.type != _ROW:
            below.append(panel)
            continue
        if below:
            yield row.model_copy(update={"panels": tuple(below)})
        row, below = panel, list(panel.panels)
    if below:
        yield row.model_copy(update={"panels": tuple(below)})


def _panel(panel: Panel, dashboard: Dashboard, asker: Asker, events: Sequence[Event], top: int) -> DrawnPanel:
    try:
        body = draw(Found(panel, asker.frames(panel), events, asker.span))
    except DraftboardError as error:
        raise DraftboardError(f"{dashboard.uid}: panel {panel.title!r}: {error}") from None
    return DrawnPanel(panel, body, panel.place.y - top + 1)
