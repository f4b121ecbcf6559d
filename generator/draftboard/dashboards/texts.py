"""Texts of several numbers: one cell says what a single number cannot, such as a change with its size, or a range."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from draftboard.dashboards.labels import label_join, label_replace
from draftboard.expr import promql
from draftboard.expr.scope import Scope
from draftboard.expr.to_promql import promql_of
from draftboard.signals import causes, economics, next_steps, overview, states, users, versus
from draftboard.signals.health import KNOWN_FROM, health, health_age, health_since
from draftboard.signals.next_steps import next_gain

_LOW, _HIGH, _STATE, _OF = "low", "high", "state", "of"
LEAST, _AGE = "least", "age"
_ENDS = (economics.expected_speedup_low, economics.expected_speedup_high)
_TO = " to "
ALIKE: dict[str, Any] = {
    "type": "regex",
    "options": {"pattern": rf"^(.+){_TO}\1$", "result": {"text": "$1", "index": 80}},
}
"""A mapping of ranges whose ends read alike to one number."""
UNITS = {"min": (60, 1, 3600), "h": (3600, 10, 48 * 3600), "d": (86400, 10, None)}
"""Of ages: seconds, parts that are shown, and up to which age; rounded down, as 89 minutes are less than 1.5 hours."""


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
    code, ignored = promql_of(next_steps.next_step, every), f"ignoring ({', '.join(labels)})"
    restart = promql.binary(code, "==", str(next_steps.RESTART.value))
    first = promql.first_of(
        partly_down(every, restart, _NEXT, "restart $1"), *change, _in_label(_NEXT, code), matching=ignored
    )
    return promql.binary(first, "and", promql_of(health, scope), ignored)


def partly_down(scope: Scope, where: str, label: str, text: str) -> str:
    """Models `where` some engines are down, with a text in a label, whose `$1` is such as "3 of 6"."""
    by_state = states.engines_by_state
    down, every = (promql_of(one, scope) for one in (by_state.where(_STATE, "down"), by_state.sum(_STATE)))
    ignored = f"ignoring ({_STATE}, {_OF}, {label})"
    both = promql.binary(_in_label(label, down), "*", _in_label(_OF, every), f"{ignored} group_left ({_OF})")
    worded = label_replace(label_join(both, label, " of ", label, _OF), label, text, label, "(.*)")
    return promql.binary(worded, "and", where, ignored)


def _change(scope: Scope) -> str:
    """Where another K gains: from which K to which, and the gain in percent."""
    percent = promql.call("round", promql.binary("100", "*", promql_of(next_gain, scope)))
    gains = label_join(_in_label(_NEXT, promql.binary(percent, ">", "0")), _NEXT, ";", *next_gain.by, _NEXT)
    urgent = f"ignoring ({', '.join((*next_gain.by, _NEXT))})"
    gains = promql.binary(gains, "unless", promql_of(next_steps.urgent, scope), urgent)
    return label_replace(gains, _NEXT, "K $1 -> $2: +$3% speed", _NEXT, "(.*);(.*);(.*)")


def _age(scope: Scope) -> str:
    """With its unit; behind "at least" where it began before anything was known of it."""
    parts = (
        label_replace(_in_label(_AGE, in_unit(promql_of(health_age, scope), unit)), _AGE, f"$1 {unit}", _AGE, "(.*)")
        for unit in UNITS
    )
    words = promql.first_of(*parts, matching=f"ignoring ({_AGE})")
    least = at_least(promql_of(health_since, scope), scope, "\N{GREATER-THAN OR EQUAL TO} ")
    both = promql.binary(words, "*", least, f"ignoring ({_AGE}, {LEAST}) group_left ({LEAST})")
    return label_join(both, _AGE, "", LEAST, _AGE)


def in_unit(age: str, unit: str, least: int = 0) -> str:
    """Ages in a unit, rounded down, from some seconds up to what the next unit has words for."""
    seconds, parts, end = UNITS[unit]
    bounded = promql.binary(age, ">=", str(least)) if least else age
    bounded = promql.binary(bounded, "<", str(end)) if end else bounded
    whole = promql.call("floor", promql.binary(bounded, "/", str(seconds // parts)))
    return whole if parts == 1 else promql.binary(whole, "/", str(parts))


def at_least(since: str, scope: Scope, words: str) -> str:
    """For each time a label with the words, or empty where that is the beginning."""
    known = promql.call("scalar", promql_of(KNOWN_FROM, replace(scope, every_variant=True)))
    said = label_replace(_in_label(LEAST, promql.binary(since, "<= bool", known)), LEAST, words, LEAST, "1")
    return label_replace(said, LEAST, "", LEAST, "0")


def _speedup(scope: Scope) -> str:
    """The measured one, or the range of the expected one, as far as the dialect has them."""
    known = []
    if users.measured_speedup.exists(scope.settings):
        known.append(_hundredths(_TIMES, promql_of(users.measured_speedup, scope)))
    if economics.expected_speedup_low.exists(scope.settings):
        assumed = scope.settings.draft_cost.is_assumed
        known.append(_expected(scope) if assumed else _hundredths(_TIMES, promql_of(_ENDS[0], scope)))
    return promql.first_of(*known, matching=f"ignoring ({_LOW}, {_HIGH}, {_TIMES})")


def _expected(scope: Scope) -> str:
    """The expected speedup from the highest to the lowest costs."""
    low, high = (_hundredths(label, promql_of(end, scope)) for label, end in zip((_LOW, _HIGH), _ENDS, strict=True))
    ends = promql.binary(low, "*", high, f"ignoring ({_LOW}, {_HIGH}) group_left ({_HIGH})")
    return label_join(ends, _TIMES, _TO, _LOW, _HIGH)


def _hundredths(label: str, values: str) -> str:
    """With two decimals, also where the last one is 0."""
    digits = _in_label(label, promql.call("round", values, "0.01"))
    one = label_replace(digits, label, "$1.0", label, "([0-9]+)")
    return label_replace(one, label, "${1}0", label, "([0-9]+[.][0-9])")


def _in_label(label: str, expr: str) -> str:
    return promql.call("count_values without () ", f'"{label}"', expr)


_NEXT, _TIMES = "next", "times"
(WHY,) = causes.health_cause.by
TEXTS = {
    health_age: Text(_AGE, _age, 8),
    next_steps.next_step: Text(_NEXT, _next_step, 23, 108),
    causes.health_cause: Text(WHY, partial(promql_of, causes.health_cause), 34, 94),
    overview.speedup: Text(_TIMES, _speedup, 12),
    versus.expected: Text(_TIMES, _expected, 12),
}
"""Of records, which alone know them."""
