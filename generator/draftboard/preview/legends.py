"""Legends: the series of a picture, with calculated values, and the room that they take."""

from collections.abc import Callable, Sequence

from draftboard.errors import DraftboardError
from draftboard.preview.charts.canvas import LETTER
from draftboard.preview.document import Fields, Panel
from draftboard.preview.drawn import Legend, LegendRow
from draftboard.preview.frames import Column, Kind
from draftboard.preview.values import show

LINE = 20
"""Pixels of a line of a legend."""
_MOST = 0.35  # of a panel's height: the rest of a longer legend is scrolled to
_MARK = 34  # pixels that a name's mark and margins take

_CALCULATIONS: dict[str, tuple[str, Callable[[Sequence[float]], float]]] = {
    "lastNotNull": ("Last *", lambda values: values[-1]),
    "mean": ("Mean", lambda values: sum(values) / len(values)),
    "min": ("Min", min),
    "max": ("Max", max),
    "sum": ("Total", sum),
}


def of_series(panel: Panel, series: Sequence[tuple[Column, Fields, str]]) -> Legend | None:
    """The legend that the panel asks for, of columns in their colours.

    Raises:
        DraftboardError: a calculation is unknown.
    """
    wanted = panel.options.legend
    if not wanted.shown:
        return None
    for calc in wanted.calcs:
        if calc not in _CALCULATIONS:
            raise DraftboardError(f"legend calculation {calc!r} is none that a preview knows")
    rows = [
        LegendRow(column.title, colour, tuple(show(calculated(column, calc), fields) for calc in wanted.calcs))
        for column, fields, colour in series
    ]
    return Legend(tuple(rows), tuple(_CALCULATIONS[calc][0] for calc in wanted.calcs))


def calculated(column: Column, calc: str) -> float | None:
    """One number for a column; None where it has none."""
    values = [value for value in column.numbers if value is not None]
    return _CALCULATIONS[calc][1](values) if values and column.kind is Kind.NUMBER else None


def height_of(legend: Legend | None, width: int, panel_height: int) -> int:
    """Pixels that a legend takes below a picture."""
    if legend is None:
        return 0
    if legend.headings:
        lines = len(legend.rows) + 1
    else:
        long = sum(len(row.name) * LETTER + _MARK for row in legend.rows)
        lines = 1 + int(long // width)
    return min(lines * LINE + 4, int(panel_height * _MOST))
