"""Recording rules: every signal that has a record, in the order of their making."""

from draftboard.rules.group import Group, RecordingRule
from draftboard.settings import Settings
from draftboard.signals import ALL, Level, Scope, Signal


def recording_groups(settings: Settings) -> tuple[Group, ...]:
    """One group: rates by engine, their sums by model, then what is made of them.

    It has more than the usual twenty rules because the order is the point: a record that reads another must be
    evaluated after it at the same time, and only rules of one group are. All of it is cheap: engines are read once,
    in the first rules; everything after works on a handful of series for each model.
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
