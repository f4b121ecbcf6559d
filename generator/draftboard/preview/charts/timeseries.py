"""Lines over time, with thresholds and events."""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes

from draftboard.preview.charts.canvas import Canvas, Size, drawing
from draftboard.preview.colours import colour
from draftboard.preview.document import Fields
from draftboard.preview.frames import Column
from draftboard.preview.queries import Event
from draftboard.preview.times import Span

Values = tuple[float | None, ...]

_APART = 10  # pixels between points from which on each is marked


@dataclass(frozen=True)
class Line:
    """One series: times, values, how it is shown."""

    times: tuple[float, ...]
    column: Column
    fields: Fields
    colour: str


def draw(lines: Sequence[Line], fields: Fields, events: Sequence[Event], span: Span, size: Size) -> tuple[str, int]:
    """The picture, and how many points it has."""
    stacked = fields.custom.stacking.mode == "normal"
    levels = _stacked(lines) if stacked else [(line.column.numbers, (0.0,) * len(line.times)) for line in lines]
    known = [value for values, _ in levels for value in values if value is not None]
    with drawing(size) as canvas:
        canvas.times(span)
        canvas.values(known, fields)
        for line, (values, floor) in zip(lines, levels, strict=True):
            _line(canvas, line, values, floor, span)
        _thresholds(canvas.axes, fields)
        for event in events:
            _event(canvas.axes, event)
        return canvas.finished(), len(known)


def _stacked(lines: Sequence[Line]) -> list[tuple[Values, tuple[float, ...]]]:
    """Upper and lower edge of each series, which stands on those before it; what is absent adds nothing."""
    total: dict[float, float] = {}
    edges = []
    for line in lines:
        floor = tuple(total.get(time, 0.0) for time in line.times)
        upper = tuple(
            None if value is None else low + value for low, value in zip(floor, line.column.numbers, strict=True)
        )
        edges.append((upper, floor))
        total |= {time: value for time, value in zip(line.times, upper, strict=True) if value is not None}
    return edges


def _line(canvas: Canvas, line: Line, values: tuple[float | None, ...], floor: tuple[float, ...], span: Span) -> None:
    style = line.fields.custom
    known = [(time, value) for time, value in zip(line.times, values, strict=True) if value is not None]
    gaps = [float("nan") if value is None else value for value in values]
    times, heights = zip(*known, strict=True) if style.span_nulls and known else (line.times, gaps)
    apart = canvas.size.width * (line.times[1] - line.times[0]) / span.seconds if len(line.times) > 1 else 0
    canvas.axes.plot(
        times,
        heights,
        color=line.colour,
        linewidth=style.line_width,
        marker="o" if apart > _APART else None,
        markersize=3,
    )
    alone = [index for index, value in enumerate(values) if value is not None and _is_alone(values, index)]
    canvas.axes.plot([line.times[i] for i in alone], [gaps[i] for i in alone], "o", color=line.colour, markersize=3)
    bottom = [max(low, canvas.axes.get_ylim()[0]) for low in floor]
    canvas.axes.fill_between(line.times, bottom, gaps, color=line.colour, alpha=style.fill_opacity / 100, linewidth=0)


def _is_alone(values: tuple[float | None, ...], index: int) -> bool:
    """Whether no line leads to a point or from it."""
    around = values[max(0, index - 1) : index] + values[index + 1 : index + 2]
    return all(value is None for value in around)


def _thresholds(axes: Axes, fields: Fields) -> None:
    """Dashed where steps begin, as far as the axis reaches."""
    if fields.custom.thresholds_style.mode != "dashed":
        return
    low, high = axes.get_ylim()
    for step in fields.thresholds.steps:
        if step.value is not None and low <= step.value <= high:
            axes.axhline(step.value, color=colour(step.color), linewidth=1, linestyle=(0, (6, 4)), alpha=0.8)


def _event(axes: Axes, event: Event) -> None:
    shade = colour(event.colour)
    axes.axvline(event.start, color=shade, linewidth=1, linestyle=(0, (3, 3)))
    if event.end > event.start:
        axes.axvspan(event.start, event.end, color=shade, alpha=0.08, linewidth=0)
        axes.axvline(event.end, color=shade, linewidth=1, linestyle=(0, (3, 3)))
