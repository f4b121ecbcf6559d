"""A dashboard as Grafana's import dialog and the Grafana operator take it: they fill in the chosen data source."""

from typing import Any

from draftboard.dashboards.grafana import GRAFANA

_INPUT = "DS_PROMETHEUS"
_REQUIRES = GRAFANA["requires"]


def importable(document: dict[str, Any]) -> dict[str, Any]:
    """The dashboard with its input, and what it needs; later the data source can be changed as in any other."""
    asked = {"name": _INPUT, "label": "Prometheus", "description": "Where vLLM's metrics are.", "type": "datasource"}
    chosen = {"current": {"selected": True, "text": f"${{{_INPUT}}}", "value": f"${{{_INPUT}}}"}}
    variables = [one | (chosen if one["type"] == "datasource" else {}) for one in document["templating"]["list"]]
    return document | {
        "__elements": {},
        "__inputs": [asked | {"pluginId": "prometheus", "pluginName": "Prometheus"}],
        "__requires": _required(document),
        "templating": {"list": variables},
    }


def _required(document: dict[str, Any]) -> list[dict[str, str]]:
    panels = [panel for one in document["panels"] for panel in (one, *one.get("panels", ()))]
    kinds = sorted({panel["type"] for panel in panels} - {"row"})
    return [
        {"type": "grafana", "id": "grafana", "name": "Grafana", "version": _REQUIRES["version"]},
        {"type": "datasource", "id": "prometheus", "name": "Prometheus", "version": "1.0.0"},
        *({"type": "panel", "id": kind, "name": _REQUIRES["panels"][kind], "version": ""} for kind in kinds),
    ]
