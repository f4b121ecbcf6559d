"""A stand-in of the API of Mimir's ruler, with the limits that a tenant has by default; it evaluates nothing.

Limits and answers are those that Cortex 1.21.1 gave with Mimir's defaults set (docs/operate/scale.md).
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from typing import Any

import promql_parser

from draftboard.durations import Duration
from support.loopback import answering, page
from support.rulefiles import loaded

RULES, GROUPS, LABELS, VALUE = 20, 70, 30, 2_048
"""`-ruler.max-rules-per-rule-group`, `-ruler.max-rule-groups-per-tenant`, `-validation.max-label-names-per-series`,
`-validation.max-length-label-value`."""
_CONFIG, _LIST = "/prometheus/config/v1/rules/", "/prometheus/api/v1/rules"
EVALUATED = "2026-11-24T12:00:00.123456789Z"


class RefusedError(Exception):
    """With the status and the words of the answer."""


@dataclass
class RulerApi:
    """What tenants have loaded: groups by namespace and name."""

    tenants: dict[str, dict[tuple[str, str], dict[str, Any]]]

    def __call__(self, request: BaseHTTPRequestHandler) -> None:
        """Answer a request."""
        body = request.rfile.read(int(request.headers.get("Content-Length", 0)))
        try:
            page(self._answer(request, body), 202 if request.command == "POST" else 200, Content_Type=_JSON)(request)
        except RefusedError as refused:
            status, words = refused.args
            page(json.dumps({"status": "error", "error": words}), status, Content_Type=_JSON)(request)

    def _answer(self, request: BaseHTTPRequestHandler, body: bytes) -> str:
        if not (tenant := request.headers.get("X-Scope-OrgID")):
            raise RefusedError(401, "no org id")
        groups = self.tenants.setdefault(tenant, {})
        if request.command == "POST" and request.path.startswith(_CONFIG):
            group = loaded(body.decode())
            _check(group)
            key = request.path.removeprefix(_CONFIG), group["name"]
            if key not in groups and len(groups) == GROUPS:
                raise RefusedError(400, f"per-user rule groups limit (limit: {GROUPS} actual: {GROUPS + 1}) exceeded")
            groups[key] = group
            return "{}"
        if request.path == _LIST:
            return json.dumps({"status": "success", "data": {"groups": [*map(_listed, groups.values())]}})
        raise RefusedError(404, "not found")


_JSON = "application/json"


def _check(group: dict[str, Any]) -> None:
    if len(group["rules"]) > RULES:
        amount = f"(limit: {RULES} actual: {len(group['rules'])})"
        raise RefusedError(400, f"per-user rules per rule group limit {amount} exceeded")
    for rule in group["rules"]:
        try:
            promql_parser.parse(rule["expr"])
        except ValueError as error:
            raise RefusedError(400, f"could not parse expression: {error}") from None
        labels = rule.get("labels", {})
        if len(labels) > LABELS or any(len(value) > VALUE for value in labels.values()):
            raise RefusedError(400, "labels exceed the limit")


def _listed(group: dict[str, Any]) -> dict[str, Any]:
    """As the API of Prometheus lists it: what the server does not know is gone."""
    return {
        "name": group["name"],
        "interval": 240 if group["interval"] == "4m" else 60,
        "lastEvaluation": EVALUATED,
        "rules": [
            {
                "type": "alerting" if "alert" in rule else "recording",
                "name": rule.get("record") or rule["alert"],
                "query": rule["expr"],
                "duration": _seconds(rule.get("for", "0s")),
                "lastEvaluation": EVALUATED,
                "health": "ok",
            }
            for rule in group["rules"]
        ],
    }


def _seconds(text: str) -> int:
    return Duration.parse(text).seconds


@contextmanager
def ruler() -> Iterator[str]:
    """The address of a stand-in, with its prefix."""
    with answering(RulerApi({})) as place:
        yield f"http://{place}/prometheus"
