"""States over time, as bands."""

from collections.abc import Mapping
from typing import Any

from draftboard.dashboards import fields, lines
from draftboard.dashboards.context import Context
from draftboard.dashboards.grafana import GRAFANA, GRID_WIDTH, query
from draftboard.dashboards.panels.panel import Built, Queries, kind, queries
from draftboard.dashboards.transformations import NAME_LAST, SHORT_NAMES
from draftboard.expr import promql
from draftboard.expr.to_promql import promql_of
from draftboard.signals import Edition, Level, Signal

_TALL = 11  # Height of a panel with a dozen bands.
_WORST = 10
"""Rows of models that a panel has room for."""
_MOST = 25
"""Bands at a moment of those that last, and of those that ended: nobody would read those of thousands."""


@kind
def timeline(context: Context, signal: Signal, *, level: Level | None = None, lasting_first: bool = False) -> Built:
    """A signal of few values over time.

    If wanted, series that last until the end of the time range come first, and only the lowest of either are shown.
    """
    level = level or signal.levels[-1]
    scope = context.scope(level)
    queried, at_end = queries(context, context.promql(level), signal), scope.at_end()
    exprs = {one.ref: one.expr for one in queried.shown}
    if lasting_first:
        parts = {"lasting": "and", "ended": "unless"}
        exprs = {
            part: promql.call("bottomk", str(_MOST), promql.binary(expr, how, promql_of(signal, at_end)))
            for expr in exprs.values()
            for part, how in parts.items()
        }
    size = (12, 8) if level is Level.MODEL else (GRID_WIDTH, _TALL)  # Names of servers and engines are long.
    return _states(queried, signal, level, exprs, size=size)


@kind
def worst_first(context: Context, signal: Signal, *, width: int) -> Built:
    """Codes by model over time, the worst of now on top: as many as are read without turning pages."""
    if context.edition is Edition.RAW:
        return Built(None, needs_rules=(signal.title,))
    queried = queries(context, context.promql(Level.MODEL), signal)
    scope = context.scope(Level.MODEL)
    exprs = {one.ref: lines.worst_first(one.expr, scope, _WORST, named=True) for one in queried.shown}
    options: dict[str, Any] = {"title": f"{signal.title} over time, the {_WORST} worst"}
    options["options"] = GRAFANA["worst-first"]["options"]
    return _states(queried, signal, Level.MODEL, exprs, size=(width, 9), named=f"{{{{{lines.NAME}}}}}", **options)


def _states(
    queried: Queries,
    signal: Signal,
    level: Level,
    exprs: Mapping[str, str],
    *,
    named: str = "",
    **rest: Any,  # noqa: ANN401  (those of `Queries.panel`)
) -> Built:
    """Rows of states, in the order of the queries."""
    context = queried.context
    by_name = level is Level.MODEL and not context.one_model
    named = named or (context.name_last() if by_name else context.legend(level, *signal.by))
    return queried.panel(
        "state-timeline",
        fields=fields.of_states(signal, context.settings),
        targets=[query(expr, ref, legend=named) for ref, expr in exprs.items()],
        links=context.series_links(signal, level),
        transformations=[NAME_LAST if by_name else SHORT_NAMES],
        **rest,
    )
