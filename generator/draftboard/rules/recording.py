"""Recording rules: every signal that has a record, each after those that it reads."""

from draftboard.rules.text import Group, RecordingRule
from draftboard.settings import Settings
from draftboard.signals import FAMILIES, Level, Scope

WHY_LONG_GROUPS = """\
A group is a family of signals that are made of each other, because the order is the point: a record that reads another
must be evaluated after it and at the same time, which only rules of one group are. So two groups have more than the
usual twenty rules.
"""


def recording_groups(settings: Settings) -> tuple[Group, ...]:
    """One group for each family: rates by engine, their sums by model, then what is computed from them.

    The cost is that of the first rules, which read every engine; the others read a handful of series for each model.
    """
    rules = {
        name: tuple(
            RecordingRule(record=record, expr=signal.definition(Scope(settings, level)))
            for signal in family
            for level in sorted(signal.levels, key=list(Level).index)  # engines before the models that sum them
            if (record := signal.record_at(level, settings))
        )
        for name, family in FAMILIES.items()
    }
    interval = settings.rules.evaluation_interval
    return tuple(
        Group(name=f"draftboard-{name}", interval=interval, rules=rules[name]) for name in rules if rules[name]
    )
