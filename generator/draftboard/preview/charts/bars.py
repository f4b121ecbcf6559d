"""Bars in groups: a group a row, a bar a column."""

from collections.abc import Sequence
from dataclasses import dataclass

from draftboard.preview.charts.canvas import LETTER, Size, drawing, shortened
from draftboard.preview.colours import TEXT
from draftboard.preview.document import Fields
from draftboard.preview.frames import Column
from draftboard.preview.values import show

_OF_A_GROUP = 0.8


@dataclass(frozen=True)
class Bars:
    """The bars of one column."""

    column: Column
    fields: Fields
    colour: str


def draw(names: Sequence[str], series: Sequence[Bars], fields: Fields, size: Size) -> tuple[str, int]:
    """The picture, and how many bars it has."""
    with drawing(size) as canvas:
        known = [value for bars in series for value in bars.column.numbers if value is not None]
        canvas.values([0.0, *known], fields)
        wide = (size.width - canvas.left) / max(1, len(names))
        canvas.axes.set_xticks(range(len(names)), [shortened(name, wide) for name in names])
        canvas.axes.set_xlim(-0.5, len(names) - 0.5)
        each = _OF_A_GROUP / len(series)
        for number, bars in enumerate(series):
            for row, value in enumerate(bars.column.numbers):
                if value is None:
                    continue
                middle = row - _OF_A_GROUP / 2 + each * (number + 0.5)
                alpha = bars.fields.custom.fill_opacity / 100
                canvas.axes.bar(middle, value, width=each * 0.9, color=bars.colour, alpha=alpha)
                text = show(value, bars.fields).text
                if len(text) * LETTER <= wide * each:
                    canvas.axes.annotate(
                        text, (middle, value), (0, 2), textcoords="offset points", ha="center", color=TEXT, fontsize=7
                    )
        low, high = canvas.axes.get_ylim()
        canvas.axes.set_ylim(low, high + (high - low) * 0.06)
        return canvas.finished(), len(known)
