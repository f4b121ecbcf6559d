"""Charts of other axes than time alone: bars by a label, one signal over another, and histograms."""

from functools import partial

from draftboard.dashboards import fields, transformations
from draftboard.dashboards.context import Context
from draftboard.dashboards.grafana import override
from draftboard.dashboards.lines import RANK
from draftboard.dashboards.panels.panel import Built, Panel, kind, queries
from draftboard.signals import Level, Signal
from draftboard.signals.signal import within


@kind
def bar_chart(context: Context, signal: Signal, *, width: int = 12, title: str = "") -> Built:
    """Latest values of a signal by its own label, in numeric order, models side by side."""
    queried = queries(context, partial(context.one_label_a_model, instant=True), signal)
    return queried.panel(
        "barchart",
        fields=fields.of_lines(signal, context.settings),
        targets=queried.targets(instant=True, form="table"),
        style={"axisLabel": fields.axis(signal)} | fields.soft_range(signal, context.settings),
        title=title,
        size=(width, 8),
        overrides=[fields.TEXT_AS_IT_IS],
        transformations=transformations.matrix(signal.by[0], rank=RANK),
    )


@kind
def variant_bars(context: Context, signal: Signal) -> Built:
    """Latest values of the variants of a model side by side.

    They stand over the time, not over a text: Grafana counts a text as a series, and colours would differ from lines'.
    """
    queried = queries(context, context.promql(Level.MODEL, instant=True), signal)
    hidden = override("byType", "time", custom_axisPlacement="hidden")
    return queried.panel(
        "barchart",
        fields=fields.of_lines(signal, context.settings),
        targets=queried.targets(legend=context.legend(Level.MODEL), instant=True),
        style={"axisPlacement": "hidden"} | fields.soft_range(signal, context.settings),
        options={"showValue": "always"},
        size=(8, 9),
        overrides=[hidden],
        transformations=[transformations.JOINED],
    )


def bars(*signals: Signal, width: int = 12) -> tuple[Panel, ...]:
    """Latest values of signals, each in a chart of its own."""
    return tuple(bar_chart(signal, width=width) for signal in signals)


@kind
def scatter(context: Context, across: Signal, up: Signal) -> Built:
    """One signal over another: a point for each moment, a colour for each model."""
    queried, over = queries(context, context.one_label_a_model, across, up), within(across.title)
    return queried.panel(
        "xychart",
        least=2,
        fields=fields.of_lines(up, context.settings),
        targets=queried.targets(form="table"),
        size=(12, 10),
        title=f"{up.title} over {over}",
        description=f"{up.title} by {over}: a point for each moment, a colour for each model.",
        action=up.action,
        transformations=transformations.frames({ref: signal.title for ref, signal in queried.signals.items()}),
    )
