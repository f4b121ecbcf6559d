"""Columns of tables, and transformations: how query results become rows of tables, bar charts and scatter plots."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from draftboard.dashboards import fields
from draftboard.dashboards.grafana import override
from draftboard.dashboards.labels import SERIES, SHORT_NAME, label_join, label_replace
from draftboard.expr import promql
from draftboard.expr.scope import Scope
from draftboard.settings import Settings
from draftboard.signals import Signal
from draftboard.signals.signal import Better, Unit

SHORT_NAMES: dict[str, Any] = {
    "id": "renameByRegex",
    "options": {"regex": f"^{SHORT_NAME[0]}$", "renamePattern": SHORT_NAME[1]},
}
SHOWN = "Model"
"""Label that holds the model's name without its organisation; with a capital, so that Prometheus sorts by it first."""
_LINK = "link"  # Label that holds the values of a dashboard's variables, as they stand in an address.
_MERGE: dict[str, Any] = {"id": "merge", "options": {}}
# In pixels: a letter of Grafana's font, the space beside a text, and that of a head with the arrow of sorting.
_LETTER, _SPACE, _HEAD_LETTER, _HEAD_SPACE = 6.7, 20, 6.6, 32
_NUMBER, _AGE, _LABEL = 7, 10, 11  # Letters of a usual number with its unit, of an age such as 59 minutes, of a label.
# Of labels with longer or shorter values, or with longer heads.
_LETTERS_OF = {"slo": 21, "instance": 18, "engine": 4, "kv_cache_max_concurrency": 28}
_MODEL, _MODEL_OF_ENGINE, _GAUGE = 230, 166, 136  # Beside the names of its engine there is less room.
_MOST_TIMES = 4.0  # End of a gauge of speedups; the number stands beside it.


def of_model(expr: str, scope: Scope) -> str:
    """At the level of the scope, with the name of the model as it is shown."""
    return promql.aggregate("max", (*scope.labels, SHOWN), _with_short_name(expr, scope))


def row(signal: Signal, scope: Scope, own: Iterable[str]) -> str:
    """A signal with the labels that a row shows and the link to its dashboards, in which an absent label is empty."""
    linked = tuple(label for label in scope.settings.labels.filters if label in scope.labels)
    address = "&".join(f"var-{label}=${number}" for number, label in enumerate(linked, start=1))
    joined = label_join(_with_short_name(scope(signal), scope), _LINK, ";", *linked)
    labelled = label_replace(joined, _LINK, address, _LINK, ";".join(["(.*)"] * len(linked)))
    return promql.aggregate("max", (*row_heads(scope.labels, own, scope.settings), _LINK), labelled)


def _with_short_name(expr: str, scope: Scope) -> str:
    return label_replace(expr, SHOWN, "$1", scope.settings.labels.model_name, "(?:.*/)?(.+)")


def row_heads(level: Collection[str], own: Iterable[str], settings: Settings) -> dict[str, str]:
    """Heads of the columns that hold labels, in their order; those of the scope are there only where it is used."""
    of = settings.labels
    heads = {label: _titled(label) for label in (of.instance, of.engine)}
    heads |= {of.variant: "Variant", of.spec_method: "Method", **{label: _titled(label) for label in of.scope}}
    of_level = {label: head for label, head in heads.items() if label in level}
    return {SHOWN: SHOWN} | of_level | {label: _titled(label) for label in own}


def _titled(label: str) -> str:
    words = label.replace("_", " ")
    return re.sub(r"^(slo|kv)\b", lambda found: found[0].upper(), words[0].upper() + words[1:], flags=re.IGNORECASE)


def engine_heads(signal: Signal, settings: Settings) -> dict[str, str]:
    """Heads of the labels of an engine's series, which has its method but no model."""
    of = settings.labels
    heads = {of.spec_method: "Method", of.variant: "Variant"}
    own = {label: _titled(label) for label in signal.by}
    # Where the signal names a method, too, the label keeps its name.
    of_level = {label: head for label, head in heads.items() if head not in own.values()}
    shown = (*of.target, of.engine, of.spec_method, of.variant)
    return {label: of_level.get(label, _titled(label)) for label in shown} | own


def heading(signal: Signal, settings: Settings) -> str:
    """Head of a signal's column; of a rate with its unit, because Grafana shows the number alone."""
    words = signal.unit.words
    if signal.unit is Unit.MONEY:
        return f"{settings.cost.currency}/h saved"
    return signal.short or (f"{signal.title} ({words})" if words.endswith("/s") else signal.title)


def one_row_each(
    signals: Mapping[str, Signal],
    heads: Mapping[str, str],
    settings: Settings,
    worst: Sequence[Signal],
    first: Sequence[str] = (),
    *,
    best_first: bool = False,
) -> list[dict[str, Any]]:
    """Results with the same labels on one row, the worst or the best on top; labels, then a column a signal.

    Unless other columns are to be the first, by their names before they have heads.
    """
    refs = {signal: f"Value #{ref}" for ref, signal in signals.items()}
    titles = {ref: heading(signal, settings) for signal, ref in refs.items()}
    deciding = [one for one in worst if one in refs] or list(refs)[:1]
    # Sorting is stable: what decides among equals comes first.
    sorts = [_sorted(refs[one], descending=_is_worse_above(one) != best_first) for one in reversed(deciding)]
    # The time stays until all are merged: results without a sample share nothing else with the others.
    return [
        _MERGE,
        *sorts,
        _organized([*dict.fromkeys((*first, *heads, *titles))], rename={**heads, **titles}, exclude=("Time",)),
    ]


def _is_worse_above(signal: Signal) -> bool:
    return signal.unit is not Unit.CODE and signal.better is not Better.HIGHER


def _sorted(field: str, *, descending: bool) -> dict[str, Any]:
    return {"id": "sortBy", "options": {"fields": {}, "sort": [{"field": field, "desc": descending}]}}


def of_labels(heads: Mapping[str, str], dashboard: str, settings: Settings) -> list[dict[str, Any]]:
    """Columns of labels: an absent one is empty, and the model's name links to a dashboard on it."""
    link = links_to(dashboard, "How deep are its drafts accepted?")
    least = _MODEL_OF_ENGINE if settings.labels.instance in heads else _MODEL
    hidden = {"viz": True, "legend": False, "tooltip": False}
    return [
        fields.TEXT_AS_IT_IS,
        override("byName", heads[SHOWN], links=link, custom_minWidth=least, custom_wrapText=True),
        *label_widths({label: head for label, head in heads.items() if label != SHOWN}),
        override("byName", _LINK, custom_hideFrom=hidden),
    ]


def links_to(dashboard: str, question: str) -> list[dict[str, Any]]:
    """A link from a row to a dashboard on what the row is about."""
    url = f"/d/{dashboard}?${{__url_time_range}}&var-datasource=${{datasource}}&${{__data.fields.{_LINK}}}"
    return [{"title": question, "url": url}]


def label_widths(heads: Mapping[str, str]) -> list[dict[str, Any]]:
    """Widths of columns that hold labels."""
    return [
        override("byName", head, custom_width=max(_wide(head), wide_enough(_LETTERS_OF.get(label, _LABEL))))
        for label, head in heads.items()
    ]


def of_signal(
    signal: Signal,
    settings: Settings,
    *,
    gauge: bool = False,
    filled: bool = False,
    links: Sequence[dict[str, Any]] = (),
) -> dict[str, Any]:
    """A column shows values as its signal does: with the colour as background, as a gauge, or in the text."""
    shown, head = fields.defaults(signal, settings, fields.IN_CELLS), heading(signal, settings)
    if filled:
        shown = fields.defaults(signal, settings, fields.ON_TILES)
        cell: dict[str, Any] = {"type": "color-background", "mode": "basic"}
    elif gauge:
        shown = fields.defaults(signal, settings) | {"max": _MOST_TIMES}
        cell = {"type": "gauge", "mode": "basic", "valueDisplayMode": "text"}
    else:
        cell = {"type": "color-text" if fields.has_steps(signal, settings) else "auto"}
    bounds = ("min", "max") if gauge else ()
    properties = {key: shown[key] for key in ("unit", "thresholds", "decimals", *bounds) if key in shown}
    properties["mappings"] = [*shown["mappings"], *fields.no_sample("text")]
    if gauge or fields.has_steps(signal, settings):
        properties["color"] = {"mode": "thresholds"}
    if links:
        properties["links"] = links
    if signal.unit is Unit.CODE:
        properties["custom_align"] = "center" if filled else "left"
    letters = max((len(code.says) for code in signal.codes), default=_AGE if signal.unit is Unit.AGE else _NUMBER)
    width = _GAUGE if gauge else max(_wide(head), wide_enough(letters))
    return override("byName", head, custom_cellOptions=cell, custom_width=width, **properties)


def _wide(head: str) -> int:
    return round(_HEAD_LETTER * len(head)) + _HEAD_SPACE


def wide_enough(letters: int) -> int:
    """Width of a column for texts of so many letters."""
    return round(_LETTER * letters) + _SPACE


def one_column_a_series(label: str) -> list[dict[str, Any]]:
    """A line for each value of `label`, sorted as numbers ("10" after "9"); a column for each model, sorted by name."""
    # Models differ in K: a number that a model does not have is no bar, rather than a bar of height 0.
    matrix = {"columnField": SERIES, "emptyValue": "null", "rowField": label, "valueField": "Value"}
    return [
        _converted(label, "number"),
        *(_sorted(by, descending=False) for by in (SERIES, label)),
        {"id": "groupingToMatrix", "options": matrix},
        _converted(f"{label}\\{SERIES}", "string"),
    ]


def one_frame_a_series(titles: Mapping[str, str]) -> list[dict[str, Any]]:
    """A frame for each model: one line a moment, one number for each query, by its title."""
    kept = {"id": "filterFieldsByName", "options": {"include": {"pattern": f"/^(Time|{SERIES}|Value #[A-Z])$/"}}}
    values = {f"Value #{ref}": title for ref, title in titles.items()}
    split = {"fields": [SERIES], "keepFields": False, "naming": {"asLabels": True}}
    organized = _organized(["Time", SERIES, *values], rename=values)
    return [kept, _MERGE, organized, {"id": "partitionByValues", "options": split}]


def labels_only(heads: Mapping[str, str], settings: Settings) -> list[dict[str, Any]]:
    """The labels of series, in the order of their servers; value and time carry no information."""
    organized = _organized(list(heads), rename=heads, exclude=("Time", "Value", settings.labels.spec_verification))
    return [_sorted(settings.labels.instance, descending=False), organized]


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
