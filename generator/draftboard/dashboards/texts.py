"""Texts of several numbers: one cell says what a single number cannot, such as a change with its size, or a range."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from draftboard.dashboards.labels import label_join, label_replace
from draftboard.expr import promql
from draftboard.expr.scope import Scope
from draftboard.expr.to_promql import promql_of
from draftboard.signals import Signal, causes, economics, next_steps, overview, states, users
from draftboard.signals.health import KNOWN_FROM, health, health_age, health_since
from draftboard.signals.next_steps import next_gain

_LOW, _HIGH, _STATE, _OF = "low", "high", "state", "of"
LEAST, _AGE = "least", "age"
_UNITS = ((60, "1", "min", 3600), (3600, "0.1", "h", 48 * 3600), (86400, "0.1", "d", None))
"""Of ages: seconds, digits, name, and up to which age."""


class Text(NamedTuple):
    """A signal as a text: the label that holds it, the query of its series, and letters that fit a line."""

    label: str
    promql: Callable[[Scope], str]
    letters: int
    narrow: int = 0
    """Least width in pixels in a table of which the first columns fit a phone."""


def _next_step(scope: Scope) -> str:
    """Its code, which the column has words for.

    Of what is partly down how many to restart; where nothing is urgent and another K gains, that K and its gain.
    """
    # The step, which is joined last, knows the selected variants.
    every, labels = replace(scope, every_variant=True), (*next_gain.by, _STATE, _OF, _NEXT)
    change = [_change(every)] if next_gain.exists(scope.settings) else []
    step, ignored = _in_label(_NEXT, promql_of(next_steps.next_step, every)), f"ignoring ({', '.join(labels)})"
    first = promql.first_of(partly_down(every, _NEXT, "restart $1"), *change, step, matching=ignored)
    return promql.binary(first, "and", promql_of(health, scope), ignored)


def partly_down(scope: Scope, label: str, text: str) -> str:
    """Models of which some engines are down, with a text in a label, whose `$1` is such as "3 of 6"."""
    by_state = states.engines_by_state
    down, every = (promql_of(one, scope) for one in (by_state.where(_STATE, "down"), by_state.sum(_STATE)))
    part = _in_label(_OF, promql.binary(every, ">", down, f"ignoring ({_STATE})"))
    both = promql.binary(_in_label(label, down), "*", part, f"ignoring ({_STATE}, {_OF}, {label}) group_left ({_OF})")
    return label_replace(label_join(both, label, " of ", label, _OF), label, text, label, "(.*)")


def _change(scope: Scope) -> str:
    """Where another K gains: from which K to which, and the gain in percent."""
    percent = promql.call("round", promql.binary("100", "*", promql_of(next_gain, scope)))
    gains = label_join(_in_label(_NEXT, promql.binary(percent, ">", "0")), _NEXT, ";", *next_gain.by, _NEXT)
    urgent = f"ignoring ({', '.join((*next_gain.by, _NEXT))})"
    gains = promql.binary(gains, "unless", promql_of(next_steps.urgent, scope), urgent)
    return label_replace(gains, _NEXT, "K $1 -> $2: +$3 %", _NEXT, "(.*);(.*);(.*)")


def _age(scope: Scope) -> str:
    """With its unit; behind "at least" where it began before anything was known of it."""
    age, parts = promql_of(health_age, scope), []
    for seconds, digits, name, end in _UNITS:
        shown = promql.call(
            "round", promql.binary(promql.binary(age, "<", str(end)) if end else age, "/", str(seconds)), digits
        )
        parts.append(label_replace(_in_label(_AGE, shown), _AGE, f"$1 {name}", _AGE, "(.*)"))
    words = promql.first_of(*parts, matching=f"ignoring ({_AGE})")
    least = at_least(promql_of(health_since, scope), scope, "\N{GREATER-THAN OR EQUAL TO} ")
    both = promql.binary(words, "*", least, f"ignoring ({_AGE}, {LEAST}) group_left ({LEAST})")
    return label_join(both, _AGE, "", LEAST, _AGE)


def at_least(since: str, scope: Scope, words: str) -> str:
    """For each time a label with the words, or empty where that is the beginning."""
    known = promql.call("scalar", promql_of(KNOWN_FROM, replace(scope, every_variant=True)))
    said = label_replace(_in_label(LEAST, promql.binary(since, "<= bool", known)), LEAST, words, LEAST, "1")
    return label_replace(said, LEAST, "", LEAST, "0")


def _speedup(scope: Scope) -> str:
    """The measured one, or the range of the expected one, as far as the dialect has them."""
    known = []
    if users.measured_speedup.exists(scope.settings):
        known.append(_hundredths(_TIMES, users.measured_speedup, scope))
    if economics.expected_speedup_low.exists(scope.settings):
        known.append(_range(scope))
    return promql.first_of(*known, matching=f"ignoring ({_LOW}, {_HIGH}, {_TIMES})")


def _range(scope: Scope) -> str:
    """The expected speedup at the highest and at the lowest costs."""
    ends = promql.binary(
        _hundredths(_LOW, economics.expected_speedup_low, scope),
        "*",
        _hundredths(_HIGH, economics.expected_speedup_high, scope),
        f"ignoring ({_LOW}, {_HIGH}) group_left ({_HIGH})",
    )
    return label_join(ends, _TIMES, " to ", _LOW, _HIGH)


def _hundredths(label: str, signal: Signal, scope: Scope) -> str:
    """With two decimals, also where the last one is 0."""
    digits = _in_label(label, promql.call("round", promql_of(signal, scope), "0.01"))
    one = label_replace(digits, label, "$1.0", label, "([0-9]+)")
    return label_replace(one, label, "${1}0", label, "([0-9]+[.][0-9])")


def _in_label(label: str, expr: str) -> str:
    return promql.call("count_values without () ", f'"{label}"', expr)


_NEXT, _TIMES = "next", "times"
(WHY,) = causes.health_cause.by
TEXTS = {
    health_age: Text(_AGE, _age, 8),
    next_steps.next_step: Text(_NEXT, _next_step, 21, 130),
    causes.health_cause: Text(WHY, partial(promql_of, causes.health_cause), 34, 94),
    overview.speedup: Text(_TIMES, _speedup, 12),
}
"""Of records, which alone know them."""
