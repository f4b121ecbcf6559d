"""Tables: a row for each model, SLO, alert or engine, the worst on top."""

from collections.abc import Collection
from functools import partial
from typing import Any

from draftboard.dashboards import columns, fields, lines
from draftboard.dashboards.context import Context
from draftboard.dashboards.grafana import GRID_WIDTH, override
from draftboard.dashboards.panels.panel import Built, Queries, kind, queries
from draftboard.dashboards.texts import TEXTS
from draftboard.dashboards.transformations import labels, rows, value_of
from draftboard.signals import Edition, Level, Signal, events
from draftboard.signals.health import health
from draftboard.signals.latency import Latency, by_latency
from draftboard.signals.next_steps import rank

_SUBJECT, _ALERT = 96, 206
"""Pixels of a model's or server's name at least, which breaks, and of an alert's: both fit a phone."""


@kind
def table(
    context: Context,
    title: str,
    *signals: Signal,
    description: str,
    action: str,
    worst: tuple[Signal, ...],
    filled: Collection[Signal] = (),
    leading: tuple[Signal, ...] = (),
    beside_name: tuple[Signal, ...] = (),
    plain: Collection[Signal] = (),
    level: Level | None = None,
    most: int = 0,
    height: int = 9,
    best_first: bool = False,
    by_rank: bool = False,
) -> Built:
    """Latest values: a row for each model, engine or SLO, a column for each signal; each leads to what explains it.

    `most` bounds the rows, which are engines, to the worst.

    `leading` columns stand before the name, others beside it: a phone shows those. `plain` ones have no colour. By
    rank, models stand in the order of all pages, as far as there are records.
    """
    own = tuple(dict.fromkeys(label for signal in signals if signal not in TEXTS for label in signal.by))
    scope, settings = context.scope(level or signals[0].levels[-1], instant=True), context.settings
    pages = context.uids if leading and context.edition is Edition.RECORDS else {}
    heads = columns.row_heads(scope.labels, own, settings, one_model=context.one_model)
    order = (rank,) if by_rank and context.edition is Edition.RECORDS else ()
    only = lines.worst_engines(scope, most) if most else ""
    # What decides the order of rows is a number.
    texts = [one for one in TEXTS if context.edition is Edition.RECORDS and one not in worst]
    row = partial(columns.row, scope=scope, heads=tuple(heads), pages=pages, texts=texts, only=only)
    queried, name = queries(context, row, *signals, *order), next(iter(heads.values()))
    cells = [
        columns.of_signal(
            *(one, settings),
            filled=one in filled,
            plain=one in plain,
            text=one in texts,
            narrow=bool(beside_name) and one in (*leading, *beside_name),
            links=columns.links(context.lead(one, pages), name),
        )
        for _, one, _ in queried.shown
        if one not in order
    ]
    least = (columns.NARROW,) if beside_name else ()
    shown, hidden = columns.fields_of(queried.signals, texts)
    values = {shown[ref]: columns.heading(one, settings) for ref, one in queried.signals.items() if one not in order}
    named = dict(list(heads.items())[:1])
    before, beside = (
        {shown[ref]: values[shown[ref]] for ref, signal in queried.signals.items() if signal in some}
        for some in (leading, beside_name)
    )
    titles = before | named | beside | heads | values
    return _table(
        queried,
        signals[0].empty,
        title=title,
        description=description,
        action=action,
        size=(GRID_WIDTH, height),
        overrides=[*columns.of_labels(heads, columns.links(context.lead(health, pages), name), pages, *least), *cells],
        transformations=rows(
            titles, columns.worst_first(queried.signals, order or worst, best_first=best_first), hidden
        ),
    )


@kind
def firing_alerts(context: Context, *, width: int) -> Built:
    """Firing alerts, the most urgent on top, of equals the oldest, each with a link to its runbook.

    Their ages are not shown: conditions of one event begin to hold at several times, and health says since when.
    """
    severity, age, about, settings = events.alert_severity, events.alert_age, events.firing_alerts, context.settings
    name, subject, signals = "Alert", "Where", {one.name: one for one in (severity, age)}
    titles = {value_of(severity.name): columns.heading(severity, settings), "about": subject, "alertname": name}
    runbook = [{"title": "Runbook", "url": f"{settings.links.runbooks}/${{__value.raw}}.md"}]
    return _table(
        queries(context, context.promql(severity.levels[-1]), severity, age),
        about.empty,
        title=about.title,
        description=about.description,
        action=about.action,
        size=(width, 9),
        overrides=[
            fields.TEXT_AS_IT_IS,
            columns.of_signal(severity, settings, filled=True),
            override("byName", subject, custom_minWidth=_SUBJECT, custom_wrapText=True),
            override("byName", name, links=runbook, custom_width=_ALERT),
        ],
        transformations=rows(titles, columns.worst_first(signals, (severity, age)), (value_of(age.name),)),
    )


@kind
def percentile_table(context: Context, *latencies: Latency) -> Built:
    """A row for each latency of all that is selected: its mean, and percentiles from the one bound to the other."""
    signals, settings = by_latency(*latencies), context.settings
    queried = queries(context, context.promql(Level.FLEET, instant=True), *signals)
    heads = {"latency": "Time"} | {value_of(ref): one.short for ref, one in queried.signals.items()}
    return _table(
        queried,
        signals[0].empty,
        title="Mean and percentiles now",
        description="All selected models and servers together: the exact mean, and the bounds of each percentile.",
        action=signals[0].action,
        size=(GRID_WIDTH, 6),
        overrides=[fields.TEXT_AS_IT_IS, *(columns.of_signal(one, settings) for one in queried.signals.values())],
        transformations=rows(heads, {"latency": True}),
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
