"""What parts of nodes are from a scope: names of labels, values of matchers, conditions, and nodes behind nodes."""

from functools import singledispatch

from draftboard.catalogue import Metric
from draftboard.expr import nodes, promql
from draftboard.expr.nodes import Expr, Recorded
from draftboard.expr.scope import Edition, Matcher, Scope
from draftboard.quantity import Quantity, Setting, value

_SIGNALS: dict[str, Recorded] = {}


def define(signal: Recorded) -> None:
    """Make a signal known by its name, for `Ref`; the first of a name stands."""
    _SIGNALS.setdefault(signal.name, signal)


def signal_named(name: str) -> Recorded:
    """The signal of a name; KeyError where there is none."""
    return _SIGNALS[name]


def record_name(signal: Recorded, scope: Scope, *, past: bool = False) -> str | None:
    """The record of a signal that is read from here, of its past or of its present; None where there is none."""
    if not scope.edition.reads_records:
        return None
    record = signal.record_name(scope.level, scope.settings)
    return record if record and scope.reads(record, past=past) else None


def names(labels: nodes.Names, scope: Scope) -> tuple[str, ...]:
    """The labels, by the names that the settings give them."""
    return tuple(name for label in labels for name in _names(label, scope))


def _names(label: str | nodes.Labels | nodes.LabelsOfLevel | nodes.LabelsOfMetric, scope: Scope) -> tuple[str, ...]:
    if isinstance(label, nodes.LabelsOfLevel):
        return scope.labels
    if isinstance(label, nodes.LabelsOfMetric):
        return scope.carried(label.metric)
    if isinstance(label, nodes.Labels):
        held: str | tuple[str, ...] = getattr(scope.settings.labels, label.field)
        return (held,) if isinstance(held, str) else held
    return (label,)


def name(label: nodes.Label, scope: Scope) -> str:
    """One label's name."""
    (only,) = _names(label, scope)
    return only


def matcher(match: nodes.Match, scope: Scope) -> Matcher:
    """A matcher on raw series."""
    pattern = match.pattern.of(scope.settings) if isinstance(match.pattern, Setting) else match.pattern
    return Matcher(name(match.label, scope), match.operator, pattern)


def selected(node: nodes.Select, scope: Scope) -> Scope:
    """The scope of what is selected; where no value is excluded, as it was."""
    accepted = tuple(one for pattern in node.values for one in _patterns(pattern, scope))
    if node.negated and not accepted:
        return scope
    return scope.where(Matcher.of(name(node.label, scope), *accepted, negated=node.negated))


def rescoped(node: nodes.Rescoped, scope: Scope) -> Scope:
    """The scope in which its argument is evaluated."""
    match node:
        case nodes.At():
            return scope.at(node.level)
        case nodes.Ago():
            return scope.ago(node.span)
        case nodes.Over():
            return scope.over(node.span)
        case nodes.AtEnd():
            return scope.at_end()
        case nodes.AsRecorded():
            return scope.by_rules()
        case nodes.OfOneMoment():
            return scope.of_one_moment()
        case _:
            raise TypeError(f"{type(node).__name__} has no scope of its own")


def _patterns(pattern: nodes.Pattern, scope: Scope) -> tuple[str, ...]:
    if isinstance(pattern, nodes.UpTo):
        return (up_to(whole(pattern.largest, scope)),)
    if isinstance(pattern, nodes.Bound):
        return (either_spelling(value(pattern.seconds, scope.settings)),)
    if isinstance(pattern, Setting):
        held: str | tuple[str, ...] = pattern.of(scope.settings)
        return (held,) if isinstance(held, str) else tuple(held)
    return (pattern,)


def either_spelling(bound: float) -> str:
    """A bound as Prometheus 2 stores it or as 3 does: `1` or `1.0`."""
    return f"{promql.number(bound)}|{promql.number(bound)}[.]0" if bound == int(bound) else promql.number(bound)


def up_to(largest: int) -> str:
    """A regular expression for the whole numbers 0 to `largest`, below 100."""
    tens, ones = divmod(largest, 10)
    if tens == 0:
        return f"[0-{ones}]" if ones else "0"
    lower = {1: "[0-9]", 2: "1?[0-9]"}.get(tens, f"[1-{tens - 1}]?[0-9]")
    return f"{lower}|{tens}[0-{ones}]" if ones else f"{lower}|{tens}0"


def whole(quantity: Quantity | int, scope: Scope) -> int:
    """A quantity that counts something."""
    return int(value(quantity, scope.settings))


def metric_of(node: nodes.Raw, scope: Scope) -> Metric:
    """The metric that is read; of a dialect, its own."""
    metric = _in_dialect(node.metric, scope)
    if metric is None:
        raise ValueError(f"{scope.settings.dialect.engine} has no metric for {node.metric}")
    return metric


def _in_dialect(metric: Metric | nodes.MetricOfDialect, scope: Scope) -> Metric | None:
    """The metric; where a dialect chooses it, that one, or None where it has none."""
    if isinstance(metric, Metric):
        return metric
    own: Metric | None = getattr(scope.settings.dialect, metric.field)
    return own


_READING = {edition for edition in Edition if edition.reads_records}
_EDITIONS = {
    nodes.Evaluator.RECORDS: _READING,
    nodes.Evaluator.RECORDS_AT_ONCE: _READING,
    nodes.Evaluator.RAW_PANEL: {Edition.RAW},
    nodes.Evaluator.ONCE: {Edition.ONCE},
}


def holds(condition: nodes.Condition, scope: Scope) -> bool:
    """Whether a condition holds, seen from a scope."""
    match condition:
        case nodes.Not():
            return not holds(condition.condition, scope)
        case nodes.AtLevel():
            return scope.level is condition.level
        case nodes.IsSet():
            held = Setting(condition.path).of(scope.settings)
            return condition.key in held if condition.key else held not in (None, False, {}, ())
        case nodes.InDialect() | nodes.Exposed():
            return _has(condition, scope)
        case nodes.IsRead():
            return record_name(condition.signal, scope.at(condition.level)) is not None
        case nodes.Evaluator():
            late = condition is nodes.Evaluator.RECORDS_AT_ONCE and scope.records is not None
            return scope.edition in _EDITIONS[condition] and not late


def _has(condition: nodes.InDialect | nodes.Exposed, scope: Scope) -> bool:
    """Whether the dialect has a metric, or exposes it as the condition says."""
    metric, dialect = _in_dialect(condition.metric, scope), scope.settings.dialect
    if metric is None:
        return False
    if isinstance(condition, nodes.Exposed):
        return dialect.presence(metric) is condition.presence
    return dialect.spelled(metric) is not None


@singledispatch
def expanded(node: Expr, scope: Scope) -> Expr | None:  # noqa: ARG001
    """What a node stands for, by settings, dialect, level or evaluator; None where that is nothing.

    TypeError for a node that stands for itself.
    """
    raise TypeError(f"{type(node).__name__} is no node that stands for another")


def alternatives(node: nodes.FirstOf, scope: Scope) -> list[Expr]:
    """The alternatives whose conditions hold in the scope, in their order; each as what it stands for."""
    found = (expanded(one, scope) if isinstance(one, nodes.If) else one for one in node.alternatives)
    return [one for one in found if one is not None]


@expanded.register
def _(node: nodes.If, scope: Scope) -> Expr | None:
    return node.then if holds(node.condition, scope) else node.otherwise


@expanded.register
def _(node: nodes.Ref, scope: Scope) -> Expr:  # noqa: ARG001
    return signal_named(node.name)


@expanded.register
def _(node: nodes.OfDeclared, scope: Scope) -> Expr:
    return nodes.merged(node.label, {name: part for name, part in node.parts if name in scope.settings.slo.declared})


@expanded.register
def _(node: nodes.ByLabel, scope: Scope) -> Expr:
    """Values of the label for which the table says the same share a branch."""
    by_number: dict[float, list[str]] = {}
    for pattern, number in sorted(node.table.of(scope.settings).items()):
        by_number.setdefault(number, []).append(pattern)
    known = [
        nodes.constant(number, node.like.where(node.label, *patterns)) for number, patterns in sorted(by_number.items())
    ]
    return nodes.FirstOf((*known, nodes.constant(node.default, node.like)))


@expanded.register
def _(node: nodes.Successor, scope: Scope) -> Expr:
    # PromQL has no arithmetic on label values: the last digit is rewritten, and numbers that end in 9 carry.
    argument, largest = node.argument, whole(node.largest, scope)
    for digit in range(min(largest, 8) + 1):
        argument = nodes.LabelReplace(argument, node.label, f"${{1}}{digit + 1}", node.source, f"(.*){digit}")
    for nines in range(9, largest + 1, 10):
        argument = nodes.LabelReplace(argument, node.label, str(nines + 1), node.source, str(nines))
    return argument


@expanded.register
def _(node: nodes.Numbers, scope: Scope) -> Expr:
    last = whole(node.last, scope)
    return nodes.merged(
        node.label, {str(n): nodes.Function("vector", nodes.Number(n)) for n in range(node.first, last + 1)}
    )


@expanded.register
def _(node: nodes.PrefixSums, scope: Scope) -> Expr:
    sums = (
        nodes.labelled(node.argument.where(node.over, up_to(k - 1)).sum(node.over), node.label, str(k))
        for k in range(1, whole(node.most, scope) + 1)
    )
    return nodes.FirstOf(tuple(sums))
