"""Graphs over time: a line for each model or engine, percentiles, and totals."""

from collections.abc import Collection
from functools import partial
from typing import Any

from draftboard.dashboards import fields, lines
from draftboard.dashboards.context import Context, legend
from draftboard.dashboards.grafana import query
from draftboard.dashboards.panels.panel import Built, Panel, Queries, kind, queries
from draftboard.dashboards.transformations import SHORT_NAMES
from draftboard.expr import promql
from draftboard.expr.to_promql import promql_of
from draftboard.signals import Level, Signal
from draftboard.signals.latency import Latency, as_line
from draftboard.status import Status

_ONE_MODEL = frozenset({"position", "percentile"})
"""Labels by which one model alone has as many lines as a graph has room for."""


@kind
def trend(
    context: Context,
    signal: Signal,
    *,
    level: Level | None = None,
    width: int = 12,
    height: int = 8,
    worst: Signal | None = None,
    zones: Collection[Status] = fields.ZONES,
) -> Built:
    """A signal over time, of the worst models or, at another level, of what `worst` or its own values rank first.

    By default at the widest level that it has. Of a signal by SLO it shows the selected one, of a signal by position
    or percentile the first model alone.
    """
    level = level or signal.levels[-1]
    title = f"{signal.title} of the {context.lines.first} model" if _ONE_MODEL & {*signal.by} else ""
    queried = queries(context, partial(_line, context, level, worst), signal)
    return _graph(queried, signal, level, zones=zones, title=title, size=(width, height))


def _line(context: Context, level: Level, worst: Signal | None, signal: Signal) -> str:
    if _ONE_MODEL & {*signal.by}:
        return context.lines.of_one(as_line(signal), context.scope(level))
    return context.lines.of(as_line(signal), context.scope(level), worst or signal)


def trends(*signals: Signal, **options: Any) -> tuple[Panel, ...]:  # noqa: ANN401  (those of `trend`)
    """Signals over time, each in a panel of its own."""
    return tuple(trend(signal, **options) for signal in signals)


@kind
def failure(context: Context, signal: Signal, *, width: int = 12) -> Built:
    """A signal that is 0 where all is well: the highest values of each moment."""
    level, empty = signal.levels[-1], f"none above 0, or {signal.empty}"
    queried = queries(context, partial(lines.above_zero, scope=context.scope(level)), signal)
    return _graph(queried, signal, level, empty=empty, size=(width, 8))


def failures(*signals: Signal, width: int = 12) -> tuple[Panel, ...]:
    """Signals that are 0 where all is well, each in a panel of its own."""
    return tuple(failure(signal, width=width) for signal in signals)


@kind
def percentile(context: Context, latency: Latency) -> Built:
    """The selected percentile or mean of a latency; under its axis where it is below the resolution."""
    chosen = latency.chosen
    return _graph(
        queries(context, partial(_line, context, Level.MODEL, None), chosen),
        chosen,
        Level.MODEL,
        shows=(latency.mean, latency.p50, latency.p95, latency.p99),
        exemplars=True,
        title=chosen.title,
        description=chosen.description,
        action=chosen.action,
    )


def percentiles(*latencies: Latency) -> tuple[Panel, ...]:
    """The selected percentile of each latency."""
    return tuple(map(percentile, latencies))


def _graph(
    queried: Queries,
    signal: Signal,
    level: Level,
    *,
    zones: Collection[Status] = fields.ZONES,
    empty: str = "",
    size: tuple[int, int] = (12, 8),
    **rest: Any,  # noqa: ANN401  (those of `Queries.panel`)
) -> Built:
    """Lines of a signal, with the zones of its bands behind them."""
    context, settings = queried.context, queried.context.settings
    zoned = fields.has_steps(signal, settings) and zones
    style = {"axisLabel": fields.axis(signal)} | fields.soft_range(signal, settings)
    return queried.panel(
        "timeseries",
        fields=fields.of_lines(as_line(signal), settings, zones) | ({"noValue": empty} if empty else {}),
        targets=queried.targets(legend=context.legend(level, *signal.by)),
        style=style | ({"thresholdsStyle": {"mode": "area"}} if zoned else {}),
        size=size,
        overrides=fields.colours_of(signal),
        transformations=[SHORT_NAMES],
        **rest,
    )


@kind
def totals(context: Context, *signals: Signal, width: int = 12, description: str = "") -> Built:
    """Signals of one unit, summed over all that is selected and stacked: by their own labels, if any."""
    queried, settings = queries(context, partial(_total, context), *signals), context.settings
    first = next(iter(queried.signals.values()), signals[0])
    style = {"fillOpacity": 40, "stacking": {"group": "A", "mode": "normal"}, "axisLabel": fields.axis(first)}
    return queried.panel(
        "timeseries",
        fields=fields.of_lines(first, settings),
        targets=[query(expr, ref, legend=legend(*signal.by) or signal.title) for ref, signal, expr in queried.shown],
        style=style | fields.soft_range(first, settings),
        size=(width, 8),
        overrides=fields.colours_of(first),
        description=description,
    )


def _total(context: Context, signal: Signal) -> str:
    return promql.aggregate("sum", signal.by, promql_of(signal, context.scope(signal.levels[-1])))
