"""Tables and bars: how query results become rows and columns."""

from collections.abc import Sequence
from string import ascii_uppercase
from typing import Any

from draftboard.grafana import fields
from draftboard.grafana.panels import by_name
from draftboard.settings import Settings
from draftboard.signals import Signal

SERIES = "series"
"""Label that bars put a model's name, method and variant into, so that each is a column of its own."""

_WITHOUT_TIME = {"id": "filterFieldsByName", "options": {"exclude": {"pattern": "/^(Time|__name__)$/"}}}


def one_row_a_model(signals: Sequence[Signal], settings: Settings) -> list[dict[str, Any]]:
    """Results that have the same labels on one row; labels first, then a column for each signal, by its title."""
    labels = settings.labels.model_level
    values = {f"Value #{ref}": signal.title for ref, signal in zip(ascii_uppercase, signals, strict=False)}
    order = {name: index for index, name in enumerate([*labels, *values])}
    organize = {"excludeByName": {}, "indexByName": order, "renameByName": values}
    return [_WITHOUT_TIME, {"id": "merge", "options": {}}, {"id": "organize", "options": organize}]


def of_signals(signals: Sequence[Signal], settings: Settings, depth: str) -> list[dict[str, Any]]:
    """Each column as its signal shows values; the model's name leads to its depth dashboard."""
    model = settings.labels.model_name
    url = f"/d/{depth}?${{__url_time_range}}&var-datasource=${{datasource}}&var-{model}=${{__data.fields.{model}}}"
    link = by_name(model, links=[{"title": "How deep are its drafts accepted?", "url": url}])
    return [link, *(_column(signal, settings) for signal in signals)]


def _column(signal: Signal, settings: Settings) -> dict[str, Any]:
    shown = fields.defaults(signal, settings)
    coloured = fields.has_steps(signal, settings) or bool(signal.codes)
    properties = {
        "unit": shown["unit"],
        "mappings": shown["mappings"],
        "thresholds": shown["thresholds"],
        "custom_cellOptions": {"type": "color-text" if coloured else "auto"},
    }
    if "decimals" in shown:
        properties["decimals"] = shown["decimals"]
    return by_name(signal.title, **properties)


def one_column_a_series(label: str) -> list[dict[str, Any]]:
    """A line for each value of `label`, sorted as numbers ("10" after "9"); a column for each model."""
    corner = f"{label}\\{SERIES}"
    matrix = {"columnField": SERIES, "rowField": label, "valueField": "Value"}
    return [
        _converted(label, "number"),
        {"id": "sortBy", "options": {"fields": {}, "sort": [{"field": label}]}},
        {"id": "groupingToMatrix", "options": matrix},
        _converted(corner, "string"),
    ]


def labels_only() -> list[dict[str, Any]]:
    """The labels of the series; their value and time say nothing."""
    return [{"id": "filterFieldsByName", "options": {"exclude": {"pattern": "/^(Time|Value|__name__|alertstate)$/"}}}]


def _converted(field: str, kind: str) -> dict[str, Any]:
    return {
        "id": "convertFieldType",
        "options": {"conversions": [{"destinationType": kind, "targetField": field}], "fields": {}},
    }
