"""The mixin: what is built with settings that are still open, and the Jsonnet that closes them with its `_config`."""

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache, partial
from typing import Any

from draftboard.build.templating import environment
from draftboard.dashboards import Dashboard, dashboards
from draftboard.durations import Duration
from draftboard.files import Table
from draftboard.rules import alerting_groups, document, recording_groups
from draftboard.settings import Settings
from draftboard.signals import Edition
from draftboard.traced import PLACEHOLDER, SPAN, Traced, TracedDuration

_ENTRY = "mixin.libsonnet"
_FOLDER = "mixin"
_TABLES = ("rules", "thresholds", "traffic", "dashboards", "links")
"""Those with numbers, durations and links that stand in the files as text."""
_STRUCTURAL = {"query_offset"}
"""Names of settings in them that add or remove more than text."""
_DERIVED = {"window": "rate_window", "down_after": "silence"}
"""Settings without a value of their own, and the property that gives it."""
_TEXTS = ("selector", "links.grafana", "links.runbooks")
"""Settings that are texts: the template says what stands for each."""


def files(settings: Settings, made_by: str) -> dict[str, Callable[[], str]]:
    """The mixin's files by path; each names its origin, `made_by`."""
    opened, config = _opened(settings)
    made: dict[str, Callable[[], Mapping[str, Any]]] = {
        f"{_FOLDER}/recording.json": lambda: {"//": made_by} | document(recording_groups(opened)),
        f"{_FOLDER}/alerting.json": lambda: {"//": made_by} | document(alerting_groups(opened)),
    }
    pages = dashboards(opened, Edition.RECORDS)
    made |= {f"{_FOLDER}/dashboards/{uid}.json": partial(_page, page) for uid, page in pages.items()}
    texts = {path: cache(partial(_json, make)) for path, make in made.items()}

    def entry() -> str:
        found = {inside.lstrip("=") for text in texts.values() for inside in PLACEHOLDER.findall(text())} - {*_TEXTS}
        values = {source: _value(source) for source in sorted(found)}
        read = _read_in(values, config)
        kept = {path: text for path, text in config.items() if path in _TEXTS or path in read}
        return environment.get_template("mixin.libsonnet.j2").render(
            made_by=made_by, config=_object(kept), others=_others(kept), values=values, dashboards=[*pages]
        )

    return {_ENTRY: entry, **texts}


def _page(page: Callable[[], Dashboard]) -> dict[str, Any]:
    return page().document


def _json(make: Callable[[], Mapping[str, Any]]) -> str:
    """On lines, so that changes can be merged, without indentation."""
    document = _marked(make())
    return json.dumps(document, indent=0, separators=(",", ":"), sort_keys=True, ensure_ascii=False) + "\n"


def _marked(value: Any) -> Any:  # noqa: ANN401  (any JSON value)
    """Traced numbers as placeholders that begin with =."""
    if isinstance(value, dict):
        return {key: _marked(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_marked(inner) for inner in value]
    return f"⟦={value.source}⟧" if isinstance(value, Traced) else value


def _value(source: str) -> str:
    """The Jsonnet of the text that stands for a placeholder."""
    return f"span({source.removeprefix(SPAN)})" if source.startswith(SPAN) else f"number({source})"


def _read_in(sources: Collection[str], config: Mapping[str, str]) -> set[str]:
    """Paths of the settings that expressions read, and those that these are derived from."""
    read = {path for path in config if any(re.search(rf"\b{re.escape(path)}\b", source) for source in sources)}
    return read | {other for path in read for other in config if other in config[path]}


def _opened(settings: Settings) -> tuple[Settings, dict[str, str]]:
    """The settings with open values, and by path the Jsonnet of the values that they have now."""
    config: dict[str, str] = {"selector": json.dumps(settings.selector)}
    update: dict[str, Any] = {"selector": "⟦selector⟧"}
    for name in _TABLES:
        table: Table = getattr(settings, name)
        opened = table.model_copy(update=dict(_values(table, name, config)))
        update[name] = opened.model_copy(update=dict(_derived(opened, name, config)))
    return settings.model_copy(update=update), config


def _values(table: Table, path: str, config: dict[str, str]) -> Iterator[tuple[str, Any]]:
    for name, value in table:
        at = f"{path}.{name}"
        if name in _STRUCTURAL:
            continue
        if isinstance(value, Table):
            yield name, value.model_copy(update=dict(_values(value, at, config)))
        elif isinstance(value, Duration):
            config[at] = json.dumps(str(value))
            yield name, TracedDuration.of(Traced(value.seconds, at))
        elif isinstance(value, (int, float)):
            config[at] = json.dumps(int(value) if value == int(value) else value)  # A default of 1 may be read as 1.0.
            yield name, Traced(value, at)
        elif at in _TEXTS:
            config[at] = json.dumps(value)
            yield name, f"⟦{at}⟧"


def _derived(table: Table, path: str, config: dict[str, str]) -> Iterator[tuple[str, Any]]:
    for name, source in _DERIVED.items():
        if getattr(table, name, 0) is None:
            at, derived = f"{path}.{name}", getattr(table, source)
            config[at] = _value(*PLACEHOLDER.findall(str(derived)))
            yield name, TracedDuration.of(Traced(float(derived.seconds), at))


def _others(config: Collection[str]) -> str:
    """Jsonnet of the top names of settings that are not there; any other name may be another mixin's."""
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
