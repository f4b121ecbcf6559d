"""From grafanalib's objects to clean JSON of Grafana's current classic schema.

grafanalib can only add keys; what it adds from older Grafanas is taken away here, by lists of what the schema knows.
"""

import json
from typing import Any

from grafanalib import core
from grafanalib._gen import DashboardEncoder

SCHEMA_VERSION = 42
_DASHBOARD_KEYS = frozenset(
    {"annotations", "description", "editable", "fiscalYearStartMonth", "graphTooltip", "links", "liveNow", "panels"}
    | {"preload", "refresh", "schemaVersion", "tags", "templating", "time", "timezone", "title", "uid"}
    | {"weekStart"},
)
_PANEL_KEYS = frozenset(
    {"datasource", "description", "fieldConfig", "gridPos", "id", "interval", "links", "maxDataPoints", "options"}
    | {"targets", "title", "transformations", "transparent", "type"},
)
_ROW_KEYS = frozenset({"collapsed", "gridPos", "id", "panels", "title", "type"})


def finish(dashboard: core.Dashboard) -> dict[str, Any]:
    """The dashboard with unique panel ids, without legacy keys and without nulls that mean nothing."""
    raw = json.loads(json.dumps(dashboard.auto_panel_ids().to_json_data(), cls=DashboardEncoder))
    clean: dict[str, Any] = _without_nulls({key: value for key, value in raw.items() if key in _DASHBOARD_KEYS})
    clean["panels"] = [_panel(panel) for panel in clean["panels"]]
    return clean


def _panel(panel: dict[str, Any]) -> dict[str, Any]:
    known = _ROW_KEYS if panel["type"] == "row" else _PANEL_KEYS
    clean = {key: value for key, value in panel.items() if key in known}
    if panel["type"] == "row":
        clean["panels"] = [_panel(inner) for inner in panel["panels"]]
    return clean


def _without_nulls(value: Any, parent: str = "") -> Any:  # noqa: ANN401  (any JSON value)
    """Drop nulls, but for the bounds of the lowest threshold and of open ranges: there null says "no bound"."""
    match value:
        case dict():
            bounds = {"steps": {"value"}, "options": {"from", "to"}}.get(parent, set())
            return {
                key: _without_nulls(inner, key) for key, inner in value.items() if inner is not None or key in bounds
            }
        case list():
            return [_without_nulls(inner, parent) for inner in value]
        case _:
            return value
