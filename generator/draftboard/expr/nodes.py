"""The nodes of expressions: plain data, compared by value, printed as they are written.

What reads them stands beside: `to_promql`, `to_numbers`, and `reads` for what they depend on. Nodes that stand for
others, which depend on the settings, are replaced by `expanded`.
"""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Literal

from draftboard.catalogue import Metric
from draftboard.durations import Duration
from draftboard.expr.scope import Level
from draftboard.expr.vector import Group
from draftboard.quantity import EVALUATION, Quantity, Setting
from draftboard.settings import Settings

Span = Quantity | Duration
"""How far an expression looks back."""


class Expr:
    """What a signal is computed from. `/` gives no sample without traffic; `per` divides in any case."""

    def __add__(self, other: "Operand") -> "Expr":
        return Binary(self, "+", expr(other))

    def __radd__(self, other: "Quantity | float") -> "Expr":
        return Binary(expr(other), "+", self)

    def __sub__(self, other: "Operand") -> "Expr":
        return Binary(self, "-", expr(other))

    def __rsub__(self, other: "Quantity | float") -> "Expr":
        return Binary(expr(other), "-", self)

    def __mul__(self, other: "Operand") -> "Expr":
        return Binary(self, "*", expr(other))

    def __rmul__(self, other: "Quantity | float") -> "Expr":
        return Binary(expr(other), "*", self)

    def __truediv__(self, other: "Expr") -> "Expr":
        return self.ratio(other)

    def __lt__(self, other: "Operand") -> "Expr":
        return Binary(self, "<", expr(other))

    def __le__(self, other: "Operand") -> "Expr":
        return Binary(self, "<=", expr(other))

    def __gt__(self, other: "Operand") -> "Expr":
        return Binary(self, ">", expr(other))

    def __ge__(self, other: "Operand") -> "Expr":
        return Binary(self, ">=", expr(other))

    def __and__(self, other: "Expr") -> "Expr":
        return Binary(self, "and", other)

    def __or__(self, other: "Expr") -> "Expr":
        return FirstOf((self, other))

    def ratio(self, other: "Expr", match: "Matching | None" = None) -> "Expr":
        """Over the other where that is above 0: no traffic gives no sample, never NaN."""
        return Binary(self, "/", other > 0, match or Matching())

    def per(self, other: "Expr", match: "Matching | None" = None) -> "Expr":
        """Over the other, whatever that is."""
        return Binary(self, "/", other, match or Matching())

    def combined(self, operator: str, other: "Operand", match: "Matching | None" = None) -> "Expr":
        """Any other operator, with its matching."""
        return Binary(self, operator, expr(other), match or Matching())

    def equals(self, other: "Operand", match: "Matching | None" = None) -> "Expr":
        """Where both are equal."""
        return Binary(self, "==", expr(other), match or Matching())

    def where(self, label: "Label", *values: "Pattern") -> "Expr":
        """Of the series whose label has one of the values, which may be regular expressions."""
        return Select(self, label, values)

    def without(self, label: "Label", *values: "Pattern") -> "Expr":
        """Of the series whose label has none of the values."""
        return Select(self, label, values, negated=True)

    def sum(self, label: str) -> "Expr":
        """Sum over one label."""
        return Reduce("sum", label, self)

    def min(self, label: str) -> "Expr":
        """The least over one label."""
        return Reduce("min", label, self)

    def max(self, label: str) -> "Expr":
        """The greatest over one label."""
        return Reduce("max", label, self)

    def count(self, label: str) -> "Expr":
        """How many values one label has."""
        return Reduce("count", label, self)

    def at(self, level: Level) -> "Expr":
        """At another level."""
        return At(self, level)

    def ago(self, span: Span) -> "Expr":
        """As it was then."""
        return Ago(self, span)


class Recorded(Expr):
    """An expression with a name, which rules may record: a signal."""

    name: str
    expr: Expr
    by: tuple[str, ...]
    """Labels beyond those of the level."""
    rollup: str | None
    """Aggregation that makes the model-level record from engine-level ones, where that is exact."""

    @abstractmethod
    def exists(self, settings: Settings) -> bool:
        """Whether the settings enable it, and the dialect has the series that it needs."""

    @abstractmethod
    def record_name(self, level: Level, settings: Settings, *, if_exists: bool = True) -> str | None:
        """Full name of its record at a level; None where it is not recorded there, or does not exist."""


Operand = Expr | Quantity | float


# Numbers.


@dataclass(frozen=True)
class Number(Expr):
    """A number, or a quantity that follows from the settings."""

    value: Quantity | float


@dataclass(frozen=True)
class Parameter(Expr):
    """A number that the reader of a dashboard chooses; for all others the default."""

    name: str
    default: Quantity | float


@dataclass(frozen=True)
class Now(Expr):
    """The time of evaluation, in Unix time; counts have none."""


def expr(operand: Operand) -> Expr:
    """A number as an expression."""
    return operand if isinstance(operand, Expr) else Number(operand)


# Labels.


@dataclass(frozen=True)
class Labels:
    """The label, or the labels, that the settings name under `labels`: `spec_method`, `scope`, `target` ..."""

    field: str


@dataclass(frozen=True)
class LabelsOfLevel:
    """The labels that series of the level carry."""


@dataclass(frozen=True)
class LabelsOfMetric:
    """The labels that the series of a metric carry."""

    metric: Metric


LEVEL = LabelsOfLevel()
Label = str | Labels
Names = tuple[str | Labels | LabelsOfLevel | LabelsOfMetric, ...]


@dataclass(frozen=True)
class UpTo:
    """The whole numbers from 0 to the largest."""

    largest: Quantity | int


@dataclass(frozen=True)
class Bound:
    """A bound of a bucket, as Prometheus 2 stores it or as 3 does: `1` or `1.0`."""

    seconds: Setting


Pattern = str | Setting | UpTo | Bound
"""Values of a label: a regular expression, a setting with one or several names, numbers."""


@dataclass(frozen=True)
class Match:
    """A matcher on a label of raw series."""

    label: Label
    operator: Literal["=", "!=", "=~", "!~"]
    pattern: str | Setting


@dataclass(frozen=True)
class Matching:
    """How PromQL matches two vectors: by all labels but some (`ignoring`), or by just some (`on`)."""

    labels: Names = ()
    just: bool = False
    group: Group = ""


def ignoring(*labels: str, group: Group = "") -> Matching:
    """By all labels but these."""
    return Matching(labels, group=group)


def on(*labels: str | Labels | LabelsOfLevel, group: Group = "") -> Matching:
    """By these labels."""
    return Matching(labels, just=True, group=group)


@dataclass(frozen=True)
class Select(Expr):
    """Of the series that a matcher selects."""

    argument: Expr
    label: Label
    values: tuple[Pattern, ...]
    negated: bool = False


@dataclass(frozen=True)
class LabelReplace(Expr):
    """`label_replace`: a label made from another where that one matches."""

    argument: Expr
    label: Label
    replacement: str
    source: Label
    pattern: str


@dataclass(frozen=True)
class LabelJoin(Expr):
    """The values of several labels in one."""

    argument: Expr
    label: Label
    separator: str
    sources: Names


@dataclass(frozen=True)
class Carrying(Expr):
    """Each series with a label of its partner: the one series of `other`, of value 1, that has the same labels `by`.

    Where several could be partners, any of them is.
    """

    argument: Expr
    label: Label
    other: Expr
    by: Names


@dataclass(frozen=True)
class CountValues(Expr):
    """Number of series of each value, the value in a label."""

    label: str
    argument: Expr


def labelled(argument: Expr, label: str, value: str) -> Expr:
    """With a label set to a fixed value."""
    return LabelReplace(argument, label, value, "", "")


def merged(label: str, parts: Mapping[str, Expr]) -> Expr:
    """Several expressions in one, each with its name in a label."""
    return FirstOf(tuple(labelled(part, label, name) for name, part in parts.items()))


def renamed(argument: Expr, label: str, source: str) -> Expr:
    """With one label in place of another, at the level seen."""
    return over_level("sum", LabelReplace(argument, label, "$1", source, "(.*)"), label)


@dataclass(frozen=True)
class Successor(Expr):
    """With a label set to the number in `source` plus one, for numbers up to `largest`."""

    argument: Expr
    label: str
    source: str
    largest: Quantity | int


@dataclass(frozen=True)
class Numbers(Expr):
    """The numbers themselves, each labelled with itself: what turns a label's value into a value."""

    label: str
    first: int
    last: Quantity | int


@dataclass(frozen=True)
class PrefixSums(Expr):
    """Sums over the first k numbers of a label, from 0 on, for every k up to the most; k in a label."""

    argument: Expr
    over: str
    label: str
    most: Quantity | int


# Series.


class Window(Enum):
    """The range of a function of raw series."""

    RATE = "that of rates: in panels of raw series Grafana's own, which follows the zoom"
    FIXED = "that of the rules, or of a question; whatever a panel shows"


@dataclass(frozen=True)
class MetricOfDialect:
    """A metric that only some dialects have, by the name of the dialect's field."""

    field: Literal["rate", "length", "drafted_by_position"]


@dataclass(frozen=True)
class Raw(Expr):
    """A metric's own series: the last samples, or with a window the range that a function takes."""

    metric: Metric | MetricOfDialect
    window: Window | Span | None = None
    matchers: tuple[Match, ...] = ()
    chosen_by: Names | None = None  # Labels by which the scope selects, where not by all that the series carry.


@dataclass(frozen=True)
class RecordOf(Expr):
    """The record of the level whose name is completed by a parameter, and by the window of rates."""

    name: str  # `{}` is the parameter's place.
    parameter: str


# Arithmetic and aggregation.


@dataclass(frozen=True)
class Binary(Expr):
    """Two expressions and an operator."""

    left: Expr
    operator: str
    right: Expr
    matching: Matching = Matching()


@dataclass(frozen=True)
class Function(Expr):
    """A function of one vector."""

    name: str
    argument: Expr


@dataclass(frozen=True)
class Quantile(Expr):
    """A quantile of a histogram's buckets, estimated within its bucket as `histogram_quantile` does."""

    share: Number | Parameter
    buckets: Expr


@dataclass(frozen=True)
class AtLeast(Expr):
    """A vector whose values are raised to a number where they are below it."""

    argument: Expr
    least: float


@dataclass(frozen=True)
class Interpolated(Expr):
    """A function of a vector that a setting gives at some points: linear between them, constant beyond."""

    argument: Expr
    points: Setting  # Pairs, from the smallest.


@dataclass(frozen=True)
class Constant(Expr):
    """One value for every series of another expression, with that one's labels."""

    value: Quantity | float
    like: Expr


@dataclass(frozen=True)
class ByLabel(Expr):
    """For every series of `like` what a table of the settings says of its label's value, else the default."""

    table: Setting  # By value of the label, or by regular expression.
    default: Setting
    label: Label
    like: Expr


@dataclass(frozen=True)
class Aggregate(Expr):
    """One value for all series with the same labels `by`."""

    how: str
    by: Names
    argument: Expr


@dataclass(frozen=True)
class Spread(Expr):
    """A quantile of the values of all series with the same labels `by`."""

    share: float
    by: Names
    argument: Expr


@dataclass(frozen=True)
class Reduce(Expr):
    """One value over the one label that a signal has beyond its level."""

    how: str
    label: str
    argument: Expr


@dataclass(frozen=True)
class FirstOf(Expr):
    """`a or b or ...`: each series comes from the first alternative that has it."""

    alternatives: tuple[Expr, ...]


def over_level(how: str, argument: Expr, *extra: str) -> Aggregate:
    """One value for each series of the level, and each value of the extra labels."""
    return Aggregate(how, (LEVEL, *extra), argument)


def first_of(*alternatives: Expr) -> FirstOf:
    """`a or b or ...`."""
    return FirstOf(alternatives)


def constant(value: Quantity | float, like: Expr) -> Constant:
    """One value for every series of another expression."""
    return Constant(value, like)


# Rates.


@dataclass(frozen=True)
class InWindow(Expr):
    """A rate as what was counted within the rules' window."""

    rate: Expr


def rate(metric: Metric, by: tuple[str, ...] | None = None) -> Expr:
    """Per-second increase of a counter, by the level's labels and those of its own that stay: all, or `by`."""
    return over_level("sum", rate_of_each(metric), *(metric.own_labels if by is None else by))


def rate_of_each(metric: Metric) -> Expr:
    """Per-second increase of each series of a counter."""
    return Function("rate", Raw(metric, Window.RATE))


def rate_of_all(*metrics: Metric) -> Expr:
    """Per-second increase of several counters together: what one of them lacks does not silence the others."""
    return over_level("sum", FirstOf(tuple(rate_of_each(metric) for metric in metrics)))


# The past, and other points of view.


@dataclass(frozen=True)
class Ref(Expr):
    """A signal by its name: of itself, or of one that is defined later."""

    name: str


@dataclass(frozen=True)
class At(Expr):
    """At another level."""

    argument: Expr
    level: Level


@dataclass(frozen=True)
class Over(Expr):
    """With rates over another span than the rules' window; of raw series only."""

    argument: Expr
    span: Span


@dataclass(frozen=True)
class AtEnd(Expr):
    """At the end of what a graph shows: one value for the whole of it."""

    argument: Expr


@dataclass(frozen=True)
class AsRecorded(Expr):
    """What rules have recorded, for who reads raw series otherwise; nothing where there are no rules."""

    argument: Expr


@dataclass(frozen=True)
class Ago(Expr):
    """As it was some time ago."""

    argument: Expr
    span: Span


_NOW = Duration(0)


@dataclass(frozen=True)
class OverTime(Expr):
    """A function of an expression's own past: over its record, or over a subquery at the rules' pace."""

    function: str
    argument: Expr
    span: Span
    offset: Span = _NOW  # How much of the latest past is left out.
    pace: Span = EVALUATION
    share: Number | None = None  # Of `quantile_over_time`.


@dataclass(frozen=True)
class Before(Expr):
    """What a signal's own record held last, or a function of it, within a span: a signal that goes on from its past."""

    signal: Ref
    span: Span
    function: str = "last_over_time"


@dataclass(frozen=True)
class Extreme(Expr):
    """The least or the greatest of a signal within the window, of its values at each evaluation."""

    how: Literal["min", "max"]
    signal: Recorded


# What depends on circumstances.


class Evaluator(Enum):
    """What an expression depends on of whoever evaluates it."""

    RECORDS = "reads what rules have recorded"
    RECORD_PANEL = "is a panel of records, in which parameters may be chosen"
    RAW_PANEL = "is a panel of raw series: it cannot afford days of a past, and its window follows the zoom"
    ONCE = "evaluates once, from raw series: it computes no past"


@dataclass(frozen=True)
class AtLevel:
    """At this level."""

    level: Level


@dataclass(frozen=True)
class IsSet:
    """Where a setting holds something: not nothing, false, or an empty table; with a key, where its table has it."""

    path: str
    key: str = ""


@dataclass(frozen=True)
class InDialect:
    """Where the dialect has this metric of its own."""

    metric: MetricOfDialect


@dataclass(frozen=True)
class Not:
    """Where a condition does not hold."""

    condition: "Condition"


Condition = Evaluator | AtLevel | IsSet | InDialect | Not


@dataclass(frozen=True)
class If(Expr):
    """One expression where a condition holds, else another, or nothing."""

    condition: Condition
    then: Expr
    otherwise: Expr | None = None


@dataclass(frozen=True)
class OfDeclared(Expr):
    """The parts of those objectives that are declared, each with its name in a label."""

    label: str
    parts: tuple[tuple[str, Expr], ...]
