"""Expressions in words: titles of signals with live values, settings with their values."""

from collections.abc import Callable
from functools import singledispatch

from draftboard.expr import nodes
from draftboard.expr.nodes import Expr
from draftboard.expr.reads import exists
from draftboard.expr.resolve import alternatives, expanded, matcher, metric_of, selected, signal_named
from draftboard.expr.scope import Scope
from draftboard.expr.to_jsonnet import jsonnet
from draftboard.quantity import Quantity, duration, number_text, settings_of, value
from draftboard.signals import Signal
from draftboard.signals.signal import worded

Shown = Callable[[Signal, Scope], str]
"""The value of a signal in words, seen from a scope."""
_OPERATORS = {"or": "or else", "==": "=", "== bool": "=", "> bool": ">", "< bool": "<"}
_COMPARISONS = ("==", "!=", "<", ">", "<=", ">=", "== bool", "> bool", "< bool")
_PRECEDENCE = (
    dict.fromkeys(("or",), 0)
    | dict.fromkeys(("and", "unless"), 1)
    | dict.fromkeys(_COMPARISONS, 2)
    | dict.fromkeys(("+", "-"), 3)
    | dict.fromkeys(("*", "/"), 4)
    | {"^": 5}
)
_REDUCED = {"sum": "sum", "min": "lowest", "max": "highest", "count": "number", "avg": "mean", "group": "any"}


@singledispatch
def in_words(node: Expr, scope: Scope, shown: Shown) -> str:
    """An expression in words; of a node that stands for another, that one's, and of others the argument's."""
    argument = getattr(node, "argument", None)
    if isinstance(argument, Expr):
        return in_words(argument, scope, shown)
    stands_for = expanded(node, scope)
    return in_words(stands_for, scope, shown) if stands_for else "nothing"


def quantity(amount: Quantity | float, scope: Scope) -> str:
    """A number; of settings the expression of their paths and the value."""
    return _with_settings(amount, number_text(amount, scope.settings))


def _limit(signal: Signal, amount: Quantity | float, scope: Scope) -> str:
    """What a signal is compared with, in its unit; of codes the meaning."""
    return _with_settings(amount, worded(signal, value(amount, scope.settings)))


def _with_settings(amount: Quantity | float, text: str) -> str:
    if not isinstance(amount, Quantity) or not settings_of(amount):
        return text
    calculated = jsonnet(amount)
    return f"{text} [{calculated[1:-1] if calculated.startswith('(') else calculated}]"


@in_words.register
def _(node: Signal, scope: Scope, shown: Shown) -> str:
    return f"{node.title} ({shown(node, scope)})"


@in_words.register
def _(node: nodes.Number, scope: Scope, shown: Shown) -> str:  # noqa: ARG001
    return quantity(node.value, scope)


@in_words.register
def _(node: nodes.Parameter, scope: Scope, shown: Shown) -> str:  # noqa: ARG001
    return quantity(node.default, scope)


@in_words.register
def _(_: nodes.Now, scope: Scope, shown: Shown) -> str:  # noqa: ARG001
    return "now"


@in_words.register
def _(node: nodes.Constant, scope: Scope, shown: Shown) -> str:
    return f"{quantity(node.value, scope)} where there is {in_words(node.like, scope, shown)}"


@in_words.register
def _(node: nodes.Binary, scope: Scope, shown: Shown) -> str:
    if node.operator in {"or", "unless"} and not exists(node.right, scope):
        return in_words(node.left, scope, shown)
    own, divisor = _PRECEDENCE[node.operator], node.right
    if node.operator == "/" and isinstance(divisor, nodes.Binary) and divisor.right == nodes.Number(0):
        divisor = divisor.left  # Every ratio needs traffic.
    if node.operator in _COMPARISONS and isinstance(node.left, Signal) and isinstance(divisor, nodes.Number):
        right = _limit(node.left, divisor.value, scope)
    else:
        # What stands to the right of these belongs together.
        right = _operand(divisor, own + (node.operator in {"-", "/", "unless"}), scope, shown)
    operator = _OPERATORS.get(node.operator, node.operator)
    return f"{_operand(node.left, own, scope, shown)} {operator} {right}"


def _operand(node: Expr, outside: int, scope: Scope, shown: Shown) -> str:
    """An operand, in parentheses where its operator binds less than the one outside."""
    if isinstance(node, nodes.If):
        chosen = expanded(node, scope)
        return _operand(chosen, outside, scope, shown) if chosen else "nothing"
    text = in_words(node, scope, shown)
    inside = _PRECEDENCE[node.operator] if isinstance(node, nodes.Binary) else _PRECEDENCE["^"]
    several = isinstance(node, nodes.FirstOf) and ", or else " in text
    return f"({text})" if inside < outside or several else text


@in_words.register
def _(node: nodes.Select, scope: Scope, shown: Shown) -> str:
    chosen = selected(node, scope).only[len(scope.only) :]
    words = ", ".join(one.text for one in chosen)
    return in_words(node.argument, scope, shown) + (f" {{{words}}}" if words else "")


@in_words.register
def _(node: nodes.FirstOf, scope: Scope, shown: Shown) -> str:
    return ", or else ".join(in_words(one, scope, shown) for one in alternatives(node, scope) if exists(one, scope))


@in_words.register
def _(node: nodes.Raw, scope: Scope, shown: Shown) -> str:  # noqa: ARG001
    matchers = ", ".join(matcher(one, scope).text for one in node.matchers)
    return metric_of(node, scope).name + (f"{{{matchers}}}" if matchers else "")


@in_words.register
def _(node: nodes.Function, scope: Scope, shown: Shown) -> str:
    return f"{node.name}({in_words(node.argument, scope, shown)})"


@in_words.register
def _(node: nodes.Quantile, scope: Scope, shown: Shown) -> str:
    return f"quantile {in_words(node.share, scope, shown)} of {in_words(node.buckets, scope, shown)}"


@in_words.register
def _(node: nodes.QuantileBucket, scope: Scope, shown: Shown) -> str:
    share, buckets = in_words(node.share, scope, shown), in_words(node.buckets, scope, shown)
    return f"{'upper' if node.upper else 'lower'} bound of the bucket of quantile {share} of {buckets}"


@in_words.register
def _(node: nodes.AtLeast, scope: Scope, shown: Shown) -> str:
    return f"{in_words(node.argument, scope, shown)}, at least {node.least:g}"


@in_words.register
def _(node: nodes.Reduce, scope: Scope, shown: Shown) -> str:
    return f"{_REDUCED[node.how]} over {node.label} of {in_words(node.argument, scope, shown)}"


@in_words.register
def _(node: nodes.Aggregate, scope: Scope, shown: Shown) -> str:
    return f"{_REDUCED[node.how]} of {in_words(node.argument, scope, shown)}"


@in_words.register
def _(node: nodes.At, scope: Scope, shown: Shown) -> str:
    return in_words(node.argument, scope.at(node.level), shown)


@in_words.register
def _(node: nodes.InWindow, scope: Scope, shown: Shown) -> str:
    return f"{in_words(node.rate, scope, shown)} within the window"


@in_words.register
def _(node: nodes.Extreme, scope: Scope, shown: Shown) -> str:
    return f"{_REDUCED[node.how]} {in_words(node.signal, scope, shown)} within the window"


@in_words.register
def _(node: nodes.Ago, scope: Scope, shown: Shown) -> str:  # noqa: ARG001
    return f"{_unvalued(node.argument, scope)} {duration(node.span, scope.settings)} ago"


@in_words.register
def _(node: nodes.OverTime, scope: Scope, shown: Shown) -> str:  # noqa: ARG001
    return f"{node.function} of {_unvalued(node.argument, scope)} over {duration(node.span, scope.settings)}"


@in_words.register
def _(node: nodes.Before, scope: Scope, shown: Shown) -> str:  # noqa: ARG001
    before = duration(node.span, scope.settings)
    return f"{_unvalued(signal_named(node.signal.name), scope)} as recorded within {before}"


def _unvalued(node: Expr, scope: Scope) -> str:
    """Of another time: present values would mislead."""
    return node.title if isinstance(node, Signal) else in_words(node, scope, _no_value).replace(" ()", "")


def _no_value(_signal: Signal, _scope: Scope) -> str:
    return ""
