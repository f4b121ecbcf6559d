"""Numbers in large type: one value, a row of tiles, and the wall, a tile for each model."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from draftboard.dashboards import fields, leads, lines, watched
from draftboard.dashboards.context import Context, legend
from draftboard.dashboards.grafana import GRAFANA, override, query
from draftboard.dashboards.labels import label_replace
from draftboard.dashboards.panels.panel import Built, Panel, Queries, kind, queries
from draftboard.dashboards.texts import LEAST, TEXTS
from draftboard.dashboards.transformations import SHORT_NAMES
from draftboard.expr import promql
from draftboard.expr.to_promql import promql_of
from draftboard.quantity import EVALUATION, span_text
from draftboard.settings import Settings
from draftboard.signals import Edition, Level, Signal
from draftboard.signals.health import WELL, health, health_age
from draftboard.signals.next_steps import next_step, rank
from draftboard.status import Status

ON_A_WALL = 12
"""Models that a wall has room for: of more nobody could read the names."""
_ABSENT = -1  # Stands on a wall for a value that a model does not have, so that its row stays.


@kind
def stat(context: Context, signal: Signal) -> Built:
    """Latest value of a signal, large, coloured by its steps."""
    level = signal.levels[-1]
    queried = queries(context, context.promql(level, instant=True), signal)
    return queried.panel(
        "stat",
        fields=fields.by_threshold(signal, context.settings, fields.IN_CELLS),
        targets=queried.targets(legend=context.legend(level, *signal.by), instant=True),
        size=(12, 5),
    )


@kind
def tiles(
    context: Context,
    title: str,
    *signals: Signal,
    width: int,
    large: bool = False,
    colours: Mapping[Status, str] = fields.ON_TILES,
    level: Level | None = Level.FLEET,
    description: str = "",
    action: str = "",
    else_why: bool = False,
) -> Built:
    """Numbers side by side, each with its own colour where somebody should act; without a level each at its own.

    If wanted, where no model is known it says why.
    """

    def promql(signal: Signal) -> str:
        return context.promql(level or signal.levels[-1], instant=True)(signal)

    def named_by(signal: Signal) -> str:
        by_model = level is None and signal.levels[-1] is Level.MODEL
        return context.legend(Level.MODEL) if by_model else signal.short or signal.title

    queried, settings = queries(context, promql, *signals), context.settings
    first = next(iter(queried.signals.values()), signals[0])
    look = fields.by_threshold(first, settings, colours)
    nothing = watched.NO_ANSWER if else_why else fields.NO_VALUE
    text = {"text": {"titleSize": 20, "valueSize": 54}} if large else {}
    named = {} if len(queried.shown) > 1 else {"textMode": "value"}
    return queried.panel(
        "stat",
        title=title,
        description=description,
        action=action,
        fields=look
        | {"noValue": nothing}
        | {"mappings": [*look["mappings"], watched.words(), *fields.no_sample("transparent", text=nothing)]},
        targets=[
            *(query(expr, ref, legend=named_by(one), instant=True) for ref, one, expr in queried.shown),
            *(watched.nothing_watched(context.scope(Level.MODEL, instant=True)) if else_why and queried.shown else []),
        ],
        options=GRAFANA["tiles"]["options"] | text | named,
        size=(width, 5 if large else 3),  # At 1366 pixels a large name takes two lines.
        overrides=[
            override(
                "byFrameRefID", ref, thresholds=fields.thresholds(one, settings, colours), **_look(one, first, settings)
            )
            for ref, one, _ in queried.shown
        ],
    )


def _look(signal: Signal, first: Signal, settings: Settings) -> dict[str, Any]:
    """Unit, digits and words, where they are not those of the first tile."""
    if (signal.unit, signal.decimals, signal.codes) == (first.unit, first.decimals, first.codes):
        return {}
    shown = fields.by_threshold(signal, settings, fields.ON_TILES)
    shown["mappings"] = [*shown["mappings"], *fields.no_sample("transparent")]
    return {key: shown[key] for key in ("unit", "decimals", "mappings") if key in shown}


def wall(*signals: Signal, widths: Sequence[int], height: int) -> tuple[Panel, ...]:
    """A row of tiles for each of the worst models: the first signal with the model's name, the others beside it."""
    return tuple(
        wall_column(signal, signals[0], size=(width, height)) for signal, width in zip(signals, widths, strict=True)
    )


@kind
def wall_column(context: Context, signal: Signal, named: Signal, *, size: tuple[int, int]) -> Built:
    """A tile of one signal for each of the worst models; of the first signal with the model's name."""
    is_named, settings, scope, words = signal is named, context.settings, context.scope(Level.MODEL), _words(signal)
    queried = queries(context, partial(_tile_of_each_model, context), signal)
    colours = fields.IN_STATES if is_named else fields.PLAIN if signal is next_step else fields.ON_TILES
    look = fields.by_threshold(signal, settings, colours)
    nothing = watched.NO_ANSWER if is_named else fields.NO_VALUE
    mappings = [*look["mappings"], *fields.no_sample("transparent", str(_ABSENT), text=nothing)]
    # At 1366 pixels the longest name takes one line, and its state another.
    text: dict[str, Any] = {"text": {"titleSize": 16, "valueSize": 18}}
    if not is_named:
        text = {"textMode": "value", "justifyMode": "center"}
    if words:  # Its value says nothing: a label does.
        # Grafana fits the few letters of an age; sentences it would write so small that nobody could read them.
        text = {"textMode": "name", "text": {} if signal is health_age else {"valueSize": 14}}
    page, says = leads.of_signal(signal, context.page, context.uids)
    return queried.panel(
        "stat",
        title="" if is_named else signal.short or signal.title,
        fields=look
        | {"decimals": signal.decimals or 0, "noValue": nothing}
        | {"mappings": [*mappings, watched.words()] if is_named else mappings}
        | {"links": leads.of_series(context.uids[page], says, scope.labels, settings)},
        # Prometheus sorts the series of a range by their labels; a short one shows nothing old.
        targets=[
            *queried.targets(legend=legend(*words) if words else context.legend(Level.MODEL)),
            *(watched.nothing_watched(scope) if is_named and queried.shown else []),
        ],
        options=GRAFANA["wall"]["options"] | text,
        size=size,
        timeFrom=span_text(EVALUATION * 3, settings),
        hideTimeOverride=True,
        transformations=[SHORT_NAMES],
    )


def _words(signal: Signal) -> tuple[str, ...]:
    """Labels that say what a signal says, where its value does not."""
    return (TEXTS[signal].label,) if signal is health_age else signal.by


def _tile_of_each_model(context: Context, signal: Signal) -> str:
    scope, words = context.scope(Level.MODEL), _words(signal)
    if words:  # Words that change within the range would be two rows.
        scope = scope.at_end()
    absent: str = promql.constant(promql.number(_ABSENT), promql_of(health, scope))
    for label in words:
        absent = label_replace(absent, label, fields.NO_VALUE, "", "")
    matching = f"ignoring ({', '.join((*words, LEAST))})" if words else ""
    known = TEXTS[signal].promql(scope) if signal is health_age else promql_of(signal, scope)
    return lines.worst_first(promql.first_of(known, absent, matching=matching), scope, most=ON_A_WALL)


@kind
def not_on_the_wall(context: Context, *, width: int) -> Built:
    """How many models a wall has no room for: those that need somebody, and the others."""
    scope, settings, title = context.scope(Level.MODEL, instant=True), context.settings, f"Beyond the {ON_A_WALL} worst"
    if context.edition is Edition.RAW:
        return Built(None, needs_rules=(title,))
    every = promql_of(health, scope)
    left_out = promql.binary(every, "unless", promql.call("bottomk", str(ON_A_WALL), promql_of(rank, scope)))
    zero = promql.aggregate("max", (), promql.constant("0", every))

    def counted(operator: str) -> str:
        chosen = promql.binary(left_out, operator, promql.number(WELL))
        return promql.first_of(promql.aggregate("count", (), chosen), zero)

    targets = [
        query(counted(operator), ref, legend=f"more {what}", instant=True)
        for ref, operator, what in (("bad", "<", "need somebody"), ("well", ">=", "need nobody"))
    ]
    steps = [{"color": "transparent", "value": None}, {"color": fields.COLOURS[Status.DUE], "value": 1}]
    bad = {"mode": "absolute", "steps": steps}
    return Queries(context, (), ()).panel(
        "stat",
        least=0,
        shows=(health,),
        title=title,
        description="Models that are not on this wall.",
        action="Open the first page for all of them.",
        fields={"unit": "none", "decimals": 0, "color": {"mode": "thresholds"}, "noValue": fields.NO_VALUE}
        | {"thresholds": {"mode": "absolute", "steps": steps[:1]}, "mappings": []}
        | {"links": leads.of_series(context.uids["overview"], "Open all models", (), settings)},
        targets=targets,
        options=GRAFANA["tiles"]["options"],
        size=(width, 3),
        overrides=[override("byFrameRefID", "bad", thresholds=bad)],
    )
