"""What is marked on every graph: alerts that fired, and restarts."""

from typing import Any

from draftboard.grafana.colours import COLOURS
from draftboard.grafana.panels import DATASOURCE
from draftboard.signals import Scope, Signal
from draftboard.signals.events import firing_alerts, restarts
from draftboard.status import Status


def all_of(scope: Scope) -> list[dict[str, Any]]:
    """Grafana's own annotations, then ours."""
    model = scope.settings.labels.model_name
    return [
        _builtin(),
        _query(firing_alerts, scope(firing_alerts), f"{{{{alertname}}}} {{{{{model}}}}}", Status.WARN),
        _query(restarts, _fresh_restarts(scope), f"restart {{{{{model}}}}}", Status.NEUTRAL),
    ]


def _fresh_restarts(scope: Scope) -> str:
    """Restarts are counted for as long as a server is remembered; marked is the moment when there is one more."""
    moment = scope.settings.rules.evaluation_interval
    return scope(restarts.combined(">", restarts.ago(lambda _: moment)))


def _query(signal: Signal, expr: str, text: str, status: Status) -> dict[str, Any]:
    colour = "blue" if status is Status.NEUTRAL else COLOURS[status]
    return {
        "datasource": DATASOURCE,
        "enable": True,
        "expr": str(expr),
        "hide": False,
        "iconColor": colour,
        "name": signal.title,
        "titleFormat": text,
    }


def _builtin() -> dict[str, Any]:
    return {
        "builtIn": 1,
        "datasource": {"type": "grafana", "uid": "-- Grafana --"},
        "enable": True,
        "hide": True,
        "iconColor": "rgba(0, 211, 255, 1)",
        "name": "Annotations & Alerts",
        "type": "dashboard",
    }
