"""Numbers in large type: one value, a row of tiles, and the wall, a tile for each model."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from draftboard.dashboards import columns, fields
from draftboard.dashboards.context import Context
from draftboard.dashboards.grafana import GRAFANA, override, query
from draftboard.dashboards.panels.panel import Built, Panel, kind, queries
from draftboard.dashboards.transformations import SHORT_NAMES
from draftboard.expr import promql
from draftboard.expr.to_promql import promql_of
from draftboard.quantity import EVALUATION, span_text
from draftboard.signals import Level, Signal

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
    description: str = "",
    action: str = "",
) -> Built:
    """Numbers side by side, each of which has its own colour where somebody should act."""
    queried, settings = queries(context, context.promql(Level.FLEET, instant=True), *signals), context.settings
    first = next(iter(queried.signals.values()), signals[0])
    text = {"text": {"titleSize": 20, "valueSize": 54}} if large else {}
    named = {} if len(queried.shown) > 1 else {"textMode": "value"}
    return queried.panel(
        "stat",
        title=title,
        description=description,
        action=action,
        fields=fields.by_threshold(first, settings, fields.ON_TILES) | {"noValue": fields.NO_VALUE},
        targets=[query(expr, ref, legend=one.short, instant=True) for ref, one, expr in queried.shown],
        options=GRAFANA["tiles"]["options"] | text | named,
        size=(width, 5 if large else 3),  # At 1366 pixels a large name takes two lines.
        overrides=[
            override("byFrameRefID", ref, thresholds=fields.thresholds(one, settings, fields.ON_TILES))
            for ref, one, _ in queried.shown
        ],
    )


def wall(*signals: Signal, widths: Sequence[int], height: int) -> tuple[Panel, ...]:
    """A row of tiles for each model of the first signal: that one with the model's name, the others beside it."""
    return tuple(
        wall_column(signal, signals[0], size=(width, height)) for signal, width in zip(signals, widths, strict=True)
    )


@kind
def wall_column(context: Context, signal: Signal, present: Signal, *, size: tuple[int, int]) -> Built:
    """A tile of one signal for each model that has a value of `present`; of that one with the model's name."""
    named, settings = signal is present, context.settings
    queried = queries(context, partial(_tile_of_each_model, context, present), signal)
    look = fields.by_threshold(signal, settings, fields.ON_WALLS if named else fields.ON_TILES)
    mappings = [*look["mappings"], *fields.no_sample("transparent", str(_ABSENT))]
    text: dict[str, Any] = {} if named else {"textMode": "value", "justifyMode": "center"}
    return queried.panel(
        "stat",
        fields=look | {"decimals": 0, "mappings": mappings, "noValue": fields.NO_VALUE},
        # Prometheus sorts the series of a range by their labels; a short one shows nothing old.
        targets=queried.targets(legend=context.legend(Level.MODEL)),
        options=GRAFANA["wall"]["options"] | text,
        size=size,
        timeFrom=span_text(EVALUATION * 3, settings),
        hideTimeOverride=True,
        transformations=[SHORT_NAMES],
    )


def _tile_of_each_model(context: Context, present: Signal, signal: Signal) -> str:
    scope = context.scope(Level.MODEL)
    if signal is present or not context.edition.reads_records:
        return columns.of_model(promql_of(signal, scope), scope)
    absent = promql.constant(promql.number(_ABSENT), promql_of(present, scope))
    return columns.of_model(promql.first_of(promql_of(signal & (present > 0), scope), absent), scope)
