"""Expressions as PromQL, seen from a scope."""

from dataclasses import replace
from functools import lru_cache, singledispatch
from itertools import pairwise

from draftboard.expr import nodes, promql
from draftboard.expr.nodes import Expr, Recorded
from draftboard.expr.reads import exists
from draftboard.expr.resolve import (
    alternatives,
    expanded,
    matcher,
    metric_of,
    name,
    names,
    record_name,
    rescoped,
    selected,
    signal_named,
)
from draftboard.expr.scope import Edition, Level, Matcher, Scope
from draftboard.quantity import EVALUATION, RATE_WINDOW, Quantity, number_text, span_text


class TooLongError(Exception):
    """A signal has more PromQL than its scope allows."""


def promql_of(expression: Expr, scope: Scope) -> str:
    """The PromQL of an expression; ValueError where nothing in it carries a label that the scope selects by.

    TooLongError where a signal in it has more than the scope allows.
    """
    return scope.selected(to_promql(expression, scope), *scope.only)


@singledispatch
def to_promql(node: Expr, scope: Scope) -> str:
    """The PromQL of a node; of one that stands for another, of that one."""
    stands_for = expanded(node, scope)
    if stands_for is None:
        raise ValueError(f"{node} is nothing here")
    return to_promql(stands_for, scope)


def definition(signal: Recorded, scope: Scope) -> str:
    """PromQL that computes a signal, for the rule that records it."""
    if engines := rolled_up(signal, scope):
        return promql.aggregate(signal.rollup or "", (*scope.labels, *signal.by), engines)
    return to_promql(signal.expr, scope)


def rolled_up(signal: Recorded, scope: Scope) -> str | None:
    """A selector of the record of engines that makes the model's; None where that is computed anew."""
    return record_selector(signal, scope.at(Level.ENGINE)) if scope.level is Level.MODEL and signal.rollup else None


def record_selector(signal: Recorded, scope: Scope, window: str = "") -> str | None:
    """A selector of the signal's record at the scope's level; None where there is none to read."""
    record = record_name(signal, scope, past=bool(window))
    return scope.series(record, (*scope.labels, *signal.by), window=window) if record else None


@to_promql.register
def _(node: Recorded, scope: Scope) -> str:
    return _of_signal(node, scope)


@lru_cache(maxsize=20_000)  # Signals stand in the expressions of many others.
def _of_signal(signal: Recorded, scope: Scope) -> str:
    text = record_selector(signal, scope) or to_promql(signal.expr, scope)
    # A text holds those of what it reads: without records the longest grow to many megabytes.
    if scope.longest is not None and len(text) > scope.longest:
        raise TooLongError(signal.name)
    return text


@to_promql.register
def _(node: nodes.Number, scope: Scope) -> str:
    return number_text(node.value, scope.settings)


@to_promql.register
def _(node: nodes.Parameter, scope: Scope) -> str:
    return f"${node.name}" if scope.edition.on_dashboard else number_text(node.default, scope.settings)


@to_promql.register
def _(_: nodes.Now, scope: Scope) -> str:
    # What is seen from the end has one age, whichever moment is evaluated.
    return "scalar(last_over_time(vector(time())[1s:1s] @ end()))" if scope.ended else "time()"


@to_promql.register
def _(node: nodes.Binary, scope: Scope) -> str:
    if node.operator in {"or", "unless"} and not exists(node.right, scope):
        return to_promql(node.left, scope)
    if node.operator == "or" and not exists(node.left, scope):
        return to_promql(node.right, scope)
    left, right = to_promql(node.left, scope), to_promql(node.right, scope)
    return promql.binary(left, node.operator, right, _matching(node.matching, scope))


def _matching(matching: nodes.Matching, scope: Scope) -> str:
    labels, group = names(matching.labels, scope), f" group_{matching.group} ()" if matching.group else ""
    by = "on" if matching.just else "ignoring"
    return f"{by} ({', '.join(labels)}){group}" if matching.just or labels else ""


@to_promql.register
def _(node: nodes.Raw, scope: Scope) -> str:
    text = _selected(node, scope)
    return text if node.window else _under_our_labels(text, node, scope)


def _selected(node: nodes.Raw, scope: Scope, name: str = "") -> str:
    return scope.raw(
        metric_of(node, scope),
        window=_window(node, scope),
        matchers=tuple(matcher(match, scope) for match in node.matchers),
        chosen_by=names(node.chosen_by, scope) if node.chosen_by else None,
        name=name,
    )


def _window(node: nodes.Raw, scope: Scope) -> str:
    if node.window is None:
        return ""
    if node.window is nodes.Window.RATE:
        return scope.window
    return span_text(scope.span or RATE_WINDOW if node.window is nodes.Window.FIXED else node.window, scope.settings)


def _under_our_labels(text: str, node: nodes.Raw, scope: Scope) -> str:
    """The PromQL of samples with the labels that vLLM gives them."""
    spelling = scope.settings.dialect.spelled(metric_of(node, scope))
    for ours, theirs in spelling.labels.items() if spelling else ():
        moved = promql.call("label_replace", text, f'"{ours}"', '"$1"', f'"{theirs}"', '"(.*)"')
        text = promql.call("label_replace", moved, f'"{theirs}"', '""', '""', '""')
    return text


@to_promql.register
def _(node: nodes.Function, scope: Scope) -> str:
    text = promql.call(node.name, to_promql(node.argument, scope))
    # A range has no labels to replace, what is made of it has.
    return _of_range(text, node, node.argument, scope) if isinstance(node.argument, nodes.Raw) else text


def _of_range(text: str, node: nodes.Function, series: nodes.Raw, scope: Scope) -> str:
    metric, dialect = metric_of(series, scope), scope.settings.dialect
    spelling = dialect.spelled(metric)
    if node.name == "rate" and metric in dialect.begins_after:
        earlier = _selected(replace(series, metric=dialect.begins_after[metric]), scope)
        beside = f"ignoring ({', '.join(metric.own_labels)}) group_left ()" if metric.own_labels else ""
        text = promql.first_of(promql.from_zero(_selected(series, scope), earlier, beside), text)
    if spelling and spelling.less:
        text = promql.binary(text, "-", promql.call(node.name, _selected(series, scope, spelling.less)))
    return _under_our_labels(text, series, scope) if series.window else text


@to_promql.register
def _(node: nodes.Quantile, scope: Scope) -> str:
    return promql.call("histogram_quantile", to_promql(node.share, scope), to_promql(node.buckets, scope))


@to_promql.register
def _(node: nodes.QuantileBucket, scope: Scope) -> str:
    # Of buckets that are 1 from the quantile's own on and 0 below, that one holds every quantile: 1 is its upper end.
    buckets = to_promql(node.buckets, scope)
    all_of_them = to_promql(node.buckets, scope.where(_HIGHEST))  # A series, where the buckets are twenty.
    rank = promql.binary(to_promql(node.share, scope), "*", promql.call("max without (le) ", all_of_them))
    reached = promql.binary(buckets, ">= bool", promql.binary(rank, ">", "0"), "ignoring (le) group_left ()")
    bound = promql.call("histogram_quantile", "1" if node.upper else promql.number(_LOWER_END), reached)
    if node.upper:
        return bound
    # Of a bound in units of the least difference, so that rounding gives the number that the upper end of a bucket is.
    scaled = promql.call("round", promql.binary(bound, "*", _BOUNDS_IN_ONE))
    return promql.binary(scaled, "/", _BOUNDS_IN_ONE)


_HIGHEST = Matcher("le", "=", "+Inf")
_LOWER_END, _BOUNDS_IN_ONE = 1e-12, "1e6"
"""A share so small that it is the lower end of a bucket; and how fine two bounds may differ."""


@to_promql.register
def _(node: nodes.AtLeast, scope: Scope) -> str:
    return promql.call("clamp_min", to_promql(node.argument, scope), promql.number(node.least))


@to_promql.register
def _(node: nodes.Interpolated, scope: Scope) -> str:
    points, argument = node.points.of(scope.settings), to_promql(node.argument, scope)
    text: str = promql.constant(promql.number(points[0][1]), argument)
    for (start, low), (end, high) in pairwise(points):
        within = promql.call("clamp", argument, promql.number(start), promql.number(end))
        risen = promql.binary(within, "-", promql.number(start))
        text = promql.binary(text, "+", promql.binary(promql.number((high - low) / (end - start)), "*", risen))
    return text


@to_promql.register
def _(node: nodes.Constant, scope: Scope) -> str:
    return promql.constant(number_text(node.value, scope.settings), to_promql(node.like, scope))


@to_promql.register
def _(node: nodes.Aggregate, scope: Scope) -> str:
    return promql.aggregate(node.how, names(node.by, scope), to_promql(node.argument, scope))


@to_promql.register
def _(node: nodes.AtMost, scope: Scope) -> str:
    return promql.aggregate("topk", names(node.by, scope), str(node.most), to_promql(node.argument, scope))


@to_promql.register
def _(node: nodes.Spread, scope: Scope) -> str:
    share = promql.number(node.share)
    return promql.aggregate("quantile", names(node.by, scope), share, to_promql(node.argument, scope))


@to_promql.register
def _(node: nodes.Reduce, scope: Scope) -> str:
    return promql.call(f"{node.how} without ({node.label}) ", to_promql(node.argument, scope))


@to_promql.register
def _(node: nodes.FirstOf, scope: Scope) -> str:
    """Without alternatives that cannot have a sample here."""
    possible = alternatives(node, scope)
    existing = [each for each in possible if exists(each, scope)]
    return promql.first_of(*(to_promql(each, scope) for each in existing or possible))


@to_promql.register
def _(node: nodes.Select, scope: Scope) -> str:
    seen = selected(node, scope)
    return scope.selected(to_promql(node.argument, seen), *seen.only[len(scope.only) :])


@to_promql.register
def _(node: nodes.LabelReplace, scope: Scope) -> str:
    parts = (name(node.label, scope), node.replacement, name(node.source, scope), node.pattern)
    return promql.call("label_replace", to_promql(node.argument, scope), *(f'"{part}"' for part in parts))


@to_promql.register
def _(node: nodes.LabelJoin, scope: Scope) -> str:
    parts = (name(node.label, scope), node.separator, *names(node.sources, scope))
    return promql.call("label_join", to_promql(node.argument, scope), *(f'"{part}"' for part in parts))


@to_promql.register
def _(node: nodes.Carrying, scope: Scope) -> str:
    by = names(node.by, scope)
    partners = promql.aggregate("topk", by, "1", to_promql(node.other, scope))
    matching = f"on ({', '.join(by)}) group_left ({name(node.label, scope)})"
    return promql.binary(to_promql(node.argument, scope), "*", partners, matching)


@to_promql.register
def _(node: nodes.CountValues, scope: Scope) -> str:
    return promql.aggregate(
        "count_values", (*scope.labels, *node.by), f'"{node.label}"', to_promql(node.argument, scope)
    )


@to_promql.register
def _(node: nodes.Rescoped, scope: Scope) -> str:
    return to_promql(node.argument, rescoped(node, scope))


@to_promql.register
def _(node: nodes.OverTime, scope: Scope) -> str:
    settings = scope.settings
    span, pace = span_text(node.span, settings), span_text(node.pace, settings)
    window = span if node.pace is EVALUATION else f"{span}:{pace}"
    past = scope.ago(node.offset)
    record = record_selector(node.argument, past, window) if isinstance(node.argument, Recorded) else None
    if record is None:
        offset = span_text(node.offset, settings)
        record = promql.subquery(to_promql(node.argument, scope), span, pace, offset)
    share = [to_promql(node.share, scope)] if node.share else []
    return promql.call(node.function, *share, record)


@to_promql.register
def _(node: nodes.Before, scope: Scope) -> str:
    past = nodes.OverTime(node.function, signal_named(node.signal.name), node.span, node.offset, node.pace)
    return to_promql(past, scope)


@to_promql.register
def _(node: nodes.InWindow, scope: Scope) -> str:
    window = scope.span or RATE_WINDOW
    # Grafana's window is of another length, by zoom.
    seen = scope.over(window) if scope.edition is Edition.RAW else scope
    seconds = number_text(window if isinstance(window, Quantity) else window.seconds, scope.settings)
    return promql.binary(to_promql(node.rate, seen), "*", seconds)


@to_promql.register
def _(node: nodes.Extreme, scope: Scope) -> str:
    # One evaluation more: what changed since the last one before the window is still counted in rates.
    span = EVALUATION + scope.span if scope.span else RATE_WINDOW + EVALUATION
    function = f"{node.how}_over_time"
    if record_name(node.signal, scope) is None:
        pace = span_text(EVALUATION, scope.settings)
        subquery = promql.subquery(to_promql(node.signal, scope), span_text(span, scope.settings), pace, "0s")
        return promql.call(function, subquery)
    return to_promql(nodes.OverTime(function, node.signal, span), scope)
