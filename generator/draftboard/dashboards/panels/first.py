"""The first tile of the first page: which model needs somebody first, for how long, and what to do."""

from typing import Any

from draftboard.dashboards import fields, leads
from draftboard.dashboards.context import Context
from draftboard.dashboards.grafana import GRAFANA, override, query
from draftboard.dashboards.lines import by_health
from draftboard.dashboards.panels.panel import Built, Queries, kind
from draftboard.dashboards.transformations import renamed
from draftboard.expr import promql
from draftboard.expr.to_promql import promql_of
from draftboard.signals import Edition, Level, events
from draftboard.signals.health import WELL, health, health_age
from draftboard.signals.next_steps import next_gain, next_step, urgent
from draftboard.status import Status

TITLE = "Needs somebody first"
OTHERS = {
    100: ("nothing to do", Status.GOOD),
    103: ("nothing is wrong", Status.GOOD),
    101: ("no target is scraped, or none is selected", Status.QUIET),
    102: ("no rules are loaded: run draftboard doctor", Status.ODD),
}
"""What is said where no model needs somebody."""
_TRY = " K {{k}} -> {{next_k}} gains"
_NAMES = renamed("^(?:[^ ]*/)?(.*?)(?: +vllm)?( K .*)? *$", "$1$2")
"""Of models, as everywhere; what follows the name stays."""
_PLAIN = {"mode": "fixed", "fixedColor": "transparent"}
_GAINS = ("gain", "try")


@kind
def needs_first(context: Context, *, width: int) -> Built:
    """The worst model by name: its health, for how long, and the next step; or that there is nothing to do."""
    if context.edition is Edition.RAW:
        return Built(None, needs_rules=(health.title, next_step.title))
    settings, lines = context.settings, _lines(context)
    look = fields.by_threshold(health, settings, fields.IN_STATES)
    labels = context.scope(Level.MODEL).labels
    link = leads.of_series(f"${{__field.labels.{leads.PAGE}}}", "What explains it?", labels, settings)
    said: dict[str, Any] = {
        str(code): {"text": text, "color": fields.IN_STATES[status], "index": code}
        for code, (text, status) in OTHERS.items()
    }
    return Queries(context, (), ()).panel(
        "stat",
        least=0,
        shows=tuple(filter(context.exists, (health, health_age, next_step, next_gain))),
        title=TITLE,
        description="The worst model, of equals the busiest: its health, for how long, and what to do first.",
        action="Click it for the page that explains it.",
        fields=look
        | {"noValue": "Prometheus does not answer", "links": link}
        | {"mappings": [*look["mappings"], {"type": "value", "options": said}]},
        targets=[query(expr, ref, legend=legend, instant=True) for ref, (expr, legend) in lines.items()],
        options=GRAFANA["tiles"]["options"] | {"text": {"titleSize": 12, "valueSize": 22}},
        size=(width, 5),  # On a phone, too, three tiles are side by side.
        overrides=[
            # An empty list would leave the panel's own mappings.
            override(
                *("byFrameRefID", "since"),
                unit=health_age.unit.grafana,
                decimals=0,
                mappings=fields.no_sample("transparent"),
                color=_PLAIN,
            ),
            override("byFrameRefID", "next", mappings=fields.mappings(next_step, settings, fields.PLAIN), links=[]),
            *(
                override(
                    *("byFrameRefID", ref),
                    unit=next_gain.unit.grafana,
                    decimals=next_gain.decimals,
                    mappings=fields.no_sample("transparent"),
                    color=_PLAIN,
                )
                for ref in _GAINS
                if ref in lines
            ),
        ],
        transformations=[_NAMES],
    )


def _lines(context: Context) -> dict[str, tuple[str, str]]:
    """Query and legend of each line of the tile, by reference."""
    scope = context.scope(Level.MODEL, instant=True)
    shown, legend = promql_of(health, scope), context.legend(Level.MODEL)
    worst = promql.call("bottomk", "1", promql.binary(by_health(scope), "<=", promql.number(WELL)))

    def of_worst(expr: str) -> str:
        return promql.binary(expr, "and", worst, f"on ({', '.join(scope.labels)})")

    any_model, loaded = _one("count", shown), _one("count", promql_of(events.watchdog, scope))
    needing = _one("count", promql.binary(shown, "<", promql.number(WELL)))
    well: str = promql.constant("100", any_model)
    gains: dict[str, tuple[str, str]] = {}
    if context.exists(next_gain):
        gain = promql_of(next_gain, scope)
        well = promql.first_of(promql.constant("103", _one("count", gain)), well)
        of_next = promql.binary(gain, "unless", promql_of(urgent, scope), "ignoring (k, next_k)")
        best = promql.binary(promql.call("topk", "1", gain), "unless", needing, "on ()")
        gains = {"gain": (of_worst(of_next), _TRY.strip()), "try": (best, legend + _TRY)}
    no_target = promql.binary(promql.constant("101", loaded), "unless", any_model)
    no_rules = promql.binary(promql.binary("vector(102)", "unless", loaded), "unless", any_model)
    lines = {
        "worst": (of_worst(leads.with_page(shown, scope.labels, context.uids)), legend),
        "since": (of_worst(promql_of(health_age, scope)), "for"),
        "next": (of_worst(promql_of(next_step, scope)), "next step"),
        "gain": gains.get("gain"),
        "well": (_one("max", promql.binary(well, "unless", needing)), "All models"),
        "try": gains.get("try"),
        "no_target": (_one("max", no_target), "Models"),
        "no_rules": (_one("max", no_rules), "Rules"),
    }
    return {ref: line for ref, line in lines.items() if line}


def _one(how: str, expr: str) -> str:
    return promql.aggregate(how, (), expr)
