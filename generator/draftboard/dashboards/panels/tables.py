"""Tables: a row for each model, SLO, alert or engine, the worst on top."""

from collections.abc import Collection, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

from draftboard.dashboards import columns, fields
from draftboard.dashboards.context import Context
from draftboard.dashboards.grafana import GRID_WIDTH, override
from draftboard.dashboards.panels.panel import Built, Queries, kind, queries
from draftboard.dashboards.transformations import labels, rows, value_of
from draftboard.signals import Signal, events

_ALERT = 32  # Letters of the longest alert's name, and room for its capitals.


@kind
def table(
    context: Context,
    title: str,
    *signals: Signal,
    description: str,
    action: str,
    worst: tuple[Signal, ...],
    filled: Collection[Signal] = (),
    gauges: Collection[Signal] = (),
    linked: Mapping[Signal, tuple[str, str]] = MappingProxyType({}),
    height: int = 9,
    best_first: bool = False,
) -> Built:
    """Latest values: a row for each model, engine or SLO, a column for each signal, and a link to its depth.

    Cells of columns that are `linked` lead to what the row is about on another page: its name, and the question that it
    answers.
    """
    own = tuple(dict.fromkeys(label for signal in signals for label in signal.by))
    scope, settings = context.scope(signals[0].levels[-1], instant=True), context.settings
    queried = queries(context, partial(columns.row, scope=scope, own=own), *signals)
    heads = columns.row_heads(scope.labels, own, settings)
    links = {signal: columns.links_to(context.uid(page), question) for signal, (page, question) in linked.items()}
    cells = [
        columns.of_signal(one, settings, filled=one in filled, gauge=one in gauges, links=links.get(one, ()))
        for _, one, _ in queried.shown
    ]
    titles = heads | {value_of(ref): columns.heading(signal, settings) for ref, signal in queried.signals.items()}
    return _table(
        queried,
        signals[0].empty,
        title=title,
        description=description,
        action=action,
        size=(GRID_WIDTH, height),
        overrides=[*columns.of_labels(heads, context.uid("depth"), settings), *cells],
        transformations=rows(titles, columns.worst_first(queried.signals, worst, best_first=best_first)),
    )


@kind
def firing_alerts(context: Context) -> Built:
    """Firing alerts, the most urgent on top, each with a link to its runbook."""
    severity, age, about, settings = events.alert_severity, events.alert_age, events.firing_alerts, context.settings
    name, subject, signals = "Alert", "Model or server", {"A": severity, "B": age}
    titles = {value_of(ref): columns.heading(signal, settings) for ref, signal in signals.items()}
    # The severity comes first.
    titles = {value_of("A"): titles[value_of("A")], "alertname": name, "about": subject} | titles
    runbook = [{"title": "Runbook", "url": f"{settings.links.runbooks}/${{__value.raw}}.md"}]
    return _table(
        queries(context, context.promql(severity.levels[-1]), severity, age),
        about.empty,
        title=about.title,
        description=about.description,
        action=about.action,
        size=(12, 9),
        overrides=[
            fields.TEXT_AS_IT_IS,
            columns.of_signal(severity, settings, filled=True),
            override("byName", name, links=runbook, custom_width=columns.wide_enough(_ALERT)),
            override("byName", subject, custom_wrapText=True),
            columns.of_signal(age, settings),
        ],
        transformations=rows(titles, columns.worst_first(signals, (severity, age))),
    )


@kind
def listing(context: Context, signal: Signal) -> Built:
    """The series of a signal: a row for each, a column for each label."""
    heads, names = columns.engine_heads(signal, context.settings), context.settings.labels
    return _table(
        queries(context, context.promql(signal.levels[-1], instant=True), signal),
        signal.empty,
        options={"sortBy": [{"displayName": next(iter(heads.values())), "desc": False}]},
        size=(GRID_WIDTH, 8),
        overrides=[fields.TEXT_AS_IT_IS, *columns.label_widths(heads)],
        transformations=labels(heads, sort=names.instance, hidden=names.spec_verification),
    )


def _table(queried: Queries, empty: str, **rest: Any) -> Built:  # noqa: ANN401  (those of `Queries.panel`)
    return queried.panel(
        "table",
        fields={"noValue": empty, "unit": "string", "thresholds": fields.NO_THRESHOLDS},
        targets=queried.targets(instant=True, form="table"),
        **rest,
    )
