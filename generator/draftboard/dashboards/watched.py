"""What a page says where it has no model: no target, no rules; that Prometheus does not answer is an empty panel."""

from typing import Any

from draftboard.dashboards import fields
from draftboard.dashboards.grafana import query
from draftboard.expr import promql
from draftboard.expr.scope import Scope
from draftboard.expr.to_promql import promql_of
from draftboard.signals import events
from draftboard.signals.next_steps import rank
from draftboard.status import Status

NO_ANSWER = "Prometheus does not answer: run draftboard doctor"
WELL, _NO_TARGET, _NO_RULES, NO_TRAFFIC = range(100, 104)
WORDS = {
    WELL: ("nothing to do", Status.GOOD),
    NO_TRAFFIC: ("no traffic", Status.QUIET),
    _NO_TARGET: ("no target is scraped, or none is selected: run draftboard doctor", Status.QUIET),
    _NO_RULES: ("no rules are loaded: run draftboard doctor", Status.ODD),
}
"""What is said of all models; the codes are no values of others."""


REFS = ("no_target", "no_rules")
"""References of the queries that say why no model is known."""


def words() -> dict[str, Any]:
    """Their mapping."""
    said = {
        str(code): {"text": text, "color": fields.IN_STATES[status], "index": code}
        for code, (text, status) in WORDS.items()
    }
    return {"type": "value", "options": said}


def nothing_watched(scope: Scope) -> list[dict[str, Any]]:
    """Queries that have a value where no model is known, by why that is."""
    some, loaded = (promql.aggregate("count", (), promql_of(one, scope)) for one in (rank, events.watchdog))
    no_target = promql.binary(promql.constant(str(_NO_TARGET), loaded), "unless", some)
    no_rules = promql.binary(promql.binary(f"vector({_NO_RULES})", "unless", loaded), "unless", some)
    return [
        query(promql.aggregate("max", (), expr), ref, legend=legend, instant=True)
        for ref, legend, expr in zip(REFS, ("Models", "Rules"), (no_target, no_rules), strict=True)
    ]
