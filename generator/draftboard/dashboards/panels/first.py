"""The first tile of the first page: which model needs somebody first, for how long, and what to do."""

from dataclasses import replace
from typing import Any

from draftboard.dashboards import fields, leads, texts
from draftboard.dashboards.context import Context
from draftboard.dashboards.grafana import GRAFANA, override, query
from draftboard.dashboards.labels import label_replace
from draftboard.dashboards.lines import by_health
from draftboard.dashboards.panels.panel import Built, Queries, kind
from draftboard.dashboards.transformations import SHORT_NAMES
from draftboard.expr import promql
from draftboard.expr.to_promql import promql_of
from draftboard.signals import Edition, Level, events
from draftboard.signals.health import WELL, health, health_age
from draftboard.signals.next_steps import next_gain, next_step, urgent
from draftboard.status import Status

TITLE = "Needs somebody first"
OTHERS = {
    100: ("nothing to do", Status.GOOD),
    103: ("could be faster", Status.NEUTRAL),
    101: ("no target is scraped, or none is selected", Status.QUIET),
    102: ("no rules are loaded: run draftboard doctor", Status.ODD),
}
"""What is said where no model needs somebody."""
_SHARE = "share"
"""Label that says how many of a model's engines are down, where some are."""
_TRY = "K {{k}} -> {{next_k}}, expected gain"
_NUMBER: dict[str, Any] = {
    "mappings": fields.no_sample("transparent"),
    "color": {"mode": "fixed", "fixedColor": "transparent"},
}


@kind
def needs_first(context: Context, *, width: int) -> Built:
    """The worst model by name: its health, for how long, and the next step; or what gains most; or nothing to do."""
    if context.edition is Edition.RAW:
        return Built(None, needs_rules=(health.title, next_step.title))
    settings, lines = context.settings, _lines(context)
    look = fields.by_threshold(health, settings, fields.IN_STATES)
    said: dict[str, Any] = {
        str(code): {"text": text, "color": fields.IN_STATES[status], "index": code}
        for code, (text, status) in OTHERS.items()
    }
    mappings = [*look["mappings"], {"type": "value", "options": said}]
    own = {
        "worst": {"links": _link(f"${{__field.labels.{leads.PAGE}}}", "What explains it?", context)},
        # An empty list would leave the panel's own mappings.
        "since": _NUMBER | {"unit": health_age.unit.grafana, "decimals": 0},
        "next": {"mappings": fields.mappings(next_step, settings, fields.PLAIN)},
        "gain": _NUMBER
        | {"unit": next_gain.unit.grafana, "decimals": next_gain.decimals}
        | {"links": _link(context.uids[leads.OF_K[0]], leads.OF_K[1], context)},
    }
    return Queries(context, (), ()).panel(
        "stat",
        least=0,
        shows=tuple(filter(context.exists, (health, health_age, next_step, next_gain))),
        title=TITLE,
        description="The worst model, of equals the busiest: its health, for how long, and what to do first.",
        action="Click it for the page that explains it.",
        fields=look | {"noValue": "Prometheus does not answer", "mappings": mappings},
        targets=[query(expr, ref, legend=legend, instant=True) for ref, (expr, legend) in lines.items()],
        options=GRAFANA["tiles"]["options"] | {"text": {"titleSize": 12, "valueSize": 22}},
        size=(width, 5),  # On a phone, too, three tiles are side by side.
        overrides=[override("byFrameRefID", ref, **properties) for ref, properties in own.items() if ref in lines],
        transformations=[SHORT_NAMES],
    )


def _link(uid: str, question: str, context: Context) -> list[dict[str, Any]]:
    return leads.of_series(uid, question, context.scope(Level.MODEL).labels, context.settings)


def _lines(context: Context) -> dict[str, tuple[str, str]]:
    """Query and legend of each line of the tile, by reference."""
    scope, legend = context.scope(Level.MODEL, instant=True), context.legend(Level.MODEL)
    shown, every = promql_of(health, scope), replace(scope, every_variant=True)
    on_model = f"on ({', '.join(scope.labels)})"
    worst = promql.call("bottomk", "1", promql.binary(by_health(scope), "<=", promql.number(WELL)))

    def of_worst(expr: str) -> str:
        return promql.binary(expr, "and", worst, on_model)

    any_model, loaded = _one("count", shown), _one("count", promql_of(events.watchdog, scope))
    needing = _one("count", promql.binary(shown, "<", promql.number(WELL)))
    age, share = promql_of(health_age, scope), texts.partly_down(every, _SHARE, "$1 down, ")
    partly = promql.binary(age, "*", share, f"{on_model} group_left ({_SHARE})")
    worst_of_all, well = of_worst(leads.with_page(shown, scope.labels, context.uids)), promql.constant("100", any_model)
    gains: dict[str, tuple[str, str]] = {}
    if context.exists(next_gain):
        gain = promql_of(next_gain, scope)
        best = promql.binary(promql.call("topk", "1", gain), "unless", needing, "on ()")
        faster = label_replace(promql.constant("103", best), leads.PAGE, context.uids[leads.OF_K[0]], "", "")
        of_next = of_worst(promql.binary(gain, "unless", promql_of(urgent, scope), "ignoring (k, next_k)"))
        worst_of_all = promql.first_of(worst_of_all, faster)
        well = promql.binary(well, "unless", _one("count", gain))
        gains = {"gain": (promql.first_of(of_next, best), _TRY)}
    no_target = promql.binary(promql.constant("101", loaded), "unless", any_model)
    no_rules = promql.binary(promql.binary("vector(102)", "unless", loaded), "unless", any_model)
    return {
        "worst": (worst_of_all, legend),
        "since": (of_worst(promql.binary(partly, "or", age, f"ignoring ({_SHARE})")), f"{{{{{_SHARE}}}}}for"),
        "next": (of_worst(promql_of(next_step, scope)), "next step"),
        **gains,
        "well": (_one("max", promql.binary(well, "unless", needing)), "All models"),
        "no_target": (_one("max", no_target), "Models"),
        "no_rules": (_one("max", no_rules), "Rules"),
    }


def _one(how: str, expr: str) -> str:
    return promql.aggregate(how, (), expr)
