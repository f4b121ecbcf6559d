"""A histogram over time: cells by time and bucket, the more opaque the fuller."""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.colors import to_rgb

from draftboard.preview.charts.canvas import Size, drawing
from draftboard.preview.colours import BACKGROUND, colour
from draftboard.preview.document import Fields, Options
from draftboard.preview.frames import Frame, Kind, number_of
from draftboard.preview.times import Span
from draftboard.preview.units import trimmed

_NAME_HEIGHT = 15


@dataclass(frozen=True)
class Bucket:
    """Samples between the bound below and its own, at each time."""

    bound: float
    times: tuple[float, ...]
    counts: tuple[float | None, ...]


def buckets(frames: Sequence[Frame]) -> list[Bucket]:
    """Cumulative series, one for each upper bound, as buckets that each hold their own samples; lowest first."""
    by_bound = {
        bound: (frame.of(Kind.TIME)[0].values, column.numbers)
        for frame in frames
        for column in frame.of(Kind.NUMBER)
        if (bound := number_of(column.labels.get("le"))) is not None
    }
    result: list[Bucket] = []
    below: tuple[float | None, ...] = ()
    for bound, (times, counts) in sorted(by_bound.items()):
        own = tuple(
            None if count is None else max(0.0, count - (under or 0.0))
            for count, under in zip(counts, below or (0.0,) * len(counts), strict=True)
        )
        result.append(Bucket(bound, tuple(float(time or 0) for time in times), own))
        below = counts
    return result


def draw(rows: Sequence[Bucket], fields: Fields, options: Options, span: Span, size: Size) -> tuple[str, int]:
    """The picture, and how many cells it has."""
    least = options.filter_values.le or 0.0
    counts = [[count if count and count > least else 0.0 for count in row.counts] for row in rows]
    most = max(max(row) for row in counts) or 1.0
    red, green, blue = to_rgb(colour(options.color.fill))
    ground = to_rgb(BACKGROUND)
    cells = []
    for row in counts:
        shares = [(count / most) ** options.color.exponent for count in row]
        cells.append(
            [[g + (c - g) * share for g, c in zip(ground, (red, green, blue), strict=True)] for share in shares]
        )
    with drawing(size) as canvas:
        times = rows[0].times
        step = times[1] - times[0] if len(times) > 1 else span.seconds
        canvas.times(span)
        canvas.axes.imshow(
            cells,
            aspect="auto",
            origin="lower",
            interpolation="nearest",
            extent=(times[0] - step / 2, times[-1] + step / 2, 0, len(rows)),
        )
        canvas.axes.set_xlim(span.start, span.end)
        names = [trimmed(row.bound, fields.unit) for row in rows]
        # A bound stands at the upper edge of its bucket; of too many, every second or third is named.
        every = max(1, -(-len(rows) * _NAME_HEIGHT // max(1, size.height - 32)))
        shown = list(range(len(rows) - 1, -1, -every))[::-1]
        canvas.axes.set_yticks([row + 1 for row in shown], [names[row] for row in shown])
        canvas.room(names)
        return canvas.finished(), sum(count > 0 for row in counts for count in row)
