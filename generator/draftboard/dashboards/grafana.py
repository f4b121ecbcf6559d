"""Grafana's JSON: panels on grafanalib's base class, their queries and overrides, and dashboards without legacy keys.

grafanalib is imported here alone. Its dashboards, rows, links and base panel are used; its panel, query and variable
classes are not: they lack options of current Grafana (`noValue`, `range`, `definition`), write keys that Grafana
dropped years ago, and take whole numbers alone for axis limits and mapped ranges.
"""

from collections.abc import Sequence
from importlib import resources
from typing import Any, TypeAlias

import attr
import yaml
from grafanalib import core

SCHEMA_VERSION = 42
_INPUT = "DS_PROMETHEUS"
GRID_WIDTH = 24
DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
GRAFANA: dict[str, Any] = yaml.safe_load((resources.files("draftboard.dashboards") / "grafana.yaml").read_text())
"""Grafana's options that are the same on every dashboard."""
# grafanalib can only add keys. What the current schema does not know, or is not set, is removed by this list.
PALETTE, OLD_PALETTE = "palette-colorblind", "palette-classic"
"""Colours of lines: for colour-blind people and without red, since Grafana 13; and before."""
_KEYS = {kind: frozenset(keys) for kind, keys in GRAFANA["keys"].items()}
# grafanalib is untyped, and so are its panels.
GrafanaPanel: TypeAlias = Any


@attr.s(kw_only=True)
class ModernPanel(core.Panel):  # type: ignore[misc]  # grafanalib is untyped
    """Any modern panel."""

    type: str = attr.ib()
    options: dict[str, Any] = attr.ib()
    fields: dict[str, Any] = attr.ib(factory=dict)
    overrides: Sequence[dict[str, Any]] = attr.ib(default=())
    size: tuple[int, int] = attr.ib()  # Width and height, in grid units.

    def to_json_data(self) -> dict[str, Any]:
        """The panel as Grafana's JSON, with some of grafanalib's legacy keys."""
        panel: dict[str, Any] = self.panel_json({"type": self.type, "options": self.options})
        return panel | {"fieldConfig": {"defaults": self.fields, "overrides": self.overrides}}


def placed(panel: GrafanaPanel, *, left: int, top: int, width: int, height: int) -> GrafanaPanel:
    """The panel at a place of the grid."""
    return attr.evolve(panel, gridPos=core.GridPos(h=height, w=width, x=left, y=top))


def row_panel(title: str, top: int, hidden: Sequence[GrafanaPanel], *, collapsed: bool) -> GrafanaPanel:
    """The head of a row; `hidden` are the panels of a collapsed one."""
    return core.RowPanel(
        title=title, collapsed=collapsed, gridPos=core.GridPos(h=1, w=GRID_WIDTH, x=0, y=top), panels=list(hidden)
    )


def query(
    expr: str, ref_id: str = "A", *, legend: str = "", instant: bool = False, form: str = "time_series"
) -> dict[str, Any]:
    """A Prometheus query."""
    shown = {"format": form, "legendFormat": legend, "instant": instant, "range": not instant}
    return {"datasource": DATASOURCE, "editorMode": "code", "expr": str(expr), "refId": ref_id, **shown}


def override(matcher: str, options: str, **properties: Any) -> dict[str, Any]:  # noqa: ANN401  (any JSON value)
    """An override of field properties; `custom.x` is written `custom_x`, and None is no property."""
    return {
        "matcher": {"id": matcher, "options": options},
        "properties": [
            {"id": key.replace("custom_", "custom."), "value": value}
            for key, value in properties.items()
            if value is not None
        ],
    }


def dashboard(
    *,
    tags: Sequence[str],
    time_range: str,
    annotations: list[dict[str, Any]],
    variables: list[dict[str, Any]],
    **options: Any,  # noqa: ANN401  (fields of an untyped class)
) -> core.Dashboard:
    """A dashboard with what all have in common; its menu links to those with the same `tags`."""
    links = [core.DashboardLink(title="Draftboard", tags=list(tags), asDropdown=True, includeVars=True, keepTime=True)]
    return core.Dashboard(
        tags=["vllm", "speculative-decoding", *tags],
        schemaVersion=SCHEMA_VERSION,
        editable=False,
        graphTooltip=1,
        timezone="browser",
        time=core.Time(f"now-{time_range}", "now"),
        links=links,
        annotations=core.Annotations(annotations),
        templating=core.Templating(variables),
        **options,
    )


def document(dashboard: core.Dashboard) -> dict[str, Any]:
    """The dashboard as JSON with unique panel ids, without legacy keys and without nulls that mean nothing."""
    built = _plain(dashboard.auto_panel_ids())
    clean: dict[str, Any] = _without_nulls({key: value for key, value in built.items() if key in _KEYS["dashboard"]})
    return clean | {"panels": [_clean(panel) for panel in clean["panels"]]}


def _plain(value: Any) -> Any:  # noqa: ANN401  (of untyped classes)
    """Dicts and lists of values. Quantities of settings that are left open stay as they are."""
    if hasattr(value, "to_json_data"):
        return _plain(value.to_json_data())
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, (list, tuple)) else value


def _clean(panel: dict[str, Any]) -> dict[str, Any]:
    known = _KEYS["row" if panel["type"] == "row" else "panel"]
    clean = {key: value for key, value in panel.items() if key in known and value is not False}
    return clean | {"panels": [_clean(inner) for inner in clean["panels"]]} if "panels" in clean else clean


def _without_nulls(value: Any, parent: str = "") -> Any:  # noqa: ANN401  (any JSON value)
    """Drop nulls, except the bounds of the lowest threshold and of open ranges: there null says "no bound"."""
    if isinstance(value, list):
        return [_without_nulls(inner, parent) for inner in value]
    if not isinstance(value, dict):
        return value
    bounds = {"steps": {"value"}, "options": {"from", "to"}}.get(parent, set())
    return {key: _without_nulls(inner, key) for key, inner in value.items() if inner is not None or key in bounds}


def importable(document: dict[str, Any]) -> dict[str, Any]:
    """The dashboard as Grafana's import dialog and the Grafana operator take it: they fill in the chosen data source.

    Later the data source can be changed as in any other dashboard.
    """
    source = core.DataSourceInput(_INPUT, "Prometheus", "prometheus", "Prometheus", "Where vLLM's metrics are.")
    chosen = {"current": {"selected": True, "text": f"${{{_INPUT}}}", "value": f"${{{_INPUT}}}"}}
    variables = [one | (chosen if one["type"] == "datasource" else {}) for one in document["templating"]["list"]]
    shown: dict[str, Any] = _in_known_colours(document)
    return shown | {
        "editable": True,
        "__elements": {},
        "__inputs": [source.to_json_data()],
        "__requires": _required(document),
        "templating": {"list": variables},
    }


def _in_known_colours(value: Any) -> Any:  # noqa: ANN401  (any JSON value)
    """With a palette that all versions have: before 13 Grafana stops at the other one, and draws no chart."""
    if isinstance(value, dict):
        return {key: _in_known_colours(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_in_known_colours(inner) for inner in value]
    return OLD_PALETTE if value == PALETTE else value


def _required(document: dict[str, Any]) -> list[dict[str, str]]:
    panels = [panel for one in document["panels"] for panel in (one, *one.get("panels", ()))]
    kinds = sorted({panel["type"] for panel in panels} - {"row"})
    return [
        {"type": "grafana", "id": "grafana", "name": "Grafana", "version": GRAFANA["requires"]["version"]},
        {"type": "datasource", "id": "prometheus", "name": "Prometheus", "version": "1.0.0"},
        *({"type": "panel", "id": kind, "name": GRAFANA["requires"]["panels"][kind], "version": ""} for kind in kinds),
    ]
