"""Texts of several numbers: one cell says what a single number cannot, such as a change with its size, or a range."""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from draftboard.dashboards.labels import label_join, label_replace
from draftboard.expr import promql
from draftboard.expr.scope import Scope
from draftboard.expr.to_promql import promql_of
from draftboard.signals import Signal, economics, next_steps, overview, users
from draftboard.signals.health import health
from draftboard.signals.next_steps import next_gain

_GAIN, _LOW, _HIGH = "gain", "low", "high"


class Text(NamedTuple):
    """A signal as a text: the label that holds it, the query of its series, and letters that fit a line."""

    label: str
    promql: Callable[[Scope], str]
    letters: int


def _next_step(scope: Scope) -> str:
    """Its code, which the column has words for; where nothing is urgent and another K gains, that K and its gain."""
    # Health, which is joined last, knows the selected variants.
    every = replace(scope, every_variant=True)
    percent = promql.call("round", promql.binary("100", "*", promql_of(next_gain, every)))
    gains = _in_label(_GAIN, promql.binary(percent, ">", "0"))
    change = label_replace(
        label_join(gains, _NEXT, ";", *next_gain.by, _GAIN), _NEXT, "K $1 -> $2: +$3 %", _NEXT, "(.*);(.*);(.*)"
    )
    urgent, otherwise = (_in_label(_NEXT, promql_of(part, every)) for part in (next_steps.urgent, next_steps.otherwise))
    ignored = f"ignoring ({', '.join((*next_gain.by, _GAIN, _NEXT))})"
    first = promql.binary(urgent, "or", promql.binary(change, "or", otherwise, ignored), ignored)
    return promql.binary(first, "and", promql_of(health, scope), ignored)


def _speedup(scope: Scope) -> str:
    """The measured one, or the range of the expected one."""
    measured = _hundredths(_TIMES, users.measured_speedup, scope)
    ends = promql.binary(
        _hundredths(_LOW, economics.expected_speedup_low, scope),
        "*",
        _hundredths(_HIGH, economics.expected_speedup_high, scope),
        f"ignoring ({_LOW}, {_HIGH}) group_left ({_HIGH})",
    )
    expected = label_join(ends, _TIMES, " to ", _LOW, _HIGH)
    return promql.binary(measured, "or", expected, f"ignoring ({_LOW}, {_HIGH}, {_TIMES})")


def _hundredths(label: str, signal: Signal, scope: Scope) -> str:
    """With two decimals, also where the last one is 0."""
    digits = _in_label(label, promql.call("round", promql_of(signal, scope), "0.01"))
    one = label_replace(digits, label, "$1.0", label, "([0-9]+)")
    return label_replace(one, label, "${1}0", label, "([0-9]+[.][0-9])")


def _in_label(label: str, expr: str) -> str:
    return promql.call("count_values without () ", f'"{label}"', expr)


_NEXT, _TIMES = "next", "times"
TEXTS = {next_steps.next_step: Text(_NEXT, _next_step, 27), overview.speedup: Text(_TIMES, _speedup, 12)}
"""Of records, which alone know them."""
