"""Expressions with two readers: `scope(tree)` writes PromQL, `counts.read(tree, level)` computes it from counts.

What asks the past (`Ago`, `OverTime`) has no value in counts, which know one window only.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal

from draftboard.catalogue import Metric
from draftboard.durations import Duration
from draftboard.expr import promql, vector
from draftboard.expr.counts import View
from draftboard.expr.scope import Edition, Level, Matcher, Scope
from draftboard.expr.vector import NOTHING, Group, Key, Vector
from draftboard.settings import Settings

Span = Callable[[Settings], Duration]  # A duration of the settings.
Names = Callable[[Scope], tuple[str, ...]]  # Names of labels, which the settings may rename.


class Expr(ABC):
    """What a signal asks. `/` gives no sample without traffic; `per` divides in any case."""

    @abstractmethod
    def promql(self, scope: Scope) -> str:
        """PromQL as seen from a scope."""

    @abstractmethod
    def values(self, view: View) -> Vector | float:
        """The same in numbers."""

    def is_silent(self, missing: Collection[str], scope: Scope) -> bool:
        """Whether it has no sample in any case while these series are missing."""
        return any(part.is_silent(missing, scope) for part in vars(self).values() if isinstance(part, Expr))

    @cached_property
    def operands(self) -> "tuple[Expr, ...]":
        """The expressions that it holds."""
        held = (part if isinstance(part, tuple) else (part,) for part in vars(self).values())
        return tuple(one for part in held for one in part if isinstance(one, Expr))

    def is_gone(self, scope: Scope) -> bool:
        """Whether it has no sample in any case in the dialect of the settings."""
        missing = scope.settings.dialect.missing
        return bool(missing) and self.is_silent(missing, scope)

    def parts(self, scope: Scope) -> "Iterator[tuple[Expr, Scope]]":
        """What it is made of, each with the scope from which it is seen."""
        return ((one, scope) for one in self.operands)

    def __add__(self, other: "Operand") -> "Expr":
        return Binary(self, "+", expr(other))

    def __radd__(self, other: float) -> "Expr":
        return Binary(expr(other), "+", self)

    def __sub__(self, other: "Operand") -> "Expr":
        return Binary(self, "-", expr(other))

    def __rsub__(self, other: float) -> "Expr":
        return Binary(expr(other), "-", self)

    def __mul__(self, other: "Operand") -> "Expr":
        return Binary(self, "*", expr(other))

    def __rmul__(self, other: float) -> "Expr":
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

    def combined(self, how: str, other: "Operand", match: "Matching | None" = None) -> "Expr":
        """Any other operator, with its matching."""
        return Binary(self, how, expr(other), match or Matching())

    def equals(self, other: "Operand", match: "Matching | None" = None) -> "Expr":
        """Where both are equal."""
        return Binary(self, "==", expr(other), match or Matching())

    def where(self, label: "str | Callable[[Settings], str]", *values: str) -> "Expr":
        """Of the series whose label has one of the values, which may be regular expressions."""
        return Where(self, named(label), lambda _: values)

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
        return Seen(self, lambda scope: scope.at(level))

    def ago(self, span: Span) -> "Expr":
        """As it was then."""
        return Ago(self, span)


Operand = Expr | float


def named(label: str | Callable[[Settings], str]) -> Callable[[Settings], str]:
    """A label's name, written or the settings'."""
    return (lambda _: label) if isinstance(label, str) else label


@dataclass(frozen=True, eq=False)
class Number(Expr):
    """A number: written, or one of the settings."""

    value: Callable[[Settings], float]
    variable: str = ""  # The dashboard's variable in its place, where dashboards have one.

    def promql(self, scope: Scope) -> str:
        on_dashboard = self.variable and scope.edition.on_dashboard
        return f"${self.variable}" if on_dashboard else promql.number(self.value(scope.settings))

    def values(self, view: View) -> Vector | float:
        return self.value(view.scope.settings)


def expr(operand: Operand) -> Expr:
    """A written number as an expression."""
    return operand if isinstance(operand, Expr) else Number(lambda _, value=operand: value)  # type: ignore[misc]


setting = Number


@dataclass(frozen=True)
class Matching:
    """How PromQL matches two vectors: by all labels but some (`ignoring`), or by just some (`on`)."""

    labels: Names = lambda _: ()
    just: bool = False
    group: Group = ""

    def promql(self, scope: Scope) -> str:
        labels, group = self.labels(scope), f" group_{self.group} ()" if self.group else ""
        by = "on" if self.just else "ignoring"
        return f"{by} ({', '.join(labels)}){group}" if self.just or labels else ""

    def key(self, scope: Scope) -> Key:
        """The labels that must be equal."""
        names, pick = self.labels(scope), vector.kept if self.just else vector.dropped
        return lambda labels: pick(labels, names)


def ignoring(*labels: str, group: Group = "") -> Matching:
    """By all labels but these."""
    return Matching(lambda _: labels, group=group)


def on(labels: Names, group: Group = "") -> Matching:
    """By these labels."""
    return Matching(labels, just=True, group=group)


@dataclass(frozen=True, eq=False)
class Binary(Expr):
    """Two expressions and an operator."""

    left: Expr
    how: str
    right: Expr
    matching: Matching = Matching()

    def promql(self, scope: Scope) -> str:
        if self.how in {"or", "unless"} and self.right.is_gone(scope):
            return self.left.promql(scope)
        if self.how == "or" and self.left.is_gone(scope):
            return self.right.promql(scope)
        return promql.binary(self.left.promql(scope), self.how, self.right.promql(scope), self.matching.promql(scope))

    def values(self, view: View) -> Vector | float:
        left, right = self.left.values(view), self.right.values(view)
        return vector.combined(left, self.how, right, self.matching.key(view.scope), self.matching.group)

    def is_silent(self, missing: Collection[str], scope: Scope) -> bool:
        left = self.left.is_silent(missing, scope)
        decided = self.how == "unless" or left != (self.how == "or")
        return left if decided else self.right.is_silent(missing, scope)


@dataclass(frozen=True, eq=False)
class Raw(Expr):
    """A metric's own series: the last samples, or with a window the range that a function takes."""

    metric: Metric
    window: Callable[[Scope], str] = lambda _: ""
    matchers: Callable[[Settings], tuple[Matcher, ...]] = lambda _: ()
    chosen_by: Names | None = None  # Labels by which the scope selects, where not by all that the series carry.

    def promql(self, scope: Scope) -> str:
        window = self.window(scope)
        text = scope.raw(
            self.metric,
            window=window,
            matchers=self.matchers(scope.settings),
            chosen_by=self.chosen_by(scope) if self.chosen_by else None,
        )
        return text if window else self.under_our_labels(text, scope)

    def under_our_labels(self, text: str, scope: Scope) -> str:
        """The PromQL of its samples with the labels that vLLM gives them."""
        spelling = scope.settings.dialect.spelled(self.metric)
        for ours, theirs in spelling.labels.items() if spelling else ():
            moved = promql.call("label_replace", text, f'"{ours}"', '"$1"', f'"{theirs}"', '"(.*)"')
            text = promql.call("label_replace", moved, f'"{theirs}"', '""', '""', '""')
        return text

    def values(self, view: View) -> Vector | float:
        carried = self.chosen_by(view.scope) if self.chosen_by else view.scope.carried(self.metric)
        found = view.counts.series.get(self.metric.name, NOTHING)
        return view.selected(found, carried, self.matchers(view.scope.settings))

    def is_silent(self, missing: Collection[str], scope: Scope) -> bool:  # noqa: ARG002
        return self.metric.name in missing


_OF_ONE_WINDOW: Mapping[str, Callable[[float], float]] = {
    "rate": float,
    "abs": abs,
    "ceil": lambda value: float(math.ceil(value)),
    "log2": math.log2,
    # Of one reading: the last sample is the mean and the greatest, too.
    "avg_over_time": float,
    "max_over_time": float,
    "last_over_time": float,
}


@dataclass(frozen=True, eq=False)
class Now(Expr):
    """The time of evaluation, in Unix time; counts know none."""

    def promql(self, scope: Scope) -> str:  # noqa: ARG002
        return "time()"

    def values(self, view: View) -> Vector | float:  # noqa: ARG002
        return NOTHING


@dataclass(frozen=True, eq=False)
class Function(Expr):
    """A function of one vector."""

    name: str
    argument: Expr

    def promql(self, scope: Scope) -> str:
        text = promql.call(self.name, self.argument.promql(scope))
        # A range has no labels to replace, what is made of it has.
        if isinstance(self.argument, Raw) and self.argument.window(scope):
            return self.argument.under_our_labels(text, scope)
        return text

    def values(self, view: View) -> Vector | float:
        found = self.argument.values(view)
        if self.name == "vector" and not isinstance(found, Mapping):
            return {frozenset(): found}
        compute = _OF_ONE_WINDOW.get(self.name)
        if compute is None or not isinstance(found, Mapping):
            return NOTHING
        return {labels: compute(value) for labels, value in found.items()}


@dataclass(frozen=True, eq=False)
class Quantile(Expr):
    """A quantile of a histogram's buckets, estimated within its bucket as `histogram_quantile` does."""

    share: Number
    buckets: Expr

    def promql(self, scope: Scope) -> str:
        return promql.call("histogram_quantile", self.share.promql(scope), self.buckets.promql(scope))

    def values(self, view: View) -> Vector | float:
        return vector.quantile(self.share.value(view.scope.settings), vector_of(self.buckets, view))


@dataclass(frozen=True, eq=False)
class AtLeast(Expr):
    """A vector whose values are raised to a number where they are below it."""

    argument: Expr
    least: float

    def promql(self, scope: Scope) -> str:
        return promql.call("clamp_min", self.argument.promql(scope), promql.number(self.least))

    def values(self, view: View) -> Vector | float:
        return {labels: max(value, self.least) for labels, value in vector_of(self.argument, view).items()}


@dataclass(frozen=True, eq=False)
class Interpolated(Expr):
    """A function of a vector that the settings give at some points: linear between them, constant beyond."""

    argument: Expr
    points: Callable[[Settings], tuple[tuple[float, float], ...]]  # From the smallest.

    def promql(self, scope: Scope) -> str:
        points, argument = self.points(scope.settings), self.argument.promql(scope)
        found = promql.constant(points[0][1], argument)
        for (start, low), (end, high) in pairwise(points):
            within = promql.call("clamp", argument, promql.number(start), promql.number(end))
            risen = promql.binary(within, "-", promql.number(start))
            found = promql.binary(found, "+", promql.binary(promql.number((high - low) / (end - start)), "*", risen))
        return found

    def values(self, view: View) -> Vector | float:
        points = self.points(view.scope.settings)
        return {labels: _interpolated(points, value) for labels, value in vector_of(self.argument, view).items()}


def _interpolated(points: Sequence[tuple[float, float]], value: float) -> float:
    steps = (
        (high - low) / (end - start) * (min(max(value, start), end) - start)
        for (start, low), (end, high) in pairwise(points)
    )
    return sum(steps, points[0][1])


@dataclass(frozen=True, eq=False)
class Aggregate(Expr):
    """One value for all series with the same labels `by`."""

    how: str
    by: Names
    argument: Expr

    def promql(self, scope: Scope) -> str:
        return promql.aggregate(self.how, self.by(scope), self.argument.promql(scope))

    def values(self, view: View) -> Vector | float:
        names = self.by(view.scope)
        return vector.aggregated(self.how, vector_of(self.argument, view), lambda labels: vector.kept(labels, names))


def over_level(how: str, argument: Expr, *extra: str) -> Aggregate:
    """One value for each series of the level, and each value of the extra labels."""
    return Aggregate(how, lambda scope: (*scope.labels, *extra), argument)


@dataclass(frozen=True, eq=False)
class Spread(Expr):
    """A quantile of the values of all series with the same labels `by`."""

    share: float
    by: Names
    argument: Expr

    def promql(self, scope: Scope) -> str:
        share = promql.number(self.share)
        return promql.aggregate("quantile", self.by(scope), share, self.argument.promql(scope))

    def values(self, view: View) -> Vector | float:
        names = self.by(view.scope)
        return vector.spread(self.share, vector_of(self.argument, view), lambda labels: vector.kept(labels, names))


@dataclass(frozen=True, eq=False)
class Reduce(Expr):
    """One value over the one label that a signal has beyond its level."""

    how: str
    label: str
    argument: Expr

    def promql(self, scope: Scope) -> str:
        return promql.call(f"{self.how} without ({self.label}) ", self.argument.promql(scope))

    def values(self, view: View) -> Vector | float:
        argument = vector_of(self.argument, view)
        return vector.aggregated(self.how, argument, lambda labels: vector.dropped(labels, (self.label,)))


@dataclass(frozen=True, eq=False)
class FirstOf(Expr):
    """`a or b or ...`: each series comes from the first alternative that has it."""

    alternatives: tuple[Expr, ...]

    def promql(self, scope: Scope) -> str:
        there = [one for one in self.alternatives if not one.is_gone(scope)]
        return promql.first_of(*(one.promql(scope) for one in there or self.alternatives))

    def values(self, view: View) -> Vector | float:
        return vector.first_of(vector_of(one, view) for one in self.alternatives)

    def is_silent(self, missing: Collection[str], scope: Scope) -> bool:
        return all(one.is_silent(missing, scope) for one in self.alternatives)


def first_of(*alternatives: Expr) -> FirstOf:
    """`a or b or ...`."""
    return FirstOf(alternatives)


@dataclass(frozen=True, eq=False)
class Constant(Expr):
    """One value for every series of another expression, with that one's labels."""

    value: Callable[[Settings], float]
    like: Expr

    def promql(self, scope: Scope) -> str:
        return promql.constant(self.value(scope.settings), self.like.promql(scope))

    def values(self, view: View) -> Vector | float:
        return dict.fromkeys(vector_of(self.like, view), self.value(view.scope.settings))


def constant(value: float, like: Expr) -> Constant:
    """One value for every series of another expression."""
    return Constant(lambda _: value, like)


@dataclass(frozen=True, eq=False)
class Where(Expr):
    """Of the series that a matcher selects."""

    argument: Expr
    label: Callable[[Settings], str]
    accepted: Callable[[Settings], tuple[str, ...]]  # Values, which may be regular expressions.
    negated: bool = False

    def _seen(self, scope: Scope) -> Scope:
        accepted = self.accepted(scope.settings)
        if self.negated and not accepted:
            return scope
        return scope.where(Matcher.of(self.label(scope.settings), *accepted, negated=self.negated))

    def promql(self, scope: Scope) -> str:
        seen = self._seen(scope)
        return scope.selected(self.argument.promql(seen), *seen.only[len(scope.only) :])

    def values(self, view: View) -> Vector | float:
        return self.argument.values(view.through(self._seen(view.scope)))


@dataclass(frozen=True, eq=False)
class Seen(Expr):
    """From a scope that is made of the one given."""

    argument: Expr
    change: Callable[[Scope], Scope]

    def promql(self, scope: Scope) -> str:
        return self.argument.promql(self.change(scope))

    def values(self, view: View) -> Vector | float:
        return self.argument.values(view.through(self.change(view.scope)))

    def is_silent(self, missing: Collection[str], scope: Scope) -> bool:
        return self.argument.is_silent(missing, self.change(scope))

    def parts(self, scope: Scope) -> Iterator[tuple[Expr, Scope]]:
        yield self.argument, self.change(scope)


@dataclass(frozen=True, eq=False)
class Ago(Expr):
    """As it was some time ago."""

    argument: Expr
    span: Span

    def promql(self, scope: Scope) -> str:
        return self.argument.promql(scope.ago(self.span(scope.settings)))

    def values(self, view: View) -> Vector | float:  # noqa: ARG002
        return NOTHING


@dataclass(frozen=True, eq=False)
class OverTime(Expr):
    """A function of an expression's own past: over its record, or over a subquery at the rules' pace."""

    function: str
    argument: Expr
    span: Span
    offset: Span = lambda _: Duration(0)  # How much of the latest past is left out.
    pace: Span = lambda settings: settings.rules.evaluation_interval
    share: Number | None = None  # Of `quantile_over_time`.

    def promql(self, scope: Scope) -> str:
        settings = scope.settings
        span, offset = str(self.span(settings)), self.offset(settings)
        record = self.argument.record_here(scope.ago(offset), span) if isinstance(self.argument, Recorded) else None
        if record is None:
            pace = str(self.pace(settings))
            record = promql.subquery(self.argument.promql(scope), span, pace, str(offset))
        share = [self.share.promql(scope)] if self.share else []
        return promql.call(self.function, *share, record)

    def values(self, view: View) -> Vector | float:  # noqa: ARG002
        return NOTHING


@dataclass(frozen=True, eq=False)
class Before(Expr):
    """What a signal's own record held last, or a function of it, within a span: a signal that goes on from its past."""

    signal: "Callable[[], Recorded]"
    span: Span
    function: str = "last_over_time"

    def promql(self, scope: Scope) -> str:
        return OverTime(self.function, self.signal(), self.span).promql(scope)

    def values(self, view: View) -> Vector | float:  # noqa: ARG002
        return NOTHING

    def is_silent(self, missing: Collection[str], scope: Scope) -> bool:
        return self.signal().is_silent(missing, scope)  # Nothing is carried on that was never there.


@dataclass(frozen=True, eq=False)
class AsRecorded(Expr):
    """What rules last recorded of a signal, for who reads raw series otherwise; nothing where there are no rules."""

    signal: "Callable[[], Recorded]"

    def promql(self, scope: Scope) -> str:
        return self.signal().promql(scope.by_rules())

    def values(self, view: View) -> Vector | float:  # noqa: ARG002
        return NOTHING

    def is_silent(self, missing: Collection[str], scope: Scope) -> bool:
        return self.signal().is_silent(missing, scope.by_rules())

    def parts(self, scope: Scope) -> Iterator[tuple[Expr, Scope]]:
        yield self.signal(), scope.by_rules()


@dataclass(frozen=True, eq=False)
class InWindow(Expr):
    """A rate as what was counted within the rules' window."""

    rate: Expr

    def promql(self, scope: Scope) -> str:
        window = scope.span or scope.settings.rules.rate_window
        # Grafana's window is of another length, by zoom.
        here = scope.over(window) if scope.edition is Edition.RAW else scope
        return promql.binary(self.rate.promql(here), "*", promql.number(window.seconds))

    def values(self, view: View) -> Vector | float:
        return self.rate.values(view)


@dataclass(frozen=True, eq=False)
class Extreme(Expr):
    """The least or the greatest of a signal within the window, of its values at each evaluation."""

    how: Literal["min", "max"]
    signal: "Recorded"

    def promql(self, scope: Scope) -> str:
        rules = scope.settings.rules
        # One evaluation more: what changed since the last one before the window is still counted in rates.
        span = (scope.span or rules.rate_window) + rules.evaluation_interval
        function, pace = f"{self.how}_over_time", str(rules.evaluation_interval)
        if self.signal.record_here(scope) is None:
            return promql.call(function, promql.subquery(self.signal.promql(scope), str(span), pace, "0s"))
        return OverTime(function, self.signal, lambda _: span).promql(scope)

    def values(self, view: View) -> Vector | float:
        now = vector_of(self.signal, view)
        then = vector_of(self.signal, view.earlier) if view.earlier else NOTHING
        among = min if self.how == "min" else max
        return {labels: among(value, then.get(labels, value)) for labels, value in now.items()}


@dataclass(frozen=True, eq=False)
class Given(Expr):
    """What depends on the settings, or on who reads it."""

    build: Callable[[Scope], Expr]

    def promql(self, scope: Scope) -> str:
        return self.build(scope).promql(scope)

    def values(self, view: View) -> Vector | float:
        return self.build(view.scope).values(view)

    def is_silent(self, missing: Collection[str], scope: Scope) -> bool:
        return self.build(scope).is_silent(missing, scope)

    def parts(self, scope: Scope) -> Iterator[tuple[Expr, Scope]]:
        yield self.build(scope), scope


class Recorded(Expr):
    """An expression that rules may record."""

    @abstractmethod
    def record_here(self, scope: Scope, window: str = "") -> str | None:
        """A selector of its record; None where there is none to read."""


def rate(metric: Metric, by: tuple[str, ...] | None = None) -> Expr:
    """Per-second increase of a counter, by the level's labels and those of its own that stay: all, or `by`."""
    return over_level("sum", rate_of_each(metric), *(metric.own_labels if by is None else by))


def rate_of_each(metric: Metric) -> Expr:
    """Per-second increase of each series of a counter."""
    return Function("rate", Raw(metric, window=lambda scope: scope.window))


def rate_of_all(*metrics: Metric) -> Expr:
    """Per-second increase of several counters together: what one of them lacks does not silence the others."""
    return over_level("sum", FirstOf(tuple(rate_of_each(metric) for metric in metrics)))


def metrics_of(expression: Expr, scope: Scope, *, recorded: bool = True) -> tuple[str, ...]:
    """Names of the metrics whose raw series it reads, in the order of reading; of a histogram its own, once.

    Those that it reads as records are among them, unless `recorded` is false.
    """
    found: dict[str, None] = {}
    met: set[tuple[Expr, Level]] = set()

    def read(part: Expr, seen_from: Scope) -> None:
        if (part, seen_from.level) in met:
            return
        met.add((part, seen_from.level))
        if not recorded and isinstance(part, Recorded) and part.record_here(seen_from):
            return
        key = (part, seen_from.level, seen_from.edition, seen_from.records)
        if key not in seen_from.readings:
            seen_from.readings[key] = tuple(_readings(part, seen_from))
        for one in seen_from.readings[key]:
            if isinstance(one, str):
                found[one] = None
            else:
                read(*one)

    read(expression, scope)
    return tuple(found)


def _readings(expression: Expr, scope: Scope) -> Iterator[str | tuple[Expr, Scope]]:
    """In the order of reading: metrics, and signals with the scope from which each is seen."""
    if isinstance(expression, Raw) and (spelling := scope.settings.dialect.spelled(expression.metric)):
        metric = expression.metric
        yield spelling.name.removesuffix(metric.name.removeprefix(metric.part_of) if metric.part_of else "")
    for part, seen_from in expression.parts(scope):
        if isinstance(part, Recorded):
            yield part, seen_from
        else:
            yield from _readings(part, seen_from)


def vector_of(argument: Expr, view: View) -> Vector:
    """The values of an expression that is a vector."""
    return vector.required(argument.values(view))
