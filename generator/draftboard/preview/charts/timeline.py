"""States over time, as bands: a row a series."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from draftboard.preview.charts.canvas import LETTER, Size, drawing, shortened
from draftboard.preview.document import Style
from draftboard.preview.times import Span
from draftboard.preview.values import Shown

_SHARE_OF_NAMES = 0.3
_ROW_HEIGHT = 0.8
_LINE = 13  # pixels that a band's words take


@dataclass(frozen=True)
class Row:
    """A series: what it was at each time, if anything."""

    name: str
    times: tuple[float, ...]
    states: tuple[Shown | None, ...]


@dataclass(frozen=True)
class Band:
    """A state that lasts."""

    start: float
    end: float
    state: Shown


def bands(row: Row, until: float) -> list[Band]:
    """Equal states run together; each lasts to the next moment."""
    ends = (*row.times[1:], until)
    moments = zip(row.times, ends, row.states, strict=True)
    result = []
    for state, run in groupby(moments, key=lambda moment: moment[2]):
        members = list(run)
        if state is not None and members[0][0] < members[-1][1]:
            result.append(Band(members[0][0], members[-1][1], state))
    return result


def draw(rows: Sequence[Row], style: Style, span: Span, size: Size) -> tuple[str, int]:
    """The picture, and how many bands it has."""
    drawn = 0
    with drawing(size) as canvas:
        canvas.times(span)
        names = [shortened(row.name, size.width * _SHARE_OF_NAMES) for row in rows]
        canvas.room(names)
        canvas.axes.set_yticks(range(len(rows)), names)
        canvas.axes.set_ylim(len(rows) - 0.5, -0.5)
        pixels = (size.width - canvas.left) / span.seconds
        tall = (size.height - canvas.bottom) * _ROW_HEIGHT / len(rows)
        for number, row in enumerate(rows):
            for band in bands(row, span.end):
                drawn += 1
                low, long = number - _ROW_HEIGHT / 2, band.end - band.start
                canvas.axes.broken_barh(
                    [(band.start, long)],
                    (low, _ROW_HEIGHT),
                    facecolors=band.state.colour,
                    alpha=style.fill_opacity / 100,
                    linewidth=0,
                )
                if len(band.state.text) * LETTER + 8 <= long * pixels and tall >= _LINE:
                    canvas.axes.text(band.start + 4 / pixels, number, band.state.text, va="center", color="#111217")
        return canvas.finished(), drawn
