"""In which order a replay evaluates rules: each after what it reads, and those that read one another together."""

import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from graphlib import TopologicalSorter

from draftboard.rules import AlertingRule, Group, RecordingRule, records_in

_ALERTS = re.compile(r"\bALERTS(?:_FOR_STATE)?\b(?:\{(?P<matchers>[^}]*)\})?")
_ONE = re.compile(r'\balertname="(\w+)"')


@dataclass(frozen=True)
class Step:
    """Rules, in the order of their files, that are evaluated together."""

    rules: tuple[RecordingRule | AlertingRule, ...]
    reads_itself: bool
    """Whether a rule reads what it, or another of the step, made before: then each time needs all times before it."""


def in_order(groups: Sequence[Group]) -> list[Step]:
    """The rules of groups in steps: each reads only what itself and steps before it make."""
    rules = {_name(rule): rule for group in groups for rule in group.rules}
    alerts = frozenset(name for name, rule in rules.items() if isinstance(rule, AlertingRule))
    reads = {
        name: (records_in(rule.expr) | _alerts_in(rule.expr, alerts)) & rules.keys() for name, rule in rules.items()
    }
    below = {name: _below(name, reads) for name in rules}
    together = {
        name: tuple(other for other in rules if other == name or (other in below[name] and name in below[other]))
        for name in rules
    }
    before = {
        names: [together[name] for name in rules if name not in names and any(name in reads[one] for one in names)]
        for names in together.values()
    }
    return [
        Step(tuple(rules[name] for name in names), reads_itself=names[0] in below[names[0]])
        for names in TopologicalSorter(before).static_order()
    ]


def _name(rule: RecordingRule | AlertingRule) -> str:
    return rule.record if isinstance(rule, RecordingRule) else rule.alert


def _alerts_in(expr: str, alerts: frozenset[str]) -> AbstractSet[str]:
    """The alerts whose series an expression reads: the one that a matcher names, or all."""
    read = [_ONE.findall(found["matchers"] or "") or alerts for found in _ALERTS.finditer(expr)]
    return frozenset().union(*read)


def _below(name: str, reads: Mapping[str, AbstractSet[str]]) -> AbstractSet[str]:
    """What a rule reads, and what that reads, and so on."""
    result: set[str] = set()
    new = set(reads[name])
    while new:
        result |= new
        new = set().union(*(reads[one] for one in new)) - result
    return result
