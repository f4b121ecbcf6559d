"""Transformations: how query results become the rows and columns of tables, bar charts and scatter plots."""

from collections.abc import Mapping, Sequence
from typing import Any

from draftboard.dashboards import fields
from draftboard.dashboards.panels import override
from draftboard.settings import Settings
from draftboard.signals import Signal

SERIES = "series"  # Label that holds model name, method and variant together, so that each combination is one column.
SHORT_NAME = ("(?:[^ ]*/)?(.*?)(?: +vllm)? *", "$1")
"""Of names from a model to its job: without the model's organisation or path, and without the job's usual name, which
take a legend's room."""
SHORT_NAMES: dict[str, Any] = {
    "id": "renameByRegex",
    "options": {"regex": f"^{SHORT_NAME[0]}$", "renamePattern": SHORT_NAME[1]},
}
_MERGE: dict[str, Any] = {"id": "merge", "options": {}}


def one_row_a_model(signals: Mapping[str, Signal], settings: Settings) -> list[dict[str, Any]]:
    """Results with the same labels on one row; labels first, then a column for each signal, by its title."""
    values = {f"Value #{ref}": _heading(signal) for ref, signal in signals.items()}
    own = dict.fromkeys(label for signal in signals.values() for label in signal.by)
    order = [*settings.labels.model_level, *own, *values]
    # A record's name differs from column to column, and rows with different names would not be merged. The time stays
    # until then: results without a sample share nothing else with the others.
    return [_excluding("__name__"), _MERGE, _organized(order, rename=values, exclude=("Time",))]


def of_signals(signals: Sequence[Signal], settings: Settings, depth: str) -> list[dict[str, Any]]:
    """Each column shows values as its signal does; the model's name links to its depth dashboard."""
    model = settings.labels.model_name
    # A column for a scope is there only where a series has the label.
    chosen = "&".join(
        [f"${{{label}:queryparam}}" for label in settings.labels.scope]
        + [f"var-{label}=${{__data.fields.{label}}}" for label in (settings.labels.job, model)]
    )
    url = f"/d/{depth}?${{__url_time_range}}&var-datasource=${{datasource}}&{chosen}"
    link = override("byName", model, links=[{"title": "How deep are its drafts accepted?", "url": url}])
    return [link, *(_column(signal, settings) for signal in signals)]


def _heading(signal: Signal) -> str:
    """Title of a column; of a rate with its unit, because Grafana shows the number alone."""
    return f"{signal.title} ({signal.unit.words})" if signal.unit.words.endswith("/s") else signal.title


def _column(signal: Signal, settings: Settings) -> dict[str, Any]:
    shown = fields.defaults(signal, settings)
    coloured = fields.has_steps(signal, settings) or bool(signal.codes)
    properties = {key: shown[key] for key in ("unit", "mappings", "thresholds")}
    properties |= {"noValue": "-", "custom_cellOptions": {"type": "color-text" if coloured else "auto"}}
    properties |= {key: shown[key] for key in ("decimals",) if key in shown}
    return override("byName", _heading(signal), **properties)


def one_column_a_series(label: str) -> list[dict[str, Any]]:
    """A line for each value of `label`, sorted as numbers ("10" after "9"); a column for each model, sorted by name."""
    # Models differ in K: a number that a model does not have is no bar, rather than a bar of height 0.
    matrix = {"columnField": SERIES, "emptyValue": "null", "rowField": label, "valueField": "Value"}
    return [
        _converted(label, "number"),
        *({"id": "sortBy", "options": {"fields": {}, "sort": [{"field": by}]}} for by in (SERIES, label)),
        {"id": "groupingToMatrix", "options": matrix},
        _converted(f"{label}\\{SERIES}", "string"),
    ]


def one_frame_a_series(signals: Mapping[str, Signal]) -> list[dict[str, Any]]:
    """A frame for each model: one line a moment, one number a signal."""
    kept = {"id": "filterFieldsByName", "options": {"include": {"pattern": f"/^(Time|{SERIES}|Value #[A-Z])$/"}}}
    values = {f"Value #{ref}": signal.title for ref, signal in signals.items()}
    split = {"fields": [SERIES], "keepFields": False, "naming": {"asLabels": True}}
    organized = _organized(["Time", SERIES, *values], rename=values)
    return [kept, _MERGE, organized, {"id": "partitionByValues", "options": split}]


def labels_only(signal: Signal, settings: Settings) -> list[dict[str, Any]]:
    """The labels of the series, first those of its level; value and time carry no information."""
    order = signal.levels[-1].labels(settings)
    return [_excluding("Time", "Value", "__name__", "alertstate"), _organized(order)]


def _excluding(*names: str) -> dict[str, Any]:
    pattern = names[0] if len(names) == 1 else f"({'|'.join(names)})"
    return {"id": "filterFieldsByName", "options": {"exclude": {"pattern": f"/^{pattern}$/"}}}


def _organized(order: Sequence[str], rename: Mapping[str, str] | None = None, exclude: Sequence[str] = ()) -> Any:  # noqa: ANN401
    options = {
        "excludeByName": dict.fromkeys(exclude, True),
        "indexByName": {name: index for index, name in enumerate(order)},
        "renameByName": rename or {},
    }
    return {"id": "organize", "options": options}


def _converted(field: str, kind: str) -> dict[str, Any]:
    conversion = {"destinationType": kind, "targetField": field}
    return {"id": "convertFieldType", "options": {"conversions": [conversion], "fields": {}}}
