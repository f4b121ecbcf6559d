"""Tables and bars: how query results become rows and columns."""

from collections.abc import Mapping, Sequence
from string import ascii_uppercase
from typing import Any

from draftboard.grafana import fields
from draftboard.grafana.panels import by_name
from draftboard.settings import Settings
from draftboard.signals import Signal

SERIES = "series"
"""Label that bars put a model's name, method and variant into, so that each is a column of its own."""

# A record's name differs from column to column, and rows with different names would not be merged. The time stays until
# then: it is what results have in common, those without a sample too.
_WITHOUT_NAME = {"id": "filterFieldsByName", "options": {"exclude": {"pattern": "/^__name__$/"}}}


def one_row_a_model(signals: Sequence[Signal], settings: Settings) -> list[dict[str, Any]]:
    """Results that have the same labels on one row; labels first, then a column for each signal, by its title."""
    labels = settings.labels.model_level
    values = {f"Value #{ref}": heading(signal) for ref, signal in zip(ascii_uppercase, signals, strict=False)}
    own = dict.fromkeys(label for signal in signals for label in signal.by)
    order = {name: index for index, name in enumerate([*labels, *own, *values])}
    organize = {"excludeByName": {"Time": True}, "indexByName": order, "renameByName": values}
    return [_WITHOUT_NAME, {"id": "merge", "options": {}}, {"id": "organize", "options": organize}]


def of_signals(signals: Sequence[Signal], settings: Settings, depth: str) -> list[dict[str, Any]]:
    """Each column as its signal shows values; the model's name leads to its depth dashboard."""
    model = settings.labels.model_name
    chosen = "&".join(f"var-{label}=${{__data.fields.{label}}}" for label in (settings.labels.job, model))
    url = f"/d/{depth}?${{__url_time_range}}&var-datasource=${{datasource}}&{chosen}"
    link = by_name(model, links=[{"title": "How deep are its drafts accepted?", "url": url}])
    return [link, *(_column(signal, settings) for signal in signals)]


def heading(signal: Signal) -> str:
    """A column's heading: rates say of what, for Grafana shows only the number."""
    return f"{signal.title} ({signal.unit.words})" if signal.unit.words.endswith("/s") else signal.title


def _column(signal: Signal, settings: Settings) -> dict[str, Any]:
    shown = fields.defaults(signal, settings)
    coloured = fields.has_steps(signal, settings) or bool(signal.codes)
    properties = {
        "unit": shown["unit"],
        "mappings": shown["mappings"],
        "thresholds": shown["thresholds"],
        "noValue": "-",
        "custom_cellOptions": {"type": "color-text" if coloured else "auto"},
    }
    if "decimals" in shown:
        properties["decimals"] = shown["decimals"]
    return by_name(heading(signal), **properties)


def one_column_a_series(label: str) -> list[dict[str, Any]]:
    """A line for each value of `label`, sorted as numbers ("10" after "9"); a column for each model."""
    corner = f"{label}\\{SERIES}"
    # Models differ in K: where one has no such number, its bar is absent, not 0.
    matrix = {"columnField": SERIES, "emptyValue": "null", "rowField": label, "valueField": "Value"}
    return [
        _converted(label, "number"),
        {"id": "sortBy", "options": {"fields": {}, "sort": [{"field": label}]}},
        {"id": "groupingToMatrix", "options": matrix},
        _converted(corner, "string"),
    ]


def one_frame_a_series(signals: Mapping[str, Signal]) -> list[dict[str, Any]]:
    """A frame for each model, with one line a moment and one number a signal."""
    kept = {"id": "filterFieldsByName", "options": {"include": {"pattern": f"/^(Time|{SERIES}|Value #[A-Z])$/"}}}
    values = {f"Value #{ref}": signal.title for ref, signal in signals.items()}
    order = {name: index for index, name in enumerate(["Time", SERIES, *values])}
    organize = {"excludeByName": {}, "indexByName": order, "renameByName": values}
    split = {"fields": [SERIES], "keepFields": False, "naming": {"asLabels": True}}
    return [
        kept,
        {"id": "merge", "options": {}},
        {"id": "organize", "options": organize},
        {"id": "partitionByValues", "options": split},
    ]


def labels_only(signal: Signal, settings: Settings) -> list[dict[str, Any]]:
    """The labels of the series, first those that tell of whom; their value and time say nothing."""
    order = {name: index for index, name in enumerate(signal.levels[-1].labels(settings))}
    return [
        {"id": "filterFieldsByName", "options": {"exclude": {"pattern": "/^(Time|Value|__name__|alertstate)$/"}}},
        {"id": "organize", "options": {"excludeByName": {}, "indexByName": order, "renameByName": {}}},
    ]


def _converted(field: str, kind: str) -> dict[str, Any]:
    return {
        "id": "convertFieldType",
        "options": {"conversions": [{"destinationType": kind, "targetField": field}], "fields": {}},
    }
