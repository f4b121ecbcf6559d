"""Query results as Grafana holds them: frames of columns."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

from draftboard.preview.document import Target
from draftboard.preview.times import Pace, Span
from draftboard.prometheus import Series

Value = float | str | None
TIME = "Time"
VALUE = "Value"
_MENTION = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
# What is larger is no measurement, and no axis reaches it.
_ENDLESS = 1e300


class Kind(Enum):
    """What a column holds."""

    TIME = "time"
    NUMBER = "number"
    TEXT = "text"


@dataclass(frozen=True)
class Column:
    """Values of one kind, of one query."""

    name: str
    kind: Kind
    values: tuple[Value, ...]
    labels: dict[str, str] = field(default_factory=dict)
    legend: str = ""
    """Its title where the query gives one."""
    ref: str = ""

    @property
    def title(self) -> str:
        """What it is called on the panel."""
        return self.legend or self.name

    @property
    def numbers(self) -> tuple[float | None, ...]:
        """Its values, where they can be drawn."""
        return tuple(
            value if isinstance(value, float | int) and abs(value) < _ENDLESS else None for value in self.values
        )


@dataclass(frozen=True)
class Frame:
    """Columns of one length."""

    columns: tuple[Column, ...]

    @property
    def rows(self) -> int:
        """How many values each column has."""
        return len(self.columns[0].values) if self.columns else 0

    def of(self, kind: Kind) -> list[Column]:
        """Its columns of one kind."""
        return [column for column in self.columns if column.kind is kind]


def one_a_series(found: Sequence[Series], target: Target, span: Span, pace: Pace) -> list[Frame]:
    """A frame for each series: times, and values with their labels. A gap in a range is a None."""
    return [_of_series(series, target, span, pace) for series in found]


def one_table(found: Sequence[Series], target: Target, *, alone: bool) -> Frame:
    """One frame for all series: a line for each sample, a column for each label."""
    names = sorted({name for series in found for name in series.labels})
    lines = [(series, sample) for series in found for sample in series.samples]
    times = Column(TIME, Kind.TIME, tuple(time for _, (time, _) in lines), ref=target.ref_id)
    labels = [
        Column(name, Kind.TEXT, tuple(printable(series.labels.get(name, "")) for series, _ in lines), ref=target.ref_id)
        for name in names
    ]
    title = VALUE if alone else f"{VALUE} #{target.ref_id}"
    values = Column(title, Kind.NUMBER, tuple(value for _, (_, value) in lines), ref=target.ref_id)
    return Frame((times, *labels, values))


def _of_series(series: Series, target: Target, span: Span, pace: Pace) -> Frame:
    times: tuple[float, ...] = tuple(time for time, _ in series.samples)
    values: tuple[Value, ...] = tuple(value for _, value in series.samples)
    if not target.instant:
        known = {round((time - span.start) / pace.step): value for time, value in series.samples}
        steps = range(int(span.seconds // pace.step) + 1)
        times = tuple(span.start + step * pace.step for step in steps)
        values = tuple(known.get(step) for step in steps)
    labels = {name: printable(value) for name, value in series.labels.items()}
    legend = legend_of(labels, target.legend)
    return Frame(
        (
            Column(TIME, Kind.TIME, times, ref=target.ref_id),
            Column(VALUE, Kind.NUMBER, values, labels, legend, target.ref_id),
        )
    )


def legend_of(labels: dict[str, str], wanted: str) -> str:
    """The legend with labels put in, an absent one as nothing; without a legend, the series as PromQL writes it."""
    if wanted in {"", "__auto"}:
        name = labels.get("__name__", "")
        return name + "{" + ", ".join(f'{key}="{labels[key]}"' for key in sorted(labels) if key != "__name__") + "}"
    return " ".join(_MENTION.sub(lambda found: labels.get(found[1], ""), wanted).split())


def printable(text: str) -> str:
    """A text without the characters that no page and no picture may hold."""
    return _UNPRINTABLE.sub("\ufffd", text)


def number_of(value: Value) -> float | None:
    """A text as the number that it writes, if it does."""
    try:
        return None if value is None else float(value)
    except ValueError:
        return None
