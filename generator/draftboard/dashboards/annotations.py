"""What is marked on every graph: restarts and changes of configuration, which explain a step in a curve, and alerts.

Grafana marks a moment where a query has a value above 0. Its step grows with the range that is shown, so that "before"
is one step ago: a change is marked once, however far the dashboard is zoomed out.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from draftboard.catalogue import serving
from draftboard.catalogue.probe import named
from draftboard.dashboards.fields import COLOURS
from draftboard.dashboards.grafana import GRAFANA
from draftboard.dashboards.labels import SERIES, label_join
from draftboard.durations import Duration
from draftboard.expr import promql
from draftboard.expr.nodes import Expr, Raw, over_level
from draftboard.expr.scope import Level, Scope
from draftboard.expr.to_promql import promql_of, record_selector
from draftboard.quantity import PACE, span_text
from draftboard.settings import Settings
from draftboard.signals import Edition, Signal
from draftboard.signals.drafting import current_k, runs
from draftboard.signals.events import firing_alerts, k_changed, new_arm, renamed, restarts
from draftboard.signals.presence import REMEMBERED
from draftboard.status import Status

_STEP_AGO = "offset $__interval"
_LOOKS = Duration(300)
"""How often raw series are looked at for what they were: as long as Prometheus takes a sample for the present."""


@dataclass(frozen=True)
class Mark:
    """An annotation: where its query has a value above 0, it says what happened, and to which model."""

    name: str
    expr: str
    text: str
    colour: str
    shown: bool = True  # By default: causes are, effects are not.

    def document(self, settings: Settings) -> dict[str, Any]:
        """Grafana's JSON."""
        # Of a label that a series lacks, Grafana would write the name.
        names = settings.labels
        expr = label_join(self.expr, SERIES, " ", names.model_name, names.spec_method, names.variant)
        pace = span_text(PACE, settings)
        target = {"editorMode": "code", "expr": expr, "interval": pace, "range": True, "refId": "Anno"}
        title = f"{self.text}: {{{{{SERIES}}}}}"
        own = {"enable": self.shown, "iconColor": self.colour, "name": self.name, "titleFormat": title}
        return {**GRAFANA["annotations"]["ours"], **own, "target": target}


def annotations(scope: Scope) -> list[dict[str, Any]]:
    """Grafana's own annotations and ours."""
    return [GRAFANA["annotations"]["grafana"], *(mark.document(scope.settings) for mark in _marks(scope))]


def _marks(scope: Scope) -> Iterable[Mark]:
    purple = COLOURS[Status.ODD]
    yield Mark("Restarts", _restarted(scope), "Restart", "blue")
    if k_changed.exists(scope.settings):
        yield Mark(k_changed.title, _event(k_changed, scope) or _k_changed(scope), "K {{before}} -> {{k}}", purple)
    for label, changed in renamed.items():
        if changed.exists(scope.settings):
            text = f"{named(label)} {{{{before}}}} -> {{{{{label}}}}}"
            expr = _event(changed, scope) or _renamed(label, scope)
            yield Mark(changed.title, expr, text[0].upper() + text[1:], purple)
    if new_arm.exists(scope.settings):
        yield Mark(new_arm.title, _event(new_arm, scope) or _new_arm(scope), "New method or variant", purple)
    alerts, orange = promql_of(firing_alerts, scope), COLOURS[Status.DUE]
    yield Mark(firing_alerts.title, alerts, "{{alertname}} ({{severity}})", orange, shown=False)


def _restarted(scope: Scope) -> str:
    if scope.edition is Edition.RAW:
        counter = Raw(serving.GENERATION_TOKENS)
        return promql.aggregate(
            "group", scope.labels, promql.binary(promql_of(counter, scope), "<", _before(counter, scope))
        )
    # The record counts for as long as the rules remember a server.
    return promql.binary(promql_of(restarts, scope), ">", f"{promql_of(restarts, scope)} {_STEP_AGO}")


def _event(signal: Signal, scope: Scope) -> str:
    """What the rules recorded once, at the step in which it happened; empty where there is no record to read."""
    record = record_selector(signal, scope, "$__interval")
    return promql.call("last_over_time", record) if record else ""


def _k_changed(scope: Scope) -> str:
    """Of raw series: where the greatest K differs from what it was, both as labels."""
    number = over_level("max", current_k.at(Level.ENGINE))
    now, before = promql_of(number, scope), _before(number, scope)
    changed = promql.aggregate("count_values", scope.labels, '"k"', promql.binary(now, "!=", before))
    was = promql.aggregate("count_values", scope.labels, '"before"', before)
    return promql.binary(changed, "*", was, f"on ({', '.join(scope.labels)}) group_left (before)")


def _renamed(label: str, scope: Scope) -> str:
    """Where what engines run has another name than any that was known last, with the former one as a label."""
    known, labels = runs.without(label, ""), (*scope.labels, label)
    now = promql.aggregate("group", labels, promql_of(known, scope))
    was = promql.aggregate("group", labels, _before(known, scope))
    one = promql.aggregate("topk", scope.labels, "1", was)
    before = promql.call("label_replace", one, '"before"', '"$1"', f'"{label}"', '"(.*)"')
    matching = f"on ({', '.join(scope.labels)}) group_left (before)"
    return promql.binary(promql.binary(now, "unless", was), "*", before, matching)


def _new_arm(scope: Scope) -> str:
    """A way to draft that a model did not have before, while it was served in another way."""
    service = ", ".join(Level.SERVICE.labels(scope.settings))
    served = over_level("group", Raw(serving.GENERATION_TOKENS))
    before = _before(served, scope)
    new = promql.binary(promql_of(served, scope), "unless", before)
    return promql.aggregate("group", scope.labels, promql.binary(new, "and", before, f"on ({service})"))


def _before(what: Expr, scope: Scope) -> str:
    """What was known last, a step ago: a server that restarts is silent in between."""
    span, pace = (span_text(one, scope.settings) for one in (REMEMBERED, _LOOKS))
    past = promql.subquery(promql_of(what, scope), span, pace, "0s")
    return promql.call("last_over_time", f"{past} {_STEP_AGO}")
