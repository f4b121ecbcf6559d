"""The mixin: what is built with settings that are still open, and the Jsonnet that closes them with its `_config`."""

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache, partial
from typing import Any

from draftboard.build.templating import environment
from draftboard.dashboards import Dashboard, dashboards
from draftboard.durations import Duration
from draftboard.expr.to_jsonnet import Placeholders, span
from draftboard.files import Table
from draftboard.quantity import RATE_WINDOW, SILENCE, Quantity, settings_of, value
from draftboard.rules import alerting_groups, document, recording_groups
from draftboard.settings import Settings
from draftboard.signals import Edition

_ENTRY = "mixin.libsonnet"
_FOLDER = "mixin"
_TABLES = ("rules", "thresholds", "traffic", "dashboards", "links")
"""Those with numbers, durations and links that stand in the files as text."""
_STRUCTURAL = {"rules.query_offset"}
"""Settings in them that add or remove more than text."""
_DERIVED = {
    setting.path: setting.otherwise for setting in (RATE_WINDOW, SILENCE) if isinstance(setting.otherwise, Quantity)
}
"""Settings without a value of their own, and the quantity that gives it."""
_TEXTS = ("selector", "links.grafana", "links.runbooks")
"""Settings that are texts: the template says what stands for each."""


def files(settings: Settings, made_by: str) -> dict[str, Callable[[], str]]:
    """The mixin's files by path; each names its origin, `made_by`."""
    config = dict(_config(settings))
    placeholders = Placeholders(config.keys() - {*_TEXTS})
    links = settings.links.model_copy(update={"grafana": "⟦links.grafana⟧", "runbooks": "⟦links.runbooks⟧"})
    opened = settings.model_copy(update={"selector": "⟦selector⟧", "links": links}).opened(placeholders)
    makers: dict[str, Callable[[], Mapping[str, Any]]] = {
        f"{_FOLDER}/recording.json": lambda: {"//": made_by} | document(recording_groups(opened)),
        f"{_FOLDER}/alerting.json": lambda: {"//": made_by} | document(alerting_groups(opened)),
    }
    pages = dashboards(opened, Edition.RECORDS)
    makers |= {f"{_FOLDER}/dashboards/{uid}.json": partial(_page, page) for uid, page in pages.items()}
    texts = {path: cache(partial(_json, make, opened)) for path, make in makers.items()}

    def entry() -> str:
        for text in texts.values():
            text()  # Whatever is written leaves its placeholder.
        read = placeholders.read | {
            setting.path
            for path, quantity in _DERIVED.items()
            if path in placeholders.read
            for setting in settings_of(quantity)
        }
        return environment.get_template("mixin.libsonnet.j2").render(
            made_by=made_by,
            config=_object({path: text for path, text in config.items() if path in read or path in _TEXTS}),
            others=_others(config),
            values=dict(sorted(placeholders.texts.items())),
            dashboards=[*pages],
        )

    return {_ENTRY: entry, **texts}


def _page(page: Callable[[], Dashboard]) -> dict[str, Any]:
    return page().document


def _json(make: Callable[[], Mapping[str, Any]], opened: Settings) -> str:
    """On lines, so that changes can be merged, without indentation; numbers that are open as placeholders."""
    return (
        json.dumps(
            make(), indent=0, separators=(",", ":"), sort_keys=True, ensure_ascii=False, default=partial(_leaf, opened)
        )
        + "\n"
    )


def _leaf(opened: Settings, quantity: Quantity) -> float | str:
    left_open = opened.left_open.leaf(quantity) if opened.left_open else None
    return left_open or value(quantity, opened)


def _config(settings: Settings) -> Iterator[tuple[str, str]]:
    """The settings that may be open, by path: Jsonnet of the values that they have now."""
    yield "selector", json.dumps(settings.selector)
    for name in _TABLES:
        yield from _values(getattr(settings, name), name)


def _values(table: Table, path: str) -> Iterator[tuple[str, str]]:
    derived = []
    for name, held in table:
        at = f"{path}.{name}"
        if at in _STRUCTURAL:
            continue
        if isinstance(held, Table):
            yield from _values(held, at)
        elif isinstance(held, Duration):
            yield at, json.dumps(str(held))
        elif isinstance(held, (int, float)):
            yield at, json.dumps(int(held) if held == int(held) else held)  # A default of 1 may be read as 1.0.
        elif at in _TEXTS:
            yield at, json.dumps(held)
        elif at in _DERIVED:
            derived.append((at, span(_DERIVED[at])))
    yield from derived


def _others(config: Collection[str]) -> str:
    """Jsonnet of the top names of settings that do not exist; any other name may be another mixin's."""
    return json.dumps(sorted(Settings.model_fields.keys() - {path.partition(".")[0] for path in config}))


def _object(config: Mapping[str, str], depth: int = 1) -> str:
    """Jsonnet of values by their paths, nested."""
    tables: dict[str, dict[str, str]] = {}
    lines = []
    for path, text in config.items():
        name, _, rest = path.partition(".")
        if rest:
            tables.setdefault(name, {})[rest] = text
        else:
            lines.append(f"{name}: {text},")
    lines += [f"{name}: {_object(inner, depth + 1)}," for name, inner in tables.items()]
    return "\n".join(["{", *("  " * (depth + 1) + line for line in lines), "  " * depth + "}"])
