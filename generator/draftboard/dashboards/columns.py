"""Columns of tables: their heads, their widths, and how their cells show values."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from draftboard.dashboards import fields, leads
from draftboard.dashboards.grafana import override
from draftboard.dashboards.labels import label_join, label_replace
from draftboard.dashboards.texts import ALIKE, TEXTS
from draftboard.dashboards.transformations import value_of
from draftboard.expr import promql
from draftboard.expr.scope import Scope
from draftboard.expr.to_promql import promql_of
from draftboard.settings import Settings
from draftboard.signals import Signal, next_steps
from draftboard.signals.drafting import configured_k
from draftboard.signals.health import health
from draftboard.signals.signal import Better, Unit
from draftboard.status import Status

SHOWN = "Model"
"""Label that holds the model's name without its organisation; with a capital, so that Prometheus sorts by it first."""
_NOWHERE = {"viz": True, "legend": False, "tooltip": False}
_LINK = "link"  # Label that holds the values of a dashboard's variables, as they stand in an address.
_JOINED = "joined"  # Label that holds them in a row.
_IN_AN_ADDRESS = "([^&#;%+]*)"
"""A value that stands in an address as it is. A name with another character could choose what its row leads to."""
_DRAFTS = "drafts"  # Label that holds method and variant.
# In pixels: a letter of Grafana's font, the space beside a text, and these of a head, where a capital takes more.
_LETTER, _SPACE, _HEAD_LETTER, _CAPITAL, _HEAD_SPACE = 6.7, 20, 6.4, 3.0, 22
_ARROW = 12  # Of sorting: people sort by labels.
_K, _NUMBER, _AGE, _LABEL = 5, 7, 9, 11  # Letters of a K, a number with its unit, an age (59.0 mins), a label.
# Of labels with longer or shorter values, or with longer heads.
_LETTERS_OF = {"slo": 21, "instance": 18, "engine": 4, "kv_cache_max_concurrency": 28, _DRAFTS: 11}
_LETTERS_OF |= {"dimension": 24, "class": 24}
_MODEL = 120
NARROW = 90
"""Least width of a name, where several columns of words fit a phone."""
_NARROW_STATE = 72  # Of a word of eight letters.


def of_model(expr: str, scope: Scope) -> str:
    """At the level of the scope, with the name of the model as it is shown."""
    return promql.aggregate("max", (*scope.labels, SHOWN), _with_short_name(expr, scope))


def row(
    signal: Signal,
    scope: Scope,
    heads: Iterable[str],
    pages: Mapping[str, str],
    *,
    texts: Collection[Signal],
    only: str = "",
) -> str:
    """A signal with the labels that a row shows and the link to its dashboards, in which an absent label is empty.

    `only` is PromQL of the models or engines that have a row.

    Health also names the page that explains it, by `pages`, their uids; `texts` stand in a label of their own.
    """
    names = scope.settings.labels
    linked = tuple(label for label in names.filters if label in scope.labels)
    address = "&".join(f"var-{label}=${number}" for number, label in enumerate(linked, start=1))
    expr, also = promql_of(signal, scope), [*heads, _LINK]
    if pages and signal is health:
        expr = leads.with_page(expr, scope.labels, pages)
        also.append(leads.PAGE)
    elif signal in texts:
        expr = TEXTS[signal].promql(scope)
        also.append(TEXTS[signal].label)
    if only:
        expr = promql.binary(expr, "and", only, f"on ({', '.join(scope.labels)})")
    expr = _with_short_name(expr, scope)
    if _DRAFTS in also:
        expr = label_join(expr, _DRAFTS, " ", *names.variant_labels[:2])
    values = ";".join([_IN_AN_ADDRESS] * len(linked))
    # Others stand behind "#": they tell rows apart, and Grafana reads nothing there.
    beside = label_replace(label_join(expr, _JOINED, ";", *linked), _LINK, "#$1", _JOINED, "(.*)")
    labelled = label_replace(beside, _LINK, address, _JOINED, values)
    return promql.aggregate("max", also, labelled)


def _with_short_name(expr: str, scope: Scope) -> str:
    return label_replace(expr, SHOWN, "$1", scope.settings.labels.model_name, "(?:.*/)?(.+)")


def row_heads(level: Collection[str], own: Iterable[str], settings: Settings, *, one_model: bool) -> dict[str, str]:
    """Heads of the columns that hold labels, in their order; those of the scope only where the level has them.

    Rows of one model are its variants; elsewhere method and variant stand in one column.
    """
    of = settings.labels
    if one_model:
        return {label: head for label, head in _variants(settings).items() if label in level}
    engine, scope = (
        {label: _titled(label) for label in labels if label in level} for labels in ((of.instance, of.engine), of.scope)
    )
    drafts = {_DRAFTS: "Method"} if of.variant_labels else {}
    return {SHOWN: SHOWN} | engine | drafts | scope | {label: _titled(label) for label in own}


def _variants(settings: Settings) -> dict[str, str]:
    return {settings.labels.spec_method: "Method", settings.labels.variant: "Variant"}


def _titled(label: str) -> str:
    words = label.replace("_", " ")
    return re.sub(r"^(slo|kv)\b", lambda match: match[0].upper(), words[0].upper() + words[1:], flags=re.IGNORECASE)


def engine_heads(signal: Signal, settings: Settings) -> dict[str, str]:
    """Heads of the labels of an engine's series, which has its method but no model."""
    of = settings.labels
    heads = _variants(settings)
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


def worst_first(signals: Mapping[str, Signal], worst: Sequence[Signal], *, best_first: bool = False) -> dict[str, bool]:
    """By which columns rows are sorted, and whether the highest value is on top; `signals` are those of the columns."""
    columns = {signal: value_of(ref) for ref, signal in signals.items()}
    deciding = [signal for signal in worst if signal in columns] or list(columns)[:1]
    return {columns[signal]: _is_worse_above(signal) != best_first for signal in deciding}


def _is_worse_above(signal: Signal) -> bool:
    return signal.unit is not Unit.CODE and signal.better is not Better.HIGHER


def of_labels(
    heads: Mapping[str, str], link: Sequence[dict[str, Any]], pages: Mapping[str, str], least: int = _MODEL
) -> list[dict[str, Any]]:
    """Columns of labels: an absent one is empty, and the model's name has the link; helpers are hidden."""
    helpers = (_LINK, leads.PAGE) if pages else (_LINK,)
    first = next(iter(heads))
    return [
        fields.TEXT_AS_IT_IS,
        override("byName", heads[first], links=link, custom_minWidth=least, custom_wrapText=True),
        *label_widths({label: head for label, head in heads.items() if label != first}),
        *(override("byName", helper, custom_hideFrom=_NOWHERE, custom_hidden=True) for helper in helpers),
    ]


def links(lead: tuple[str, str] | None, name: str) -> list[dict[str, Any]]:
    """A link from a row to a dashboard, by its uid, on what the row is about, which its column `name` says."""
    if lead is None:
        return []
    url = f"/d/{lead[0]}?${{__url_time_range}}&var-datasource=${{datasource}}&${{__data.fields.{_LINK}}}"
    return [{"title": f"{lead[1]} of ${{__data.fields.{name}}}", "url": url}]


def label_widths(heads: Mapping[str, str]) -> list[dict[str, Any]]:
    """Widths of columns that hold labels; a method and a variant may take two lines."""
    return [
        override(
            *("byName", head),
            custom_width=max(_wide(head) + _ARROW, wide_enough(_LETTERS_OF.get(label, _LABEL))),
            custom_wrapText=True if label == _DRAFTS else None,
        )
        for label, head in heads.items()
    ]


def of_signal(
    signal: Signal,
    settings: Settings,
    *,
    filled: bool = False,
    plain: bool = False,
    text: bool = False,
    narrow: bool = False,
    links: Sequence[dict[str, Any]] = (),
) -> dict[str, Any]:
    """A column shows values as its signal does: with the colour as background, or in the text.

    A narrow one of words breaks them on a phone, and elsewhere takes what room is left.
    """
    shown, head = fields.defaults(signal, settings, fields.IN_CELLS), heading(signal, settings)
    coloured = fields.has_steps(signal, settings) and not plain
    if filled:
        shown = fields.defaults(signal, settings, fields.ON_TILES | {Status.GOOD: fields.IN_STATES[Status.GOOD]})
        cell: dict[str, Any] = {"type": "color-background", "mode": "basic"}
    else:
        cell = {"type": "color-text" if coloured else "auto"}
    properties: dict[str, Any] = {key: shown[key] for key in ("unit", "thresholds", "decimals") if key in shown}
    if signal.unit is Unit.RATIO:
        properties.setdefault("decimals", 1)  # Of a small share Grafana would show more digits than are known.
    if text:
        properties["unit"] = "string"  # Grafana would take one number for one with a unit.
    ranges = [ALIKE] if signal.unit is Unit.TIMES and text else []
    properties["mappings"] = [
        *ranges,
        *shown["mappings"],
        *fields.no_sample("text", text=signal.absent or fields.NO_VALUE),
    ]
    if coloured:
        properties["color"] = {"mode": "thresholds"}
    if links:
        properties["links"] = links
    if signal.unit is Unit.CODE:
        properties["custom_align"] = "center" if filled else "left"
    if signal in TEXTS or (narrow and signal.codes):
        properties["custom_wrapText"] = True
    if narrow and signal.codes:
        properties["custom_minWidth"] = TEXTS[signal].narrow if signal in TEXTS else _NARROW_STATE
    else:
        properties["custom_width"] = _width(signal, head)
    return override("byName", head, custom_cellOptions=cell, **properties)


def fields_of(signals: Mapping[str, Signal], shown_as: Collection[Signal]) -> tuple[dict[str, str], list[str]]:
    """The field that a column shows, by reference; and the values beside those that are texts."""
    texts = {ref: TEXTS[signal].label for ref, signal in signals.items() if signal in shown_as}
    helpers = (ref for ref, signal in signals.items() if ref in texts or signal is next_steps.rank)
    return {ref: texts.get(ref, value_of(ref)) for ref in signals}, [value_of(ref) for ref in helpers]


def _width(signal: Signal, head: str) -> int:
    if signal in TEXTS:
        letters = TEXTS[signal].letters
    elif signal is configured_k:
        letters = _K
    else:
        letters = max((len(code.says) for code in signal.codes), default=_AGE if signal.unit is Unit.AGE else _NUMBER)
        letters = max(letters, len(signal.absent))
    return max(_wide(head), wide_enough(letters))


def _wide(head: str) -> int:
    return round(_HEAD_LETTER * len(head) + _CAPITAL * sum(map(str.isupper, head))) + _HEAD_SPACE


def wide_enough(letters: int) -> int:
    """Width of a column for texts of so many letters."""
    return round(_LETTER * letters) + _SPACE
