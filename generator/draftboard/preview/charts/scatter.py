"""One number over another: a point a moment, a colour a frame."""

from collections.abc import Sequence
from dataclasses import dataclass

from draftboard.preview.charts.canvas import Size, bounds, drawing, nice
from draftboard.preview.document import Fields
from draftboard.preview.frames import Column
from draftboard.preview.units import trimmed


@dataclass(frozen=True)
class Points:
    """The points of one frame."""

    name: str
    across: Column
    up: Column
    colour: str

    @property
    def known(self) -> list[tuple[float, float]]:
        """Where both numbers are known."""
        pairs = zip(self.across.numbers, self.up.numbers, strict=True)
        return [(x, y) for x, y in pairs if x is not None and y is not None]


def draw(series: Sequence[Points], across: Fields, up: Fields, size: Size) -> tuple[str, int]:
    """The picture, and how many points it has."""
    points = [point for one in series for point in one.known]
    with drawing(size) as canvas:
        canvas.values([y for _, y in points], up)
        low, high = bounds([x for x, _ in points], across)
        ticks = nice(low, high, max(2, size.width // 80), across.unit)
        canvas.axes.set_xticks(ticks, [trimmed(tick, across.unit) for tick in ticks])
        canvas.axes.set_xlim(low, high)
        canvas.axes.set_xlabel(series[0].across.title)
        canvas.axes.grid(axis="both")
        canvas.bottom = 42
        for one in series:
            canvas.axes.scatter(
                [x for x, _ in one.known],
                [y for _, y in one.known],
                s=14,
                color=one.colour,
                alpha=0.6,
                clip_on=False,
            )
        canvas.room([label.get_text() for label in canvas.axes.get_yticklabels()], series[0].up.title)
        return canvas.finished(), len(points)
