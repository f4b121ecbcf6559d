"""Recording rules: every signal that has a record, in the order of their making."""

from draftboard.rules.group import Group, RecordingRule
from draftboard.settings import Settings
from draftboard.signals import FAMILIES, Level, Scope, Signal

WHY_LONG_GROUPS = """\
A group is a family of signals that are made of each other, because the order is the point: a record that reads another
must be evaluated after it and at the same time, which only rules of one group are. So two groups have more than the
usual twenty rules.
"""


def recording_groups(settings: Settings) -> tuple[Group, ...]:
    """A group a family: rates by engine, their sums by model, then what is made of them. `WHY_LONG_GROUPS` says why.

    All of it is cheap: engines are read once, in the first rules; what follows works on a handful of series a model.
    """
    return tuple(
        Group(name=f"draftboard-{name}", interval=settings.rules.evaluation_interval, rules=rules)
        for name, family in FAMILIES.items()
        if (rules := _rules(family, settings))
    )


def _rules(family: tuple[Signal, ...], settings: Settings) -> tuple[RecordingRule, ...]:
    return tuple(
        RecordingRule(record=record, expr=signal.definition(Scope(settings, level)))
        for signal in family
        for level in _levels(signal)
        if (record := signal.record_at(level, settings))
    )


def _levels(signal: Signal) -> tuple[Level, ...]:
    """Engines before the models that are summed from them."""
    return tuple(sorted(signal.levels, key=list(Level).index))
