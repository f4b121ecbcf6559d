"""The first tiles of the first page: which model needs somebody first, for how long, why, and what to do."""

from collections.abc import Collection
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
from draftboard.signals.health import HEALTH, WELL, health, health_age, health_since
from draftboard.signals.next_steps import ONLY_GAINS, next_gain, next_step, rank, urgent
from draftboard.signals.traffic import generation_tokens
from draftboard.status import Status

TITLE, NEXT = "To do first", "Why, and what next"
_SHARE = "share"
"""Label that says how many of a model's engines are down, where some are."""
_ALIKE = "alike"
"""Label that says how many models are as bad."""
_TRY = "K {{k}} -> {{next_k}}, expected gain in speed"
_NUMBER: dict[str, Any] = {
    "mappings": fields.no_sample("transparent"),
    "color": {"mode": "fixed", "fixedColor": "transparent"},
}
_SINCE = "since_"


_WHO = ("worst", *(f"{_SINCE}{unit}" for unit in texts.UNITS), "well")
_NEXT = ("next", "gain", "open")
_OF_WHO, _OF_NEXT = (health, health_age, rank), (health_cause, next_step, next_gain)


@kind
def needs_first(context: Context, *, width: int) -> Built:
    """The worst model by name: its health, for how long, why, what next, and where to look; or that all are well."""
    return _of_the_worst(context, (*_WHO, *_NEXT), (*_OF_WHO, *_OF_NEXT), title=TITLE, size=(width, 5))


@kind
def who_first(context: Context, *, width: int) -> Built:
    """Of these tiles the first ones, which a phone shows above the others: it has no room for all side by side."""
    return _of_the_worst(
        context, _WHO, _OF_WHO, "A click opens the page that explains it.", title=TITLE, size=(width, 5)
    )


@kind
def next_first(context: Context, *, width: int) -> Built:
    """Of these tiles why, what next, and where to look."""
    return _of_the_worst(context, _NEXT, _OF_NEXT, title=NEXT, size=(width, 5))


def _of_the_worst(
    context: Context,
    refs: Collection[str],
    shows: tuple[Signal, ...],
    action: str = "The blue tile opens the page that explains it.",
    **rest: Any,  # noqa: ANN401  (those of `Queries.panel`)
) -> Built:
    """Some of the tiles on the worst model; the first ones say why no model is known."""
    if context.edition is Edition.RAW:
        return Built(None, needs_rules=(health.title, next_step.title))
    settings = context.settings
    lines = {ref: line for ref, line in _lines(context).items() if ref in refs}
    look = fields.by_threshold(health, settings, fields.IN_STATES)
    link = _link(f"${{__field.labels.{leads.PAGE}}}", context)
    else_why = watched.nothing_watched(context.scope(Level.MODEL, instant=True)) if "well" in refs else []
    nothing = _NUMBER | {"noValue": fields.NO_VALUE}
    if else_why:
        unknown = [{"color": fields.COLOURS[Status.ODD], "value": None}]
        nothing = {"noValue": watched.NO_ANSWER, "thresholds": {"mode": "absolute", "steps": unknown}}
    own = {
        # Not of the whole panel: ages would read as codes.
        "worst": {"links": link, "mappings": look.pop("mappings")},
        **{
            f"{_SINCE}{unit}": _NUMBER | {"unit": f"suffix:{unit}", "decimals": int(parts > 1)}
            for unit, (_, parts, _) in texts.UNITS.items()
        },
        "next": {"mappings": fields.mappings(next_step, settings, fields.PLAIN)},
        "gain": _NUMBER
        | {"unit": next_gain.unit.grafana, "decimals": next_gain.decimals}
        | {"links": _link(context.uids[leads.OF_K], context)},
        **{ref: {"mappings": [watched.words()]} for ref in ("well", *watched.REFS)},
        "open": {"links": link, "mappings": [leads.words()], "color": {"mode": "fixed", "fixedColor": fields.BUTTON}},
    }
    return Queries(context, (), ()).panel(
        "stat",
        least=0,
        shows=tuple(filter(context.exists, shows)),
        description="The worst model, of equals the busiest: its health, for how long, why, and what to do first; else "
        "the one of which another K gains most.",
        action=action,
        # Where nothing is to do, the second panel is empty, and looks like no button.
        fields=look | nothing,
        targets=[*(query(expr, ref, legend=legend, instant=True) for ref, (expr, legend) in lines.items()), *else_why],
        options=GRAFANA["tiles"]["options"] | {"text": {"titleSize": 12, "valueSize": 18}},
        overrides=[
            override("byFrameRefID", ref, **properties)
            for ref, properties in own.items()
            if ref in lines or (else_why and ref in watched.REFS)
        ],
        transformations=[NAMES_WITH_BASIS],
        **rest,
    )


def _link(uid: str, context: Context) -> list[dict[str, Any]]:
    return leads.of_series(uid, leads.OF_ITS_PAGE, context.scope(Level.MODEL).labels, context.settings)


def _lines(context: Context) -> dict[str, tuple[str, str]]:
    """Query and legend of each tile, by reference."""
    scope, legend = context.scope(Level.MODEL, instant=True), context.legend(Level.MODEL)
    on_model, ranks = f"on ({', '.join(scope.labels)})", promql_of(rank, scope)
    first = promql.call("bottomk", "1", promql.binary(ranks, "<", promql.number(WELL)))
    worst = promql.binary(first, "<=", promql.number(ONLY_GAINS))
    healths, some = promql_of(health, scope), _one("count", ranks)

    def of(which: str, expr: str) -> str:
        return promql.binary(expr, "and", which, on_model)

    def with_text(expr: str, label: str, text: str, otherwise: str = "") -> str:
        """With the text of each model in a label, or what it says of all others."""
        others = label_replace(promql.constant("1", healths), label, otherwise, "", "")
        every = promql.first_of(text, others, matching=on_model)
        return promql.binary(expr, "*", every, f"{on_model} group_left ({label})")

    whose = of(first, leads.with_page(healths, scope.labels, context.uids))
    named = promql.binary(whose, "*", _alike(healths), f"on () group_left ({_ALIKE})")
    least = texts.at_least(promql_of(health_since, scope), scope, " at least")
    age, from_ = of(first, promql_of(health_age, scope)), 0
    since: dict[str, tuple[str, str]] = {}
    for unit, (_, _, end) in texts.UNITS.items():
        shown = texts.in_unit(age, unit, from_)
        both = promql.binary(shown, "*", least, f"{on_model} group_left ({texts.LEAST})")
        since[f"{_SINCE}{unit}"] = (both, f"for{{{{{texts.LEAST}}}}}")
        from_ = end or 0
    some_down = promql.binary(healths, "==", str(HEALTH["servers down"].value))
    share = texts.partly_down(replace(scope, every_variant=True), some_down, _SHARE, "$1 down: ")
    step = with_text(of(worst, promql_of(next_step, scope)), texts.WHY, promql_of(health_cause, scope), "next step")
    step = with_text(step, _SHARE, share)
    more: dict[str, tuple[str, str]] = {}
    if context.exists(next_gain):
        gain = promql_of(next_gain, scope)
        gain = promql.binary(gain, "unless", promql_of(urgent, scope), f"ignoring ({', '.join(next_gain.by)})")
        more = {"gain": (of(first, gain), _TRY)}
    busy = promql.binary(_one("max", promql_of(generation_tokens, scope)), ">", "0")
    no_traffic = promql.binary(promql.constant(str(watched.NO_TRAFFIC), some), "unless", busy)
    well = promql.first_of(no_traffic, promql.constant(str(watched.WELL), some))
    return {
        "worst": (named, f"{legend}{{{{{_ALIKE}}}}}"),
        **since,
        "next": (step, f"{{{{{_SHARE}}}}}{{{{{texts.WHY}}}}}"),
        **more,
        "open": (whose, "open \N{RIGHTWARDS ARROW}"),
        "well": (promql.binary(well, "unless", _one("count", first)), "All models"),
    }


def _alike(healths: str) -> str:
    """How many models more than one have the worst health, in a label that is empty where there are none."""
    bad = promql.binary(healths, "<", promql.number(WELL))
    as_bad = promql.binary(bad, "==", promql.call("scalar", _one("min", healths)))
    more = promql.first_of(promql.binary(_one("count", as_bad), "-", "1"), "vector(0)")
    count = promql.call("count_values without () ", f'"{_ALIKE}"', more)
    said = label_replace(count, _ALIKE, " (and $1 more)", _ALIKE, "([1-9].*)")
    return label_replace(said, _ALIKE, "", _ALIKE, "0")


def _one(how: str, expr: str) -> str:
    return promql.aggregate(how, (), expr)
