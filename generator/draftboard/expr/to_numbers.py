"""Expressions as numbers, from what servers counted.

What looks at the past (`OverTime`, `Before`) has no value in counts, which hold one window. `Ago` has one where the
earlier window was read, too.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import singledispatch
from itertools import pairwise
from operator import itemgetter

from draftboard.expr import nodes, vector
from draftboard.expr.counts import Counts, View
from draftboard.expr.nodes import Expr, Recorded
from draftboard.expr.resolve import expanded, matcher, metric_of, name, names, rescoped, selected, whole
from draftboard.expr.scope import Edition, Level, Scope
from draftboard.expr.vector import NOTHING, Key, Labels, Vector
from draftboard.quantity import value


def values_of(expression: Expr, counts: Counts, level: Level = Level.MODEL) -> Vector:
    """The values of an expression, by the labels of the level and its own."""
    return vector.as_vector(to_numbers(expression, View(Scope(counts.settings, level, Edition.ONCE), counts)))


@singledispatch
def to_numbers(node: Expr, view: View) -> Vector | float:
    """The value of a node; of one that stands for another, of that one."""
    stands_for = expanded(node, view.scope)
    return NOTHING if stands_for is None else to_numbers(stands_for, view)


def _vector(node: Expr, view: View) -> Vector:
    return vector.required(to_numbers(node, view))


@to_numbers.register
def _(node: Recorded, view: View) -> Vector:
    """Computed once and then selected from, as a record is."""
    whole = view.through(replace(view.scope, only=()))
    all_values = view.once(node.name, lambda: vector.as_vector(to_numbers(node.expr, whole)))
    return view.selected(all_values, (*view.scope.labels, *node.by))


@to_numbers.register
def _(node: nodes.Number, view: View) -> float:
    return value(node.value, view.scope.settings)


@to_numbers.register
def _(node: nodes.Parameter, view: View) -> float:
    return value(node.default, view.scope.settings)


@to_numbers.register
def _(node: nodes.Binary, view: View) -> Vector | float:
    left, right = to_numbers(node.left, view), to_numbers(node.right, view)
    return vector.combined(left, node.operator, right, _key(node.matching, view), node.matching.group)


def _key(matching: nodes.Matching, view: View) -> Key:
    """What two elements must have in common to match."""
    labels = names(matching.labels, view.scope)
    return view.counts.keeping(labels) if matching.just else view.counts.dropping(labels)


@to_numbers.register
def _(node: nodes.Raw, view: View) -> Vector:
    metric = metric_of(node, view.scope)
    carried = names(node.chosen_by, view.scope) if node.chosen_by else view.scope.carried(metric)
    matchers = tuple(matcher(match, view.scope) for match in node.matchers)
    return view.selected(view.counts.series.get(metric.name, NOTHING), carried, matchers)


# Growth stands for a rate; and of one reading the last sample is the mean and the greatest, too.
_AS_IT_IS = {"rate", "avg_over_time", "max_over_time", "last_over_time"}
_OF_ONE_WINDOW: Mapping[str, Callable[[float], float]] = {
    "abs": abs,
    "ceil": lambda number: float(math.ceil(number)),
    "log2": math.log2,
    "ln": math.log,
    "exp": math.exp,
    "sqrt": math.sqrt,
    "count_over_time": lambda _: 1.0,
}


@to_numbers.register
def _(node: nodes.Function, view: View) -> Vector:
    argument = to_numbers(node.argument, view)
    if node.name == "vector" and not isinstance(argument, Mapping):
        return {frozenset(): argument}
    if not isinstance(argument, Mapping):
        return NOTHING
    if node.name in _AS_IT_IS:
        return argument
    if (compute := _OF_ONE_WINDOW.get(node.name)) is None:
        return NOTHING
    return {labels: compute(number) for labels, number in argument.items()}


@to_numbers.register
def _(node: nodes.Quantile, view: View) -> Vector:
    share = node.share.value if isinstance(node.share, nodes.Number) else node.share.default
    return vector.quantile(value(share, view.scope.settings), view.histograms(_vector(node.buckets, view)))


@to_numbers.register
def _(node: nodes.QuantileBucket, view: View) -> Vector:
    found = view.histograms(_vector(node.buckets, view))
    return vector.quantile_bucket(value(node.share.value, view.scope.settings), found, node.upper)


@to_numbers.register
def _(node: nodes.AtLeast, view: View) -> Vector:
    return {labels: max(number, node.least) for labels, number in _vector(node.argument, view).items()}


@to_numbers.register
def _(node: nodes.Interpolated, view: View) -> Vector:
    points = node.points.of(view.scope.settings)
    return {labels: _interpolated(points, number) for labels, number in _vector(node.argument, view).items()}


def _interpolated(points: Sequence[tuple[float, float]], at: float) -> float:
    steps = (
        (high - low) / (end - start) * (min(max(at, start), end) - start)
        for (start, low), (end, high) in pairwise(points)
    )
    return sum(steps, points[0][1])


@to_numbers.register
def _(node: nodes.Constant, view: View) -> Vector:
    return dict.fromkeys(_vector(node.like, view), value(node.value, view.scope.settings))


def _only(labels: nodes.Names, view: View) -> Key:
    return view.counts.keeping(names(labels, view.scope))


@to_numbers.register
def _(node: nodes.Aggregate, view: View) -> Vector:
    return vector.aggregated(node.how, _vector(node.argument, view), _only(node.by, view))


@to_numbers.register
def _(node: nodes.AtMost, view: View) -> Vector:
    return vector.at_most(node.most, _vector(node.argument, view), _only(node.by, view))


@to_numbers.register
def _(node: nodes.Spread, view: View) -> Vector:
    return vector.spread(node.share, _vector(node.argument, view), _only(node.by, view))


@to_numbers.register
def _(node: nodes.Reduce, view: View) -> Vector:
    return vector.aggregated(node.how, _vector(node.argument, view), view.counts.dropping((node.label,)))


@to_numbers.register
def _(node: nodes.FirstOf, view: View) -> Vector:
    return vector.first_of(_vector(alternative, view) for alternative in node.alternatives)


@to_numbers.register
def _(node: nodes.Select, view: View) -> Vector | float:
    return to_numbers(node.argument, view.through(selected(node, view.scope)))


@to_numbers.register
def _(node: nodes.LabelReplace, view: View) -> Vector:
    label, source = name(node.label, view.scope), name(node.source, view.scope)
    pattern = node.pattern.replace(r"\\", "\\")
    return vector.relabelled(_vector(node.argument, view), label, node.replacement, source, pattern)


@to_numbers.register
def _(node: nodes.Successor, view: View) -> Vector:
    """At once, where PromQL has a replacement for each digit."""
    largest = whole(node.largest, view.scope)

    def following(number: str) -> str | None:
        return str(int(number) + 1) if number.isdecimal() and int(number) <= largest else None

    return vector.relabelled_by(following, _vector(node.argument, view), node.label, node.source)


@to_numbers.register
def _(node: nodes.LabelJoin, view: View) -> Vector:
    label, sources = name(node.label, view.scope), names(node.sources, view.scope)
    argument = _vector(node.argument, view)
    joined = {each: node.separator.join(vector.value_of(each, source) for source in sources) for each in argument}
    return {vector.with_label(labels, label, joined[labels]): number for labels, number in argument.items()}


@to_numbers.register
def _(node: nodes.Carrying, view: View) -> Vector:
    by, label = names(node.by, view.scope), name(node.label, view.scope)
    ordered = sorted(_vector(node.other, view).items(), key=itemgetter(1))  # Of several, the greatest stays.
    partners = {vector.kept(partner, by): vector.value_of(partner, label) for partner, _ in ordered}
    keyed = ((each, vector.kept(each, by), number) for each, number in _vector(node.argument, view).items())
    return {vector.with_label(each, label, partners[key]): number for each, key, number in keyed if key in partners}


@to_numbers.register
def _(node: nodes.CountValues, view: View) -> Vector:
    counts: dict[Labels, float] = {}
    for labels, number in _vector(node.argument, view).items():
        group = vector.with_label(vector.kept(labels, (*view.scope.labels, *node.by)), node.label, f"{number:g}")
        counts[group] = counts.get(group, 0.0) + 1
    return counts


@to_numbers.register
def _(node: nodes.Rescoped, view: View) -> Vector | float:
    return to_numbers(node.argument, view.through(rescoped(node, view.scope)))


@to_numbers.register
def _(node: nodes.InWindow, view: View) -> Vector | float:
    return to_numbers(node.rate, view)


@to_numbers.register
def _(node: nodes.Extreme, view: View) -> Vector:
    now = _vector(node.signal, view)
    then = _vector(node.signal, view.earlier) if view.earlier else NOTHING
    among = min if node.how == "min" else max
    return {labels: among(number, then.get(labels, number)) for labels, number in now.items()}


@to_numbers.register
def _(node: nodes.Ago, view: View) -> Vector | float:
    past = view.ago(node.span)
    return to_numbers(node.argument, past) if past else NOTHING


@to_numbers.register(nodes.Now)
@to_numbers.register(nodes.OverTime)
@to_numbers.register(nodes.Before)
@to_numbers.register(nodes.AsRecorded)
def _(node: Expr, view: View) -> Vector:  # noqa: ARG001
    return NOTHING
