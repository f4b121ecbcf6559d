"""The variables of a dashboard: its data source, what is selected by label, and what is drawn and assumed."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from draftboard.catalogue import serving
from draftboard.dashboards import lines
from draftboard.dashboards.context import Context
from draftboard.dashboards.grafana import GRAFANA
from draftboard.expr.nodes import Raw
from draftboard.expr.promql import number
from draftboard.expr.scope import Level, Matcher, Scope
from draftboard.expr.to_promql import promql_of
from draftboard.settings import Settings
from draftboard.signals import Edition
from draftboard.signals.traffic import generation_tokens

_OF_MODELS = {"job": "Job", "model_name": "Model", "spec_method": "Method", "variant": "Variant"}
_OF_ENGINES = _OF_MODELS | {"instance": "Instance", "engine": "Engine"}
_ONE: dict[str, Any] = {"multi": False, "includeAll": False, "current": {}}
"""Of a variable with one value: Grafana selects the first."""
_IN_MENU = 3
"""Grafana's way to show a variable in the menu of the dashboard's controls only."""


def variables(context: Context, used: Collection[str]) -> list[dict[str, Any]]:
    """Labels by which to select, of engines where queries use them, and those choices that queries use."""
    by_engine = context.edition is Edition.RAW or context.settings.labels.instance in used
    choices = (choice for choice in _choices(context) if choice["name"] in used)
    return [GRAFANA["variables"]["datasource"], *_labels(context, by_engine), *_baselines(context, by_engine), *choices]


def _labels(context: Context, by_engine: bool) -> list[dict[str, Any]]:
    """A variable for each label of a model or an engine, read from the series that match the variables before it."""
    names = context.settings.labels
    titles = {scope: scope.replace("_", " ").capitalize() for scope in names.scope}
    roles = {getattr(names, role): title for role, title in (_OF_ENGINES if by_engine else _OF_MODELS).items()}
    titles |= {label: title for label, title in roles.items() if label in names.filters}
    # Users who list labels set them; it is not known whether the default ones exist.
    in_menu = names.scope if names.scope == Settings().labels.scope else ()
    selected = tuple(Matcher(name, "=~", f"${name}") for name in titles)
    return [
        _label(name, title, _every_server(context, selected[:index], by_engine), context.settings)
        | ({"hide": _IN_MENU} if name in in_menu else {})
        | (_ONE if context.one_model and name == names.model_name else {})
        for index, (name, title) in enumerate(titles.items())
    ]


def _baselines(context: Context, by_engine: bool) -> list[dict[str, Any]]:
    """Variables that select the baseline beside which the others are shown."""
    names, plain = context.settings.labels, context.settings.methods.baseline
    selected, built = tuple[Matcher, ...](), list[dict[str, Any]]()
    for label, variable in context.baselines.items():
        is_method = label == names.spec_method
        matchers = (Matcher(names.model_name, "=~", f"${names.model_name}"), *selected)
        series, value = _every_server(context, matchers, by_engine), plain if is_method else ""
        built.append(
            _label(label, "Baseline" if is_method else f"Baseline's {label}", series, context.settings)
            | {"name": variable, "multi": False, "includeAll": False, "current": {"text": value, "value": value}}
        )
        selected = (Matcher(label, "=", f"${variable}"),)
    return built


def _label(label: str, title: str, series: str, settings: Settings) -> dict[str, Any]:
    # Every series has a job and an instance. The others may be absent, and an absent label equals an empty one.
    required = label in {settings.labels.job, settings.labels.instance}
    values = f"label_values({series}, {label})"
    query = {"qryType": 1, "query": values, "refId": "PrometheusVariableQueryEditor-VariableQuery"}
    own = {"allValue": ".+" if required else ".*", "definition": values, "label": title, "name": label, "query": query}
    return {**GRAFANA["variables"]["label"], **own}


def _every_server(context: Context, matchers: tuple[Matcher, ...], by_engine: bool) -> str:
    """A series that every server has, speculating or not, so that each can be selected."""
    scope = Scope(context.settings, Level.ENGINE if by_engine else Level.MODEL, only=matchers)
    return promql_of(Raw(serving.GENERATION_TOKENS) if context.edition is Edition.RAW else generation_tokens, scope)


def _choices(context: Context) -> list[dict[str, Any]]:
    """Variables that are no labels: what is drawn, and draft cost and verify inflation to try."""
    settings, drawn = context.settings, context.lines
    costs, price = settings.draft_cost, f"Price of an engine-hour ({settings.cost.currency})"
    counts = {f"{count} {drawn.first}": str(count) for count in drawn.offered} | {"all": "1000"}
    return [
        _choice(lines.LINES, "Lines", counts) | {"description": f"How many lines a graph draws: {drawn.order}"},
        _choice(lines.SLO, "SLO", {name.replace("_", " "): name for name in settings.slo.declared}),
        _number("draft_cost", "Draft cost c", costs.default, (0.0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3)),
        _number("price", price, settings.cost.price_per_engine_hour, (1.0, 2.0, 4.0, 8.0, 16.0)),
        _number("verify_inflation", "Verify inflation v", costs.inflation_by_batch[0][1], (1.0, 1.1, 1.25, 1.5, 2.0)),
    ]


def _number(name: str, label: str, default: float, offered: Sequence[float]) -> dict[str, Any]:
    """A choice of numbers, of which that of the settings is selected; any other can be typed."""
    values = [number(value) for value in sorted({*offered, default})]
    choice = _choice(name, label, dict(zip(values, values, strict=True)), number(default))
    return choice | {"allowCustomValue": True, "query": ",".join(values)}


def _choice(name: str, label: str, values: Mapping[str, str], default: str = "") -> dict[str, Any]:
    """A choice of values by their names, of which the first is selected unless another is."""
    default = default or next(iter(values), "")
    options = [{"selected": text == default, "text": text, "value": value} for text, value in values.items()]
    query = ",".join(f"{text} : {value}" for text, value in values.items())
    current = next((option for option in options if option["selected"]), {})
    own = {"current": current, "label": label, "name": name, "options": options, "query": query}
    return {**GRAFANA["variables"]["choice"], **own}
