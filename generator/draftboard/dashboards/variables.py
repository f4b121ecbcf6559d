"""What a dashboard has besides panels: its variables, each narrowed by those before it, and its annotations."""

from collections.abc import Callable, Sequence
from typing import Any

from draftboard.dashboards.fields import COLOURS
from draftboard.dashboards.panels import GRAFANA
from draftboard.expr.promql import number
from draftboard.expr.scope import Matcher
from draftboard.settings import Settings
from draftboard.signals import Scope, Signal
from draftboard.signals.events import firing_alerts, restarts
from draftboard.status import Status

_OF_MODELS = {"job": "Job", "model_name": "Model", "spec_method": "Method", "variant": "Variant"}
_OF_ENGINES = _OF_MODELS | {"instance": "Instance", "engine": "Engine"}


def label_variables(
    settings: Settings, series: Callable[[tuple[Matcher, ...]], str], *, by_engine: bool
) -> list[dict[str, Any]]:
    """A variable for each label of a model or an engine, read from the series that match the variables before it."""
    roles = _OF_ENGINES if by_engine else _OF_MODELS
    titles = {getattr(settings.labels, role): title for role, title in roles.items()}
    always = {settings.labels.job, settings.labels.instance}
    chosen = tuple(Matcher(name, "=~", f"${name}") for name in titles)
    return [
        _label_variable(name, title, f"label_values({series(chosen[:index])}, {name})", required=name in always)
        for index, (name, title) in enumerate(titles.items())
    ]


def _label_variable(name: str, title: str, values: str, *, required: bool) -> dict[str, Any]:
    # Every series has a job and an instance. The others may be absent, and an absent label equals an empty one.
    own = {"allValue": ".+" if required else ".*", "definition": values, "label": title, "name": name}
    asked = {"qryType": 1, "query": values, "refId": "PrometheusVariableQueryEditor-VariableQuery"}
    return {**GRAFANA["variables"]["label"], **own, "query": asked}


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
    options = [{"selected": value == current, "text": value, "value": value} for value in values]
    chosen_option = {"selected": True, "text": current, "value": current}
    own = {"current": chosen_option, "label": label, "name": name, "options": options, "query": ",".join(values)}
    return {**GRAFANA["variables"]["number"], **own}


def annotations(scope: Scope) -> list[dict[str, Any]]:
    """Grafana's own annotations, firing alerts and restarts."""
    model, moment = f"{{{{{scope.settings.labels.model_name}}}}}", scope.settings.rules.evaluation_interval
    # A restart counts for as long as the rules remember a server; the mark belongs where the count rises.
    risen = scope(restarts.combined(">", restarts.ago(lambda _: moment)))
    return [
        GRAFANA["annotations"]["grafana"],
        _annotation(firing_alerts, scope(firing_alerts), f"{{{{alertname}}}} {model}", COLOURS[Status.WARN]),
        _annotation(restarts, risen, f"restart {model}", "blue"),
    ]


def _annotation(signal: Signal, expr: str, text: str, colour: str) -> dict[str, Any]:
    own = {"expr": str(expr), "iconColor": colour, "name": signal.title, "titleFormat": text}
    return {**GRAFANA["annotations"]["ours"], **own}
