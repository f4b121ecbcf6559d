"""A panel: a function draws it for a context; called in a page, the function describes the panel that it will draw."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Concatenate, NamedTuple, ParamSpec

from draftboard.dashboards.context import Context
from draftboard.dashboards.grafana import DATASOURCE, GRAFANA, GrafanaPanel, ModernPanel, query
from draftboard.expr.reads import metrics_of
from draftboard.expr.to_promql import TooLongError
from draftboard.quantity import PACE, span_text
from draftboard.signals import Edition, Signal

LONGEST = 300
"""Characters of a panel's description: as many as are read while the pointer rests on it."""
_POINTS_OF_RAW = 300
"""Points of a graph of raw series: over a day they are as far apart as a window of rates is long, so that each sample
is read once."""
P = ParamSpec("P")


class Built(NamedTuple):
    """A panel in one edition."""

    panel: GrafanaPanel
    """None where it has nothing to show."""
    shows: tuple[Signal, ...] = ()
    needs_rules: tuple[str, ...] = ()
    """Titles of what it would show with the recording rules."""


@dataclass(frozen=True)
class Panel:
    """A panel of a page: what draws it, and of what."""

    draw: Callable[..., Built]
    arguments: tuple[Any, ...]
    options: dict[str, Any]

    def build(self, context: Context) -> Built:
        """The panel for a context."""
        return self.draw(context, *self.arguments, **self.options)


def kind(draw: Callable[Concatenate[Context, P], Built]) -> Callable[P, Panel]:
    """A kind of panel that pages can name: with its arguments it waits for the context."""

    def described(*arguments: P.args, **options: P.kwargs) -> Panel:
        return Panel(draw, arguments, options)

    described.__doc__ = draw.__doc__
    return described


class Query(NamedTuple):
    """A query of one signal."""

    ref: str
    signal: Signal
    expr: str


@dataclass(frozen=True)
class Queries:
    """The queries of a panel."""

    context: Context
    shown: tuple[Query, ...]
    needs_rules: tuple[str, ...]
    """Titles of signals that this edition cannot afford to query."""

    @property
    def signals(self) -> dict[str, Signal]:
        """What is queried, by reference letter."""
        return {one.ref: one.signal for one in self.shown}

    def targets(self, *, legend: str = "", instant: bool = False, form: str = "time_series") -> list[dict[str, Any]]:
        """Grafana's queries, all with one legend."""
        return [query(one.expr, one.ref, legend=legend, instant=instant, form=form) for one in self.shown]

    def panel(
        self,
        type: str,  # noqa: A002  (Grafana's name)
        *,
        fields: dict[str, Any],
        targets: Sequence[dict[str, Any]],
        least: int = 1,
        shows: tuple[Signal, ...] = (),
        title: str = "",
        description: str = "",
        action: str = "",
        style: dict[str, Any] | None = None,
        options: dict[str, Any] | None = None,
        exemplars: bool = False,
        links: Sequence[dict[str, Any]] = (),
        **rest: Any,  # noqa: ANN401  (fields of an untyped class)
    ) -> Built:
        """A panel of Grafana's `type` with `fieldConfig.defaults`, its `custom` style and options beyond the type's.

        Nothing where it has fewer than `least` queries. Texts are those of the signals that it shows, unless given.
        """
        if len(self.shown) < least:
            return Built(None, needs_rules=self.needs_rules)
        shows = shows or tuple(self.signals.values())
        settings, raw, common = self.context.settings, self.context.edition is Edition.RAW, GRAFANA[type]
        if links:
            fields = fields | {"links": list(links)}
        if "style" in common:
            fields = fields | {"custom": common["style"] | (style or {})}
        # $__rate_interval follows the query's own step; the panel's step keeps graphs from finer queries. Both editions
        # have it, and show the same curve.
        step = span_text(PACE, settings)
        of_raw = {"interval": step} | ({"exemplar": True} if exemplars else {})
        rest |= {"maxDataPoints": _POINTS_OF_RAW} if raw else {}
        rest |= {
            "title": title or " and ".join(signal.title for signal in shows),
            "description": _description(self.context, shows, description, action),
            "dataSource": DATASOURCE,
            "interval": step,
            "targets": [target | (of_raw if raw else {}) for target in targets],
        }
        panel = ModernPanel(type=type, options=common["options"] | (options or {}), fields=fields, **rest)
        return Built(panel, shows, self.needs_rules)


def queries(context: Context, promql: Callable[[Signal], str], *signals: Signal) -> Queries:
    """Queries of those signals that exist and that the edition can afford to query."""
    shown, needs_rules = list[Query](), list[str]()
    for signal in filter(context.exists, signals):
        with suppress(TooLongError):
            one = Query(signal.name, signal, promql(signal))
            if context.affords(one.expr):
                shown.append(one)
                continue
        needs_rules.append(signal.title)
    return Queries(context, tuple(shown), tuple(needs_rules))


def _description(context: Context, signals: Sequence[Signal], description: str, action: str) -> str:
    """What the panel says, what to do, and the metrics that it reads: as many as there is room for."""
    text = f"{description or signals[0].described(context.settings)} {action or signals[0].action}"
    read = (name for signal in signals for name in metrics_of(signal, context.scope(signal.levels[-1])))
    metrics = [f"`{name}`" for name in dict.fromkeys(read)]
    for count in range(len(metrics), 0, -1):
        more = f" and {len(metrics) - count} more" if count < len(metrics) else ""
        with_metrics = f"{text}\n\nMetrics: {', '.join(metrics[:count])}{more}"
        if len(with_metrics) <= LONGEST:
            return with_metrics
    return text
