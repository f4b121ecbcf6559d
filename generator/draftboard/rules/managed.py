"""The rules as Grafana evaluates them itself: files for its provisioning, with the same expressions.

A rule of Grafana is a query and a condition on its values. As in Grafana's own import of Prometheus' rules, the
condition holds for every value, and no data is no alert: the expression decides.
"""

import hashlib
import re
from collections.abc import Iterable
from typing import Any

from draftboard import __version__
from draftboard.durations import Duration
from draftboard.rules.forms import as_yaml
from draftboard.rules.groups import alerting_groups, recording_groups
from draftboard.rules.rule import AlertingRule, Group, RecordingRule
from draftboard.settings import Settings

_QUERY, _ANY, _CONDITION = "query", "any", "condition"
_LOOKED_BACK = Duration(600)
"""Of an instant query Grafana needs a range too; it has no effect."""
_ABOUT_ALERTMANAGER = {"DraftboardAlertmanagerDown", "DraftboardNotificationsFail"}
"""What watches a way that Grafana's notifications do not take."""
_RELEASE = {"draftboard_release": __version__}
"""In each alert: a record, as in files of rulers, needs Grafana's recording rules, which few have switched on."""
_EXPRESSIONS = "__expr__"
"""Grafana's uid for what it computes itself."""
_LEFT_OUT = f"# Without {' and '.join(sorted(_ABOUT_ALERTMANAGER))}: Grafana sends its notifications itself.\n"


def managed_alerts(settings: Settings) -> str:
    """The alerts. They read records: those of a Prometheus' rules, or those of `managed_records`."""
    groups = alerting_groups(settings, by_grafana=True)
    return _LEFT_OUT + _provisioned(groups, settings)


def managed_records(settings: Settings) -> str:
    """The recording rules: Grafana writes their values to the data source."""
    return _provisioned(recording_groups(settings), settings)


def _provisioned(groups: Iterable[Group], settings: Settings) -> str:
    provisioned = [
        {
            "orgId": 1,
            "name": group.name,
            "folder": settings.managed.folder,
            "interval": str(group.interval),
            "rules": [rule for each in group.rules if (rule := _rule(each, group, settings))],
        }
        for group in groups
    ]
    return as_yaml({"apiVersion": 1, "groups": provisioned})


def _rule(rule: RecordingRule | AlertingRule, group: Group, settings: Settings) -> dict[str, Any] | None:
    query = _query(rule.expr, group, settings)
    if isinstance(rule, RecordingRule):
        target = {"metric": rule.record, "from": _QUERY, "targetDatasourceUid": settings.managed.datasource}
        return {"uid": _uid(rule.record), "title": rule.record, "data": [query], "record": target}
    if rule.alert in _ABOUT_ALERTMANAGER:
        return None
    return {
        "uid": rule.alert,
        "title": rule.alert,
        "condition": _CONDITION,
        "data": [query, *_conditions()],
        "noDataState": "OK",
        "execErrState": "Error",
        "for": str(rule.pending_period),
        "keepFiringFor": str(rule.keep_firing_for),
        "missing_series_evals_to_resolve": 1,
        # Grafana replaces $name by a variable of the environment in labels, not in annotations.
        "labels": {name: _text(text).replace("$", "$$") for name, text in rule.labels.items()},
        "annotations": {name: _text(text) for name, text in rule.annotations.items()} | _RELEASE,
        "isPaused": False,
    }


def _uid(name: str) -> str:
    """Stable, and short enough for Grafana, which names of records are not."""
    return f"draftboard-{hashlib.sha256(name.encode()).hexdigest()[:24]}"


def _text(template: str) -> str:
    """A template of Prometheus as one of Grafana, where `$value` is a text of all values."""
    return re.sub(r"\$value\b", f"$values.{_QUERY}.Value", template)


def _query(expr: str, group: Group, settings: Settings) -> dict[str, Any]:
    late, uid = group.query_offset.seconds, settings.managed.datasource
    model = {"datasource": {"type": "prometheus", "uid": uid}, "expr": expr, "instant": True, "range": False}
    time_range = {"from": _LOOKED_BACK.seconds + late, "to": late}
    return {"refId": _QUERY, "relativeTimeRange": time_range, "datasourceUid": uid, "model": model | {"refId": _QUERY}}


def _conditions() -> Iterable[dict[str, Any]]:
    """1 for every value, 0 among them, and then that this is above 0."""
    every = f"is_number(${_QUERY}) || is_nan(${_QUERY}) || is_inf(${_QUERY})"
    above = [{"evaluator": {"type": "gt", "params": [0]}}]
    for ref, model in (
        (_ANY, {"type": "math", "expression": every}),
        (_CONDITION, {"type": "threshold", "expression": _ANY, "conditions": above}),
    ):
        query = {"datasource": {"type": _EXPRESSIONS, "uid": _EXPRESSIONS}, **model, "refId": ref}
        none = {"from": 0, "to": 0}
        yield {"refId": ref, "relativeTimeRange": none, "datasourceUid": _EXPRESSIONS, "model": query}
