"""What becomes of each kind of panel."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from draftboard.errors import DraftboardError
from draftboard.preview import legends
from draftboard.preview.charts import bars, heatmap, scatter, timeline, timeseries
from draftboard.preview.charts.canvas import Size
from draftboard.preview.colours import BACKGROUND, TEXT, colour, of_series
from draftboard.preview.document import Fields, Panel
from draftboard.preview.drawn import (
    Body,
    Cell,
    Chart,
    Gauge,
    Gauges,
    Legend,
    LegendRow,
    Stat,
    Stats,
    Table,
    Words,
)
from draftboard.preview.frames import Column, Frame, Kind, Value
from draftboard.preview.queries import Event
from draftboard.preview.times import PAGE_WIDTH, Span
from draftboard.preview.units import humanised
from draftboard.preview.values import Shown, defaults_of, fields_of, show

GRID_UNIT, GRID_GAP, GRID_WIDTH = 30, 8, 24
_TITLE_HEIGHT = 34
_MARGIN = 8
_LARGEST, _SMALLEST = 44, 11  # pixels of a stat's value


@dataclass(frozen=True)
class Found:
    """A panel, what its queries found, and what else is marked."""

    panel: Panel
    frames: list[Frame]
    events: Sequence[Event]
    span: Span

    @property
    def inner(self) -> Size:
        """Pixels within its frame, below its title."""
        place = self.panel.place
        wide = PAGE_WIDTH * place.w // GRID_WIDTH - GRID_GAP - 2 * _MARGIN
        tall = place.h * (GRID_UNIT + GRID_GAP) - GRID_GAP - _TITLE_HEIGHT - _MARGIN
        return Size(max(wide, 60), max(tall, 40))

    @property
    def fields(self) -> Fields:
        """How it shows what no override names."""
        return defaults_of(self.panel.config)

    @property
    def numbers(self) -> list[tuple[Column, Column]]:
        """Every column of numbers that has any, with the times beside it."""
        return [
            (frame.of(Kind.TIME)[0], column)
            for frame in self.frames
            if frame.of(Kind.TIME)
            for column in frame.of(Kind.NUMBER)
            if any(value is not None for value in column.numbers)
        ]

    def fields_of(self, column: Column) -> Fields:
        """How it shows one column."""
        return fields_of(column, self.panel.config)

    def coloured(self, columns: Sequence[Column]) -> Iterator[tuple[Column, Fields, str]]:
        """Columns that are drawn, how each is shown, and in which colour."""
        shown = [self.fields_of(column) for column in columns]
        return zip(columns, shown, of_series(fields.color.fixed for fields in shown), strict=True)


def draw(found: Found) -> Body:
    """The panel as a picture or words; where there is nothing to draw, what it says then.

    Raises:
        DraftboardError: its kind, or something in it, is none that a preview knows.
    """
    kind = found.panel.type
    if kind not in _KINDS:
        raise DraftboardError(f"type {kind!r} is none that a preview knows: {', '.join(sorted(_KINDS))}")
    if found.panel.repeat:
        raise DraftboardError(f"is repeated for each {found.panel.repeat!r}, which a preview does not do")
    return _KINDS[kind](found) or Words(found.fields.no_value or "No data", empty=True)


def _times(column: Column) -> tuple[float, ...]:
    return tuple(float(value or 0) for value in column.values)


def _chart(found: Found, legend: Legend | None, draw_: Callable[[Size], tuple[str, int]]) -> Chart | None:
    """The picture in the room that its legend leaves."""
    inner = found.inner
    below = legends.height_of(legend, inner.width, inner.height)
    size = Size(inner.width, inner.height - below)
    picture, marks = draw_(size)
    return Chart(picture, size.height, marks, legend) if marks else None


def _timeseries(found: Found) -> Body | None:
    times = [times for times, _ in found.numbers]
    lines = [
        timeseries.Line(_times(across), *shown)
        for across, shown in zip(times, found.coloured([column for _, column in found.numbers]), strict=True)
    ]
    if not lines:
        return None
    legend = legends.of_series(found.panel, [(line.column, line.fields, line.colour) for line in lines])
    return _chart(found, legend, lambda size: timeseries.draw(lines, found.fields, found.events, found.span, size))


def _barchart(found: Found) -> Body | None:
    frame = next((frame for frame in found.frames if frame.rows), None)
    if frame is None or not frame.of(Kind.TEXT):
        return None
    across = frame.of(Kind.TEXT)[0]
    named = found.fields_of(across)
    names = [show(value, named).text for value in across.values]
    series = [bars.Bars(*shown) for shown in found.coloured(frame.of(Kind.NUMBER))]
    if not series:
        return None
    legend = legends.of_series(found.panel, [(one.column, one.fields, one.colour) for one in series])
    return _chart(found, legend, lambda size: bars.draw(names, series, found.fields, size))


def _heatmap(found: Found) -> Body | None:
    rows = heatmap.buckets(found.frames)
    most = max((count or 0.0 for row in rows for count in row.counts), default=0.0)
    if not most:
        return None
    fill = colour(found.panel.options.color.fill)
    legend = Legend((LegendRow("0", BACKGROUND), LegendRow(humanised(most, "short"), fill)))
    return _chart(found, legend, lambda size: heatmap.draw(rows, found.fields, found.panel.options, found.span, size))


def _timeline(found: Found) -> Body | None:
    rows = []
    for times, column in found.numbers:
        fields = found.fields_of(column)
        states = tuple(None if value is None else show(value, fields) for value in column.numbers)
        rows.append(timeline.Row(column.title, _times(times), states))
    if not rows:
        return None
    seen = dict.fromkeys(state for row in rows for state in row.states if state)
    legend = Legend(tuple(LegendRow(state.text, state.colour) for state in seen))
    style = found.fields.custom
    return _chart(found, legend, lambda size: timeline.draw(rows, style, found.span, size))


def _scatter(found: Found) -> Body | None:
    pairs = [frame.of(Kind.NUMBER)[:2] for frame in found.frames if len(frame.of(Kind.NUMBER)) > 1]
    shown = found.coloured([up for _, up in pairs])
    series = [
        scatter.Points(" ".join([up.title, *up.labels.values()]), across, up, shade)
        for (across, _), (up, _, shade) in zip(pairs, shown, strict=True)
    ]
    series = [one for one in series if one.known]
    if not series:
        return None
    legend = Legend(tuple(LegendRow(one.name, one.colour) for one in series))
    fields = found.fields_of(series[0].across), found.fields_of(series[0].up)
    return _chart(found, legend, lambda size: scatter.draw(series, *fields, size))


def _latest(found: Found) -> list[tuple[Column, Fields, float]]:
    """The last value of every column of numbers."""
    columns = [column for _, column in found.numbers]
    latest = [(column, legends.calculated(column, "lastNotNull")) for column in columns]
    return [(column, found.fields_of(column), value) for column, value in latest if value is not None]


def _stat(found: Found) -> Body | None:
    latest = _latest(found)
    if not latest:
        return None
    inner = found.inner
    side_by_side = inner.width > inner.height
    wide = inner.width / (len(latest) if side_by_side else 1)
    tall = inner.height / (1 if side_by_side else len(latest))
    named = found.panel.options.text_mode == "value_and_name" or len(latest) > 1
    shown = [(show(value, fields), column.title if named else "") for column, fields, value in latest]
    longest = max(len(value.text) for value, _ in shown)
    font = int(max(_SMALLEST, min(_LARGEST, tall * 0.4, wide / (longest * 0.62 + 1))))
    return Stats(tuple(Stat(value, name, font) for value, name in shown), side_by_side)


def _gauge(found: Found) -> Body | None:
    latest = _latest(found)
    most = max((value for _, _, value in latest), default=0.0)
    cells = []
    for column, fields, value in latest:
        low, high = fields.min or 0.0, most if fields.max is None else fields.max
        share = (value - low) / (high - low) if high > low else 0.0
        cells.append(Gauge(show(value, fields), column.title, min(1.0, max(0.0, share))))
    return Gauges(tuple(cells)) if cells else None


def _table(found: Found) -> Body | None:
    frame = next((frame for frame in found.frames if frame.rows), None)
    if frame is None:
        return None
    shown = [(column, found.fields_of(column)) for column in frame.columns]
    columns = [[_cell(value, column, fields) for value in column.values] for column, fields in shown]
    return Table(tuple(column.title for column in frame.columns), tuple(zip(*columns, strict=True)))


def _cell(value: Value, column: Column, fields: Fields) -> Cell:
    if column.kind is Kind.TIME and isinstance(value, float | int):
        return Cell(Shown(datetime.fromtimestamp(value, UTC).strftime("%Y-%m-%d %H:%M:%S")), number=False)
    shown = show(value, fields)
    shade = shown.colour if fields.custom.cell.type == "color-text" else TEXT
    return Cell(Shown(shown.text, shade), number=column.kind is Kind.NUMBER)


def _text(found: Found) -> Body | None:
    content = found.panel.options.content
    return Words(content, empty=False) if content else None


_KINDS: dict[str, Callable[[Found], Body | None]] = {
    "barchart": _barchart,
    "bargauge": _gauge,
    "heatmap": _heatmap,
    "stat": _stat,
    "state-timeline": _timeline,
    "table": _table,
    "text": _text,
    "timeseries": _timeseries,
    "xychart": _scatter,
}
