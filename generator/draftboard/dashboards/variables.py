"""What a dashboard has besides panels: its variables, each narrowed by those before it, and its annotations."""

from collections.abc import Callable, Sequence
from typing import Any

from draftboard.dashboards.fields import COLOURS
from draftboard.dashboards.panels import DATASOURCE
from draftboard.expr.promql import binary, number
from draftboard.settings import Settings
from draftboard.signals import Scope, Signal
from draftboard.signals.events import firing_alerts, restarts
from draftboard.signals.scope import Matchers
from draftboard.status import Status

_TITLES = {
    "job": "Job",
    "instance": "Instance",
    "model_name": "Model",
    "engine": "Engine",
    "spec_method": "Method",
    "variant": "Variant",
}
# Every series has a job and an instance. The others may be absent, and an absent label equals an empty one.
_ALWAYS_PRESENT = {"job", "instance"}


def datasource() -> dict[str, Any]:
    """The Prometheus to query."""
    return {
        "current": {},
        "hide": 0,
        "includeAll": False,
        "label": "Data source",
        "multi": False,
        "name": "datasource",
        "options": [],
        "query": "prometheus",
        "refresh": 1,
        "regex": "",
        "type": "datasource",
    }


def label_variables(
    settings: Settings, series: Callable[[Matchers], str], roles: Sequence[str]
) -> list[dict[str, Any]]:
    """One variable for each role, read from the series that match the variables before it."""
    names = [getattr(settings.labels, role) for role in roles]
    chosen = tuple((name, f'{name}=~"${name}"') for name in names)
    return [
        _label_variable(role, name, f"label_values({series(chosen[:index])}, {name})")
        for index, (role, name) in enumerate(zip(roles, names, strict=True))
    ]


def _label_variable(role: str, name: str, values: str) -> dict[str, Any]:
    return {
        "allValue": ".+" if role in _ALWAYS_PRESENT else ".*",
        "current": {"text": ["All"], "value": ["$__all"]},
        "datasource": DATASOURCE,
        "definition": values,
        "hide": 0,
        "includeAll": True,
        "label": _TITLES[role],
        "multi": True,
        "name": name,
        "options": [],
        "query": {"qryType": 1, "query": values, "refId": "PrometheusVariableQueryEditor-VariableQuery"},
        "refresh": 2,
        "regex": "",
        "sort": 7,
        "type": "query",
    }


def what_if_variables(settings: Settings) -> list[dict[str, Any]]:
    """Draft cost and verify inflation to try; the settings' values are selected."""
    costs = settings.draft_cost
    return [
        _number_variable("draft_cost", "Draft cost c", costs.default, (0.0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3)),
        _number_variable("verify_inflation", "Verify inflation v", costs.verify_inflation, (1.0, 1.1, 1.25, 1.5, 2.0)),
    ]


def _number_variable(name: str, label: str, chosen: float, choices: Sequence[float]) -> dict[str, Any]:
    values = [number(value) for value in sorted({*choices, chosen})]
    current = number(chosen)
    return {
        "allowCustomValue": True,
        "current": {"selected": True, "text": current, "value": current},
        "hide": 0,
        "includeAll": False,
        "label": label,
        "multi": False,
        "name": name,
        "options": [{"selected": value == current, "text": value, "value": value} for value in values],
        "query": ",".join(values),
        "type": "custom",
    }


def annotations(scope: Scope) -> list[dict[str, Any]]:
    """Grafana's own annotations, firing alerts and restarts."""
    model, moment = f"{{{{{scope.settings.labels.model_name}}}}}", scope.settings.rules.evaluation_interval
    # A restart counts for as long as the rules remember a server; the mark belongs where the count rises.
    risen = binary(scope(restarts), ">", scope.ago(moment)(restarts))
    builtin = {
        "builtIn": 1,
        "datasource": {"type": "grafana", "uid": "-- Grafana --"},
        "enable": True,
        "hide": True,
        "iconColor": "rgba(0, 211, 255, 1)",
        "name": "Annotations & Alerts",
        "type": "dashboard",
    }
    return [
        builtin,
        _annotation(firing_alerts, scope(firing_alerts), f"{{{{alertname}}}} {model}", COLOURS[Status.WARN]),
        _annotation(restarts, risen, f"restart {model}", "blue"),
    ]


def _annotation(signal: Signal, expr: str, text: str, colour: str) -> dict[str, Any]:
    return {
        "datasource": DATASOURCE,
        "enable": True,
        "expr": str(expr),
        "hide": False,
        "iconColor": colour,
        "name": signal.title,
        "titleFormat": text,
    }
