"""Recording rules: every signal that has a record, in the order of their making."""

from draftboard.rules.group import Group, RecordingRule
from draftboard.settings import Settings
from draftboard.signals import ALL, Level, Scope, Signal

WHY_ONE_GROUP = """\
One group with more than the usual twenty rules, because the order is the point: a record that reads another must be
evaluated after it and at the same time, which only rules of one group are.
"""


def recording_groups(settings: Settings) -> tuple[Group, ...]:
    """Rates by engine, their sums by model, then what is made of them. `WHY_ONE_GROUP` says why not several.

    All of it is cheap: engines are read once, in the first rules; what follows works on a handful of series a model.
    """
    rules = tuple(
        RecordingRule(record=record, expr=Scope(settings, level).definition(signal))
        for signal in ALL
        for level in _levels(signal)
        if (record := signal.record_at(level, settings))
    )
    return (Group(name="draftboard-speculation", interval=settings.rules.evaluation_interval, rules=rules),)


def _levels(signal: Signal) -> tuple[Level, ...]:
    """Engines before the models that are summed from them."""
    return tuple(sorted(signal.levels, key=list(Level).index))
