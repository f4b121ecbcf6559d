"""Rule groups: a recording rule for every signal with a record, an alerting rule for every alert."""

from collections import Counter
from collections.abc import Mapping
from functools import lru_cache

from draftboard import __version__
from draftboard.alerts import Alert, by_subject
from draftboard.alerts.annotations import annotations
from draftboard.durations import Duration
from draftboard.quantity import EVALUATION, SLOW_EVALUATION, duration, span_text
from draftboard.rulers import IN_ORDER, Ruler
from draftboard.rules.links import Definition, in_few_links
from draftboard.rules.moments import COUNTERS, group_of
from draftboard.rules.packing import packed
from draftboard.rules.rule import AlertingRule, Group, RecordingRule
from draftboard.rules.tiers import of_tier
from draftboard.settings import Overlay, Settings
from draftboard.signals import FAMILIES, Level, Scope
from draftboard.signals.monitoring import GROUPS

RELEASES = {rules: f"fleet:draftboard_{rules}_release:info" for rules in ("recording", "alerting")}
"""Record of each rule file: 1, with the release that wrote it as a label."""
_DAILY = "daily"
"""Group of what reads a day: evaluated less often, as its price is high and its value hardly changes in minutes."""
_EVALUATED_WITH = {"verdict": "speculation"}
"""Families whose rules are of another family's groups, because they weigh what it says."""


@lru_cache(maxsize=4)  # Several files are made of them, and what decides which of the files there are.
def recording_groups(settings: Settings, ruler: Ruler = "prometheus") -> tuple[Group, ...]:
    """Groups of each family, cut where rulers refuse longer ones; each behind those whose records it reads."""
    scope = Scope(settings)
    together = list[tuple[str, Definition]]()
    for name, family in FAMILIES.items():
        of_family = [
            Definition(record, signal, scope.at(level))
            for signal in family
            for level in sorted(signal.levels, key=list(Level).index)  # engines before the models that sum them
            if (record := signal.record_name(level, settings))
        ]
        together += [
            (
                _DAILY if one.signal.daily else group_of(one.signal, one.scope.level, _EVALUATED_WITH.get(name, name)),
                one,
            )
            for one in of_family
        ]
    together.sort(key=lambda each: each[0] != COUNTERS)  # What the records of all families read.
    kept = of_tier([one.rule for _, one in together], alerting_groups(settings), settings)
    chosen = [(name, one) for name, one in together if one.record in kept]
    defined = [(name, one.rule) for name, one in chosen]
    made = (rule for _, rule in defined) if ruler in IN_ORDER else in_few_links(one for _, one in chosen)
    written = {rule.record: rule for rule in made}
    named, numbers = dict[str, tuple[RecordingRule, ...]](), Counter[str]()
    for name, group in packed(defined):
        numbers[name] += 1
        named[f"{name}-{numbers[name]}" if numbers[name] > 1 else name] = tuple(written[rule.record] for rule in group)
    return (*_groups(named, settings), *_groups(_release("recording"), settings))


@lru_cache(maxsize=4)
def alerting_groups(settings: Settings, *, by_grafana: bool = False) -> tuple[Group, ...]:
    """One group for each subject, evaluated as often as the records that it reads.

    Texts for Grafana do without external labels and queries, which its templates do not have.
    """
    scope = Scope(settings)
    rules = {
        f"{subject}-alerts": tuple(_alerting_rule(alert, scope, by_grafana=by_grafana) for alert in alerts)
        for subject, alerts in by_subject(settings).items()
    }
    return (*_groups(rules, settings), *_groups({} if by_grafana else _release("alerting"), settings))


def records(settings: Settings) -> frozenset[str]:
    """Names of the records that the settings' tier keeps."""
    rules = (rule for group in recording_groups(settings) for rule in group.rules)
    return frozenset(rule.record for rule in rules if isinstance(rule, RecordingRule))


def _release(rules: str) -> dict[str, tuple[RecordingRule, ...]]:
    """The group of a rule file that tells which release wrote it."""
    expr = f'label_replace(vector(1), "release", "{__version__}", "", "")'
    return {f"{rules}-release": (RecordingRule(record=RELEASES[rules], expr=expr),)}


def _groups(rules: Mapping[str, tuple[RecordingRule | AlertingRule, ...]], settings: Settings) -> tuple[Group, ...]:
    """A group for each name that has rules."""

    def interval(name: str) -> Duration | str:
        pace = SLOW_EVALUATION if name.startswith(_DAILY) else EVALUATION
        return span_text(pace, settings) if settings.left_open else duration(pace, settings)

    offset = settings.rules.query_offset
    return tuple(
        Group(name=f"{GROUPS}{name}", interval=interval(name), query_offset=offset, rules=inside)
        for name, inside in rules.items()
        if inside
    )


def _alerting_rule(alert: Alert, scope: Scope, *, by_grafana: bool) -> AlertingRule:
    settings = scope.settings
    policy = alert.policy(settings)
    for_all, own = settings.all_alerts, settings.alerts.get(alert.name, Overlay())
    return AlertingRule(
        alert=alert.name,
        expr=alert.condition(scope),
        pending_period=policy.pending_period,
        keep_firing_for=policy.keep_firing_for,
        labels={"severity": settings.severities.named(policy.severity)} | for_all.labels | own.labels,
        annotations=annotations(alert, settings, by_grafana=by_grafana) | for_all.annotations | own.annotations,
    )
