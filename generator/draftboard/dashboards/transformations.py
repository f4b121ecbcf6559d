"""Grafana's transformations: how query results become rows of tables, bar charts and scatter plots."""

from collections.abc import Mapping, Sequence
from typing import Any

from draftboard.dashboards.labels import SERIES, SHORT_NAME


def renamed(pattern: str, to: str) -> dict[str, Any]:
    """Names of series by a regular expression."""
    return {"id": "renameByRegex", "options": {"regex": pattern, "renamePattern": to}}


NAMES_WITH_BASIS = renamed(r"^(?:[^ ]*/)?(.*?)(?: +vllm)?( \([a-z0-9 ]+\))? *$", "$1$2")
"""Of models; what stands in parentheses behind the name stays."""
SHORT_NAMES = renamed(f"^{SHORT_NAME[0]}$", SHORT_NAME[1])
NAME_LAST = renamed(r"^(?:vllm )?(.*?) *(?:[^ ]*/)?([^ ]*)$", "$1 $2")
"""Of models, behind what is mostly equal."""
JOINED: dict[str, Any] = {"id": "joinByField", "options": {"byField": "Time", "mode": "outer"}}
"""Series of one moment become one frame: a column each, in the order of the answer."""
_MERGE: dict[str, Any] = {"id": "merge", "options": {}}


def value_of(ref: str) -> str:
    """The field with the values of a query, in a table of several."""
    return f"Value #{ref}"


def rows(titles: Mapping[str, str], sort: dict[str, bool], hidden: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Results with the same labels on one row, and the columns that have titles, in their order; some are left out.

    Rows are sorted by columns, of which the first decides; a column is True where its highest value is on top.
    """
    # Sorting is stable: what decides among equals comes first.
    sorts = [_sorted(column, descending=descending) for column, descending in reversed(sort.items())]
    # The time stays until all are merged: results without a sample share nothing else with the others.
    return [_MERGE, *sorts, _organized(list(titles), rename=titles, exclude=("Time", *hidden))]


def matrix(label: str, *, rank: str) -> list[dict[str, Any]]:
    """A line for each value of `label`, sorted as numbers ("10" after "9"); a column for each model, ordered as graphs.

    The names of the lines come last: Grafana counts them as a series, and colours would differ from those of graphs.
    """
    # Models differ in K: a number that a model does not have is no bar, rather than a bar of height 0.
    options = {"columnField": SERIES, "emptyValue": "null", "rowField": label, "valueField": "Value"}
    first = f"{label}\\{SERIES}"
    copied = {"left": first, "operator": "*", "right": "1"}
    return [
        _converted(label, "number"),
        *(_sorted(by, descending=False) for by in (SERIES, rank, label)),
        {"id": "groupingToMatrix", "options": options},
        _converted(first, "number"),
        {"id": "calculateField", "options": {"mode": "binary", "binary": copied, "alias": label}},
        _converted(label, "string"),
        _organized([], rename={}, exclude=(first,)),
    ]


def frames(titles: Mapping[str, str]) -> list[dict[str, Any]]:
    """A frame for each model: one line a moment, one number for each query, by its title."""
    values = {value_of(ref): title for ref, title in titles.items()}
    kept = {"id": "filterFieldsByName", "options": {"include": {"pattern": f"/^(Time|{SERIES}|Value #\\w+)$/"}}}
    split = {"fields": [SERIES], "keepFields": False, "naming": {"asLabels": True}}
    organized = _organized(["Time", SERIES, *values], rename=values)
    return [kept, _MERGE, organized, {"id": "partitionByValues", "options": split}]


def labels(titles: Mapping[str, str], *, sort: str, hidden: str) -> list[dict[str, Any]]:
    """The labels of series, sorted by one of them; value and time carry no information."""
    return [_sorted(sort, descending=False), _organized(list(titles), rename=titles, exclude=("Time", "Value", hidden))]


def _sorted(field: str, *, descending: bool) -> dict[str, Any]:
    return {"id": "sortBy", "options": {"fields": {}, "sort": [{"field": field, "desc": descending}]}}


def _organized(order: Sequence[str], rename: Mapping[str, str], exclude: Sequence[str] = ()) -> dict[str, Any]:
    options = {
        "excludeByName": dict.fromkeys(exclude, True),
        "indexByName": {name: index for index, name in enumerate(order)},
        "renameByName": rename,
    }
    return {"id": "organize", "options": options}


def _converted(field: str, kind: str) -> dict[str, Any]:
    conversion = {"destinationType": kind, "targetField": field}
    return {"id": "convertFieldType", "options": {"conversions": [conversion], "fields": {}}}
