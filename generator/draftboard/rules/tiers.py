"""What a tier records: the records that alerts, their runbooks and pages read, and those that these are made of."""

from collections.abc import Iterable, Iterator

from draftboard.alerts import of_settings
from draftboard.alerts.runbook import runbook
from draftboard.dashboards import dashboards
from draftboard.rules.packing import records_in
from draftboard.rules.rule import AlertingRule, Group, RecordingRule
from draftboard.settings import Settings
from draftboard.signals import Edition


def of_tier(rules: Iterable[RecordingRule], alerting: Iterable[Group], settings: Settings) -> frozenset[str]:
    """Names of the records that the settings' tier keeps of these."""
    made = {rule.record: records_in(rule.expr) for rule in rules}
    if settings.rules.tier == "full":  # Commands read others besides.
        return frozenset(made)
    read = frozenset[str]().union(*map(records_in, _texts(alerting, settings))) & made.keys()
    while (deeper := read.union(*(made[record] for record in read)) & made.keys()) > read:
        read = deeper
    return read


def _texts(alerting: Iterable[Group], settings: Settings) -> Iterator[str]:
    """All that people and programs read: each text may query a record."""
    for rule in (rule for group in alerting for rule in group.rules):
        yield rule.expr
        yield from rule.annotations.values() if isinstance(rule, AlertingRule) else ()
    yield from (runbook(alert, settings) for alert in of_settings(settings))
    for page in dashboards(settings, Edition.RECORDS).values():
        yield from _strings(page().document)


def _strings(part: object) -> Iterator[str]:
    if isinstance(part, str):
        yield part
    elif isinstance(part, dict | list):
        for one in part.values() if isinstance(part, dict) else part:
            yield from _strings(one)
