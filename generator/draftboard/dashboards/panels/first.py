"""The first tile of the first page: which model needs somebody first, for how long, and what to do."""

from dataclasses import replace
from typing import Any

from draftboard.dashboards import fields, leads, texts, watched
from draftboard.dashboards.context import Context
from draftboard.dashboards.grafana import GRAFANA, override, query
from draftboard.dashboards.labels import label_replace
from draftboard.dashboards.panels.panel import Built, Queries, kind
from draftboard.dashboards.transformations import NAMES_WITH_BASIS
from draftboard.expr import promql
from draftboard.expr.to_promql import promql_of
from draftboard.signals import Edition, Level, Signal
from draftboard.signals.causes import health_cause
from draftboard.signals.health import WELL, health, health_age, health_since
from draftboard.signals.next_steps import ONLY_GAINS, advice_since, next_gain, next_gain_age, next_step, rank, urgent

TITLE = "To do first"
_SHARE = "share"
"""Label that says how many of a model's engines are down, where some are."""
_ALIKE = "alike"
"""Label that says how many models are as bad."""
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
    since = _NUMBER | {"unit": health_age.unit.grafana, "decimals": health_age.decimals}
    own = {
        "worst": {"links": _link(f"${{__field.labels.{leads.PAGE}}}", "What explains it?", context)},
        # An empty list would leave the panel's own mappings.
        "since": since,
        "faster_since": since,
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
        description="The worst model, of equals the busiest: its health, for how long, why, and what to do first; else "
        "the one of which another K gains most.",
        action="Click it for the page that explains it.",
        fields=look | {"noValue": watched.NO_ANSWER, "mappings": [*look["mappings"], watched.words()]},
        targets=[
            *(query(expr, ref, legend=legend, instant=True) for ref, (expr, legend) in lines.items()),
            *watched.nothing_watched(context.scope(Level.MODEL, instant=True)),
        ],
        options=GRAFANA["tiles"]["options"] | {"text": {"titleSize": 12, "valueSize": 22}},
        size=(width, 5),  # On a phone, too, three tiles are side by side.
        overrides=[override("byFrameRefID", ref, **properties) for ref, properties in own.items() if ref in lines],
        transformations=[NAMES_WITH_BASIS],
    )


def _link(uid: str, question: str, context: Context) -> list[dict[str, Any]]:
    return leads.of_series(uid, question, context.scope(Level.MODEL).labels, context.settings)


def _lines(context: Context) -> dict[str, tuple[str, str]]:
    """Query and legend of each line of the tile, by reference."""
    scope, legend = context.scope(Level.MODEL, instant=True), context.legend(Level.MODEL)
    on_model, ranks = f"on ({', '.join(scope.labels)})", promql_of(rank, scope)
    first = promql.call("bottomk", "1", promql.binary(ranks, "<", promql.number(WELL)))
    worst, best = (promql.binary(first, how, promql.number(ONLY_GAINS)) for how in ("<=", ">"))
    faster = label_replace(promql.constant("103", best), leads.PAGE, context.uids[leads.OF_K[0]], "", "")

    def of(which: str, expr: str) -> str:
        return promql.binary(expr, "and", which, on_model)

    def beside(expr: str, label: str, text: str, otherwise: str = "") -> str:
        """With the text of others in a label, if there are any."""
        both, alone = promql.binary(expr, "*", text, f"{on_model} group_left ({label})"), expr
        return promql.binary(
            both, "or", label_replace(alone, label, otherwise, "", "") if otherwise else alone, f"ignoring ({label})"
        )

    def since(began: Signal, age: str, named: str = "") -> tuple[str, str]:
        """An age with "at least" in a label, where no more is known."""
        least = texts.at_least(promql_of(began, scope), scope, " at least")
        both = promql.binary(age, "*", least, f"{on_model} group_left ({texts.LEAST})")
        return both, f"{named}for{{{{{texts.LEAST}}}}}"

    healths = promql_of(health, scope)
    share = texts.partly_down(replace(scope, every_variant=True), _SHARE, "$1 down, ")
    whose = of(worst, leads.with_page(healths, scope.labels, context.uids))
    whose = promql.binary(whose, "*", _alike(healths), f"on () group_left ({_ALIKE})")
    for_long = beside(of(worst, promql_of(health_age, scope)), _SHARE, share)
    step = beside(of(worst, promql_of(next_step, scope)), texts.WHY, promql_of(health_cause, scope), "next step")
    more: dict[str, tuple[str, str]] = {}
    if context.exists(next_gain):
        whose = promql.first_of(whose, faster)
        gain, age = promql_of(next_gain, scope), of(best, promql_of(next_gain_age, scope))
        gain = promql.binary(gain, "unless", promql_of(urgent, scope), f"ignoring ({', '.join(next_gain.by)})")
        more = {"faster_since": since(advice_since, age), "gain": (of(first, gain), _TRY)}
    some = _one("count", ranks)
    return {
        "worst": (whose, f"{legend}{{{{{_ALIKE}}}}}"),
        "since": since(health_since, for_long, f"{{{{{_SHARE}}}}}"),
        "next": (step, f"{{{{{texts.WHY}}}}}"),
        **more,
        "well": (promql.binary(promql.constant("100", some), "unless", _one("count", first)), "All models"),
    }


def _alike(healths: str) -> str:
    """How many models more than one have the worst health, in a label that is empty where there are none."""
    as_bad = promql.binary(healths, "==", promql.call("scalar", _one("min", healths)))
    count = promql.call("count_values without () ", f'"{_ALIKE}"', promql.binary(_one("count", as_bad), "-", "1"))
    said = label_replace(count, _ALIKE, " (and $1 more)", _ALIKE, "([1-9].*)")
    return label_replace(said, _ALIKE, "", _ALIKE, "0")


def _one(how: str, expr: str) -> str:
    return promql.aggregate(how, (), expr)
