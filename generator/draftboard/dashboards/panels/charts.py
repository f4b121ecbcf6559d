"""Charts of other axes than time alone: bars by a label, one signal over another, and histograms."""

from functools import partial

from draftboard.dashboards import fields, transformations
from draftboard.dashboards.context import Context
from draftboard.dashboards.grafana import query
from draftboard.dashboards.panels.graphs import percentile
from draftboard.dashboards.panels.panel import Built, Panel, drawn, kind, queries
from draftboard.expr import promql
from draftboard.signals import Level, Signal
from draftboard.signals.latency import Latency
from draftboard.signals.signal import Unit, within


@kind
def bar_chart(on: Context, signal: Signal) -> Built:
    """Latest values of a signal by its own label, in numeric order, models side by side."""
    queried = queries(on, partial(on.one_label_a_model, instant=True), signal)
    return drawn(
        *(on, "barchart", queried),
        fields=fields.of_lines(signal, on.settings),
        targets=[query(one.expr, instant=True, form="table") for one in queried.shown],
        style={"axisLabel": fields.axis(signal)} | fields.soft_range(signal, on.settings),
        size=(12, 8),
        overrides=[fields.TEXT_AS_IT_IS],
        transformations=transformations.matrix(signal.by[0]),
    )


def bars(*signals: Signal) -> tuple[Panel, ...]:
    """Latest values of signals, each in a chart of its own."""
    return tuple(map(bar_chart, signals))


@kind
def scatter(on: Context, across: Signal, up: Signal) -> Built:
    """One signal over another: a point for each moment, a colour for each model."""
    queried, over = queries(on, on.one_label_a_model, across, up), within(across.title)
    return drawn(
        *(on, "xychart", queried),
        least=2,
        fields=fields.of_lines(up, on.settings),
        targets=[query(one.expr, one.ref, form="table") for one in queried.shown],
        size=(12, 10),
        title=f"{up.title} over {over}",
        says=f"{up.title} by {over}: a point for each moment, a colour for each model.",
        action=up.action,
        transformations=transformations.frames({one.ref: one.signal.title for one in queried.shown}),
    )


@kind
def heatmap(on: Context, signal: Signal, bounds: Unit = Unit.SECONDS) -> Built:
    """A histogram over time, summed over all that is selected."""
    queried = queries(on, on.promql(Level.MODEL), signal)
    return drawn(
        *(on, "heatmap", queried),
        fields={"unit": signal.unit.grafana, "noValue": signal.empty, "thresholds": fields.NO_THRESHOLDS},
        targets=[
            query(promql.aggregate("sum", ("le",), one.expr), legend="{{le}}", form="heatmap") for one in queried.shown
        ],
        options={"yAxis": {"axisPlacement": "left", "reverse": False, "unit": bounds.grafana}},
        size=(12, 8),
        exemplars=True,
    )


def distributions(*latencies: Latency) -> tuple[Panel, ...]:
    """The selected percentile of each latency, and its histogram beside it."""
    return tuple(panel for each in latencies for panel in (percentile(each), heatmap(each.buckets)))
