"""Graphs over time: a line for each model or engine, percentiles, and totals."""

from collections.abc import Collection, Iterator, Sequence
from functools import partial
from typing import Any

from draftboard.dashboards import fields, lines
from draftboard.dashboards.context import Context, legend
from draftboard.dashboards.grafana import override, query
from draftboard.dashboards.panels.panel import Built, Panel, Queries, kind, queries
from draftboard.dashboards.transformations import NAMES_WITH_BASIS, SHORT_NAMES
from draftboard.expr import promql
from draftboard.expr.to_promql import promql_of
from draftboard.signals import Level, Signal
from draftboard.signals.distribution import Distribution
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


@kind
def together(
    context: Context, signal: Signal, *, width: int, legend: bool = False, zones: Collection[Status] = fields.ZONES
) -> Built:
    """A signal of the worst models, the same ones in all such panels of a page, of which one has the legend."""
    look = _LEGEND_OF_ALL if legend else {"legend": {"showLegend": False}}
    queried = queries(context, partial(_line, context, Level.MODEL, None), signal)
    return _graph(queried, signal, Level.MODEL, zones=zones, options=look, width_of_lines=2, size=(width, 8))


# Without values: Grafana would show the last one of what is gone as if it were there.
_LEGEND_OF_ALL = {"legend": {"showLegend": True, "calcs": [], "displayMode": "list", "placement": "right"}}


@kind
def measured_or_expected(context: Context, signal: Signal, measured: Signal, expected: Signal, *, width: int) -> Built:
    """A signal of the worst models: measured or, of those that are not, expected at least; its legend says which.

    A model has one of both over the whole graph, so that no line jumps where a measurement pauses.
    """
    if not all(map(context.exists, (measured, expected))):
        return together(signal, width=width, legend=True).build(context)
    queried = queries(
        context, lambda _: context.lines.of_either(measured, expected, context.scope(Level.MODEL)), signal
    )
    return _graph(
        queried, signal, Level.MODEL, options=_LEGEND_OF_ALL, width_of_lines=2, size=(width, 8), basis=lines.BASIS
    )


def _line(context: Context, level: Level, worst: Signal | None, signal: Signal) -> str:
    if _ONE_MODEL & {*signal.by}:
        return context.lines.of_one(signal, context.scope(level))
    return context.lines.of(signal, context.scope(level), worst or signal)


def trends(*signals: Signal, **options: Any) -> tuple[Panel, ...]:  # noqa: ANN401  (those of `trend`)
    """Signals over time, each in a panel of its own."""
    return tuple(trend(signal, **options) for signal in signals)


@kind
def failure(context: Context, signal: Signal, *, width: int = 12) -> Built:
    """A signal that is 0 where all is well: the highest values of each moment."""
    level = signal.levels[-1]
    queried = queries(context, partial(lines.above_zero, scope=context.scope(level)), signal)
    # Apart from an empty panel, where nothing is counted.
    all_well = [
        promql.binary(promql.aggregate("max", (), promql_of(one.signal, context.scope(level))), "==", "0")
        for one in queried.shown
    ]
    also = [query(expr, "none", legend="none above 0") for expr in all_well]
    return _graph(queried, signal, level, also=also, size=(width, 8))


def failures(*signals: Signal, width: int = 12) -> tuple[Panel, ...]:
    """Signals that are 0 where all is well, each in a panel of its own."""
    return tuple(failure(signal, width=width) for signal in signals)


@kind
def ranges(context: Context, of: Distribution, *, width: int = 8, least: int = 50) -> Built:
    """What a histogram tells of all that is selected: mean, and as bands the buckets of percentiles from `least` up."""
    names = dict(zip(of.together, _names(of), strict=True))
    percents = [percent for percent, *_ in of.ranges if percent >= least]
    drawn = {"mean"}.union(*((_lower(percent), f"P{percent}") for percent in percents))
    mean, *bounds = (one for one, name in names.items() if name in drawn)
    queried = queries(context, context.promql(Level.FLEET), mean, *bounds)
    return queried.panel(
        "timeseries",
        fields=fields.of_lines(mean, context.settings),
        targets=[query(expr, ref, legend=names[one]) for ref, one, expr in queried.shown],
        title=of.title,
        description=f"{of.title} of all that is selected: the exact mean, and each percentile as the bucket that "
        "holds it.",
        action=mean.action,
        size=(width, 9),
        overrides=[look for percent in percents for look in _band(percent)] + [_MEAN_LINE],
        exemplars=True,
    )


def _names(of: Distribution) -> Iterator[str]:
    yield "mean"
    for percent, *_ in of.ranges:
        yield from (_lower(percent), f"P{percent}")


def _lower(percent: int) -> str:
    return f"P{percent} from"


def _band(percent: int) -> Iterator[dict[str, Any]]:
    """Between the bounds of a bucket: the upper one has the name, the lower one is its end."""
    colour = {"mode": "fixed", "fixedColor": fields.PERCENTILES[percent]}
    common = {"color": colour, "custom_lineInterpolation": "stepAfter"}
    hidden = {"viz": False, "legend": True, "tooltip": False}
    yield override("byName", _lower(percent), **common, custom_hideFrom=hidden)
    yield override("byName", f"P{percent}", **common, custom_fillBelowTo=_lower(percent), custom_fillOpacity=25)


_MEAN_LINE = override(
    "byName", "mean", color={"mode": "fixed", "fixedColor": fields.PERCENTILES[0]}, custom_lineWidth=2
)


_DASHED = {"fill": "dash", "dash": [10, 6]}
"""Of what bounds a value, and is no measurement of it."""
_BOUNDS = (", at least", ", at most")
_AT_LEAST = override("byRegexp", r"/\(at least\)$/", custom_lineStyle=_DASHED)


def _graph(
    queried: Queries,
    signal: Signal,
    level: Level,
    *,
    zones: Collection[Status] = fields.ZONES,
    also: Sequence[dict[str, Any]] = (),
    size: tuple[int, int] = (12, 8),
    width_of_lines: int = 1,
    basis: str = "",
    **rest: Any,  # noqa: ANN401  (those of `Queries.panel`)
) -> Built:
    """Lines of a signal, with the zones of its bands behind them."""
    context, settings = queried.context, queried.context.settings
    zoned = fields.has_steps(signal, settings) and zones
    style = {"axisLabel": fields.axis(signal)} | fields.soft_range(signal, settings)
    dashed = {"lineStyle": _DASHED} if signal.title.endswith(_BOUNDS) else {}
    return queried.panel(
        "timeseries",
        fields=fields.of_lines(signal, settings, zones),
        targets=[
            *queried.targets(legend=context.legend(level, *signal.by) + (f" {{{{{basis}}}}}" if basis else "")),
            *also,
        ],
        style=style | {"lineWidth": width_of_lines} | ({"thresholdsStyle": {"mode": "area"}} if zoned else {}) | dashed,
        links=context.series_links(signal, level),
        size=size,
        overrides=[*fields.colours_of(signal), *([_AT_LEAST] if basis else [])],
        transformations=[NAMES_WITH_BASIS if basis else SHORT_NAMES],
        **rest,
    )


@kind
def totals(context: Context, *signals: Signal, width: int = 12, height: int = 8, description: str = "") -> Built:
    """Signals of one unit, summed over all that is selected and stacked: by their own labels, if any."""
    queried, settings = queries(context, partial(_total, context), *signals), context.settings
    first = next(iter(queried.signals.values()), signals[0])
    axis = f"{words}, stacked" if (words := fields.axis(first)) else ""
    style = {"fillOpacity": 40, "stacking": {"group": "A", "mode": "normal"}, "axisLabel": axis}
    return queried.panel(
        "timeseries",
        fields=fields.of_lines(first, settings),
        targets=[query(expr, ref, legend=legend(*signal.by) or signal.title) for ref, signal, expr in queried.shown],
        style=style | fields.soft_range(first, settings),
        size=(width, height),
        overrides=fields.colours_of(first),
        description=description,
    )


def _total(context: Context, signal: Signal) -> str:
    return promql.aggregate("sum", signal.by, promql_of(signal, context.scope(signal.levels[-1])))
