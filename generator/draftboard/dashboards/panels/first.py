"""The first tile of the first page: which model needs somebody first, for how long, and what to do."""

from dataclasses import replace
from typing import Any

from draftboard.dashboards import fields, leads, texts, watched
from draftboard.dashboards.context import Context
from draftboard.dashboards.grafana import GRAFANA, override, query
from draftboard.dashboards.labels import label_replace
from draftboard.dashboards.panels.panel import Built, Queries, kind
from draftboard.dashboards.transformations import SHORT_NAMES
from draftboard.expr import promql
from draftboard.expr.to_promql import promql_of
from draftboard.signals import Edition, Level
from draftboard.signals.causes import health_cause
from draftboard.signals.health import WELL, health, health_age
from draftboard.signals.next_steps import ONLY_GAINS, next_gain, next_gain_age, next_step, rank, urgent

TITLE = "Needs somebody first"
_SHARE = "share"
"""Label that says how many of a model's engines are down, where some are."""
_TRY = "K {{k}} -> {{next_k}}, expected gain"
_NUMBER: dict[str, Any] = {
    "mappings": fields.no_sample("transparent"),
    "color": {"mode": "fixed", "fixedColor": "transparent"},
}


@kind
def needs_first(context: Context, *, width: int) -> Built:
    """The worst model by name: its health, for how long, why, and what next; or what gains most; or nothing to do."""
    if context.edition is Edition.RAW:
        return Built(None, needs_rules=(health.title, next_step.title))
    settings, lines = context.settings, _lines(context)
    look = fields.by_threshold(health, settings, fields.IN_STATES)
    own = {
        "worst": {"links": _link(f"${{__field.labels.{leads.PAGE}}}", "What explains it?", context)},
        # An empty list would leave the panel's own mappings.
        "since": _NUMBER | {"unit": health_age.unit.grafana, "decimals": health_age.decimals},
        "next": {"mappings": fields.mappings(next_step, settings, fields.PLAIN)},
        "gain": _NUMBER
        | {"unit": next_gain.unit.grafana, "decimals": next_gain.decimals}
        | {"links": _link(context.uids[leads.OF_K[0]], leads.OF_K[1], context)},
    }
    return Queries(context, (), ()).panel(
        "stat",
        least=0,
        shows=tuple(
            filter(context.exists, (health, health_age, health_cause, next_step, next_gain, next_gain_age, rank))
        ),
        title=TITLE,
        description="The worst model, of equals the busiest: its health, for how long, why, and what to do first.",
        action="Click it for the page that explains it.",
        fields=look | {"noValue": watched.NO_ANSWER, "mappings": [*look["mappings"], watched.words()]},
        targets=[
            *(query(expr, ref, legend=legend, instant=True) for ref, (expr, legend) in lines.items()),
            *watched.nothing_watched(context.scope(Level.MODEL, instant=True)),
        ],
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
    on_model, ranks = f"on ({', '.join(scope.labels)})", promql_of(rank, scope)
    first = promql.call("bottomk", "1", promql.binary(ranks, "<", promql.number(WELL)))
    worst, best = (promql.binary(first, how, promql.number(ONLY_GAINS)) for how in ("<=", ">"))
    gains = context.exists(next_gain)
    faster = label_replace(promql.constant("103", best), leads.PAGE, context.uids[leads.OF_K[0]], "", "")

    def of(which: str, expr: str) -> str:
        return promql.binary(expr, "and", which, on_model)

    def beside(expr: str, label: str, text: str, otherwise: str = "") -> str:
        """With the text of others in a label, if there are any."""
        both, alone = promql.binary(expr, "*", text, f"{on_model} group_left ({label})"), expr
        return promql.binary(
            both, "or", label_replace(alone, label, otherwise, "", "") if otherwise else alone, f"ignoring ({label})"
        )

    share = texts.partly_down(replace(scope, every_variant=True), _SHARE, "$1 down, ")
    whose = of(worst, leads.with_page(promql_of(health, scope), scope.labels, context.uids))
    age = beside(of(worst, promql_of(health_age, scope)), _SHARE, share)
    step = beside(of(worst, promql_of(next_step, scope)), texts.WHY, promql_of(health_cause, scope), "next step")
    more: dict[str, tuple[str, str]] = {}
    if gains:
        whose = promql.first_of(whose, faster)
        gain, since = promql_of(next_gain, scope), of(best, promql_of(next_gain_age, scope))
        gain = promql.binary(gain, "unless", promql_of(urgent, scope), f"ignoring ({', '.join(next_gain.by)})")
        age = promql.binary(age, "or", since, f"ignoring ({_SHARE})")
        more = {"gain": (of(first, gain), _TRY)}
    some = _one("count", ranks)
    return {
        "worst": (whose, legend),
        "since": (age, f"{{{{{_SHARE}}}}}for"),
        "next": (step, f"{{{{{texts.WHY}}}}}"),
        **more,
        "well": (promql.binary(promql.constant("100", some), "unless", _one("count", first)), "All models"),
    }


def _one(how: str, expr: str) -> str:
    return promql.aggregate(how, (), expr)
