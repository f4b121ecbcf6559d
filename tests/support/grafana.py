"""Dashboards as Grafana reads them: panels, their queries, and the values of variables."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

Json = dict[str, Any]
IMPORTS = "dashboards/grafana-com/"


def dashboards(files: Mapping[str, str]) -> dict[str, Json]:
    """By path, without the copies for the import dialog."""
    return {path: json.loads(files[path]) for path in files if path.startswith("dashboards/") and IMPORTS not in path}


def imports(files: Mapping[str, str]) -> dict[str, Json]:
    """The copies for Grafana's import dialog, by path."""
    return {path: json.loads(files[path]) for path in files if path.startswith(IMPORTS)}


def imported(document: Json, uid: str) -> Json:
    """As Grafana's server does: each input by its name in every string; what the dialog alone reads is left out."""
    inputs = {f"${{{one['name']}}}": uid for one in document["__inputs"]}

    def filled(value: Any) -> Any:
        match value:
            case str():
                return re.sub(r"\$\{.+?\}", lambda found: inputs.get(found[0], found[0]), value)
            case list():
                return [filled(one) for one in value]
            case dict():
                return {key: filled(one) for key, one in value.items() if not key.startswith("__")}
        return value

    return dict(filled(document))


def panels(dashboard: Json) -> Iterator[Json]:
    """All panels that query, including those in collapsed rows."""
    return (panel for _, panel in _in_rows(dashboard) if panel["type"] != "text")


def notes(dashboard: Json) -> Iterator[tuple[str, str]]:
    """What is written on a dashboard, with the title of its row."""
    return ((row, panel["options"]["content"]) for row, panel in _in_rows(dashboard) if panel["type"] == "text")


def rows(dashboard: Json) -> dict[str, list[Json]]:
    """Panels that query, by the title of their row."""
    found: dict[str, list[Json]] = {}
    for row, panel in _in_rows(dashboard):
        found.setdefault(row, []).extend([panel] if panel["type"] != "text" else [])
    return found


def _in_rows(dashboard: Json) -> Iterator[tuple[str, Json]]:
    """Each panel with the title of its row; the panels of an open row follow it."""
    row = ""
    for panel in dashboard["panels"]:
        if panel["type"] == "row":
            row = panel["title"]
            yield from ((row, inner) for inner in panel["panels"])
        else:
            yield row, panel


def queries(dashboard: Json) -> Iterator[tuple[str, str]]:
    """Every expression of a dashboard, of panels and annotations, with its place."""
    for panel in panels(dashboard):
        for target in panel["targets"]:
            yield f"{panel['title']} {target['refId']}", target["expr"]
    for annotation in dashboard["annotations"]["list"]:
        if "target" in annotation:
            yield f"annotation {annotation['name']}", annotation["target"]["expr"]


def substituted(
    expr: str, dashboard: Json, rate_interval: str, chosen: Mapping[str, str] | None = None, *, interval: str = "1m"
) -> str:
    """The expression that Grafana sends, with every variable at its default unless another value is chosen."""
    values = {"__rate_interval": rate_interval, "__interval": interval}
    for variable in dashboard["templating"]["list"]:
        current = variable["current"].get("value")
        values[variable["name"]] = variable.get("allValue", current) if current in (None, ["$__all"]) else current
    values |= chosen or {}
    return re.sub(r"\$(?:(\w+)|\{(\w+)\})", lambda found: values.get(found[1] or found[2], found[0]), expr)
