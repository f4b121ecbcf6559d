"""The kinds of panel, each made from signals for the dashboard's edition."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from string import ascii_uppercase
from typing import Any

from draftboard.dashboards import columns, fields
from draftboard.dashboards.cost import affordable
from draftboard.dashboards.panels import DATASOURCE, GRAFANA, ModernPanel, Panel, override, query
from draftboard.expr.labels import LabelJoin
from draftboard.expr.tree import Aggregate, metrics_of
from draftboard.settings import Settings
from draftboard.signals import Edition, Level, Scope, Signal
from draftboard.signals.latency import Latency
from draftboard.signals.signal import within

GRID_WIDTH = 24
LAST_AND_MEAN = ("lastNotNull", "mean")
TALL = 11  # Height of a panel with many series: room for four lines of legend, or a dozen bands.
_LEGEND_OF = {
    "accepted": "{{accepted}} accepted",
    "gpu": "GPU {{gpu}}",
    "k": "k = {{k}}",
    "position": "position {{position}}",
}
"""What a label's value is called in a legend; of other labels the value says it."""
LONGEST = 300
"""Characters of a panel's description: as many as are read while the pointer rests on it."""


def uid(subject: str, edition: Edition) -> str:
    """The uid of an edition's dashboard on a subject."""
    return f"draftboard-{subject}" + ("-raw" if edition is Edition.RAW else "")


@dataclass
class Charts:
    """Panels of one dashboard, whose uid and links contain its `subject`."""

    settings: Settings
    edition: Edition
    subject: str
    shows: list[tuple[str, str]] = field(default_factory=list, init=False)
    """Signal name and panel title of every panel made."""
    left_out: list[str] = field(default_factory=list, init=False)
    """Titles of what the panels made since the last row would have shown with the recording rules."""

    def trend(
        self,
        *signals: Signal,
        level: Level | None = None,
        width: int = 12,
        stacked: bool = False,
        calcs: Sequence[str] = LAST_AND_MEAN,
        says: str = "",
        action: str = "",
    ) -> Panel:
        """Signals of one unit over time; by default at the widest level that the first of them has."""
        level = level or signals[0].levels[-1]
        by_ref = self._afforded(self._scope(level), *signals)
        if not by_ref:
            return None
        first, alone = next(iter(by_ref.values())), len(by_ref) == 1
        dashed = alone and fields.has_steps(first, self.settings)
        style: dict[str, Any] = {"axisLabel": fields.axis(first)}
        style |= {"fillOpacity": 40, "stacking": {"group": "A", "mode": "normal"}} if stacked else {}
        style |= {"thresholdsStyle": {"mode": "dashed"}} if dashed else {}
        return self._panel(
            "timeseries",
            *by_ref.values(),
            options=_legend(calcs),
            style=style,
            shown=fields.drawn(first, self.settings, coloured=dashed),
            targets=[
                self._series(signal, ref, level=level, name="" if alone else signal.title)
                for ref, signal in by_ref.items()
            ],
            size=(width, TALL if first.by else 8),
            overrides=[*fields.decimals_of(by_ref), *fields.colours_of(first)],
            says="" if alone else says,
            action="" if alone else action,
        )

    def trends(self, *signals: Signal, **options: Any) -> list[Panel]:  # noqa: ANN401  (those of `trend`)
        """Signals over time, each in a panel of its own."""
        return [self.trend(signal, **options) for signal in signals]

    def distributions(self, *latencies: Latency) -> list[Panel]:
        """Percentiles of each latency, and its histogram beside them."""
        return [panel for one in latencies for panel in (self.percentiles(one), self.heatmap(one.buckets))]

    def percentiles(self, latency: Latency) -> Panel:
        """Mean and percentiles of a latency over time; a percentile below the resolution is marked as such."""
        names = {"mean": latency.mean, "P50": latency.p50, "P95": latency.p95, "P99": latency.p99}
        if len(self._afforded(self._scope(Level.MODEL), *names.values())) < len(names):
            return None
        below = fields.mappings(latency.p50, self.settings)
        return self._panel(
            "timeseries",
            *names.values(),
            # No mean of percentiles: 0 stands for a percentile below the resolution.
            options=_legend(["lastNotNull"]),
            shown=fields.drawn(latency.mean, self.settings),
            targets=[
                self._series(signal, ref, level=Level.MODEL, name=name) | self._exemplars()
                for (name, signal), ref in zip(names.items(), ascii_uppercase, strict=False)
            ],
            size=(12, TALL),
            title=latency.title,
            says=latency.description,
            action=latency.action,
            overrides=[override("byFrameRefID", ref, mappings=below) for ref in "BCD"],
        )

    def heatmap(self, signal: Signal) -> Panel:
        """A histogram over time, summed over everything selected."""
        unit, expr = signal.unit.grafana, self._scope(Level.MODEL)(Aggregate("sum", lambda _: ("le",), signal))
        return self._panel(
            "heatmap",
            signal,
            options={"yAxis": {"axisPlacement": "left", "reverse": False, "unit": unit}},
            shown={"unit": unit, "noValue": signal.empty, "thresholds": fields.NO_THRESHOLDS},
            targets=[query(expr, legend="{{le}}", form="heatmap") | self._exemplars()],
            size=(12, 8),
        )

    def scatter(self, across: Signal, up: Signal) -> Panel:
        """One signal over another: a point for each moment, a colour for each model."""
        signals = self._afforded(self._in_one_label, across, up)
        if len(signals) < 2:  # noqa: PLR2004
            return None
        return self._panel(
            "xychart",
            *(across, up),
            shown=fields.drawn(up, self.settings),
            targets=[query(self._in_one_label(signal), ref, form="table") for ref, signal in signals.items()],
            size=(12, 10),
            title=f"{up.title} over {within(across.title)}",
            says=f"{up.title} by {within(across.title)}: a point for each moment, a colour for each model.",
            action=up.action,
            transformations=columns.one_frame_a_series(signals),
        )

    def bars(self, signal: Signal) -> Panel:
        """Latest values of a signal by its own label, in numeric order, models side by side."""
        if not self._afforded(self._in_one_label, signal):
            return None
        return self._panel(
            "barchart",
            signal,
            style={"axisLabel": fields.axis(signal)},
            shown=fields.drawn(signal, self.settings),
            targets=[query(self._in_one_label(signal, latest=True), instant=True, form="table")],
            size=(8, 8),
            transformations=columns.one_column_a_series(signal.by[0]),
        )

    def timeline(self, signal: Signal, *, level: Level | None = None) -> Panel:
        """A signal of few values over time, as bands."""
        level = level or signal.levels[-1]
        if not self._afforded(self._scope(level), signal):
            return None
        size = (12, TALL if level is Level.ENGINE else 8)
        shown = fields.by_threshold(signal, self.settings)
        return self._panel(
            "state-timeline", signal, shown=shown, targets=[self._series(signal, level=level)], size=size
        )

    def stat(self, signal: Signal, *, width: int = 12) -> Panel:
        """Latest value of a signal, large, coloured by its steps."""
        if not self._afforded(self._scope(signal.levels[-1]), signal):
            return None
        targets = [self._series(signal, level=signal.levels[-1], instant=True)]
        shown = fields.by_threshold(signal, self.settings)
        return self._panel("stat", signal, shown=shown, targets=targets, size=(width, 5))

    def table(self, title: str, *signals: Signal, says: str, action: str) -> Panel:
        """Latest values: a row for each model or SLO, a column for each signal, and a link to the model's depth."""
        scope, empty = self._scope(signals[0].levels[-1], latest=True), signals[0].empty
        by_ref = self._afforded(scope, *signals)
        if not by_ref:
            return None
        shown = tuple(by_ref.values())
        return self._panel(
            "table",
            *shown,
            style={"filterable": True},
            shown={"noValue": empty, "unit": "short", "thresholds": fields.NO_THRESHOLDS},
            targets=[query(scope(signal), ref, instant=True, form="table") for ref, signal in by_ref.items()],
            size=(GRID_WIDTH, 9),
            title=title,
            says=says,
            action=action,
            overrides=columns.of_signals(shown, self.settings, uid("depth", self.edition)),
            transformations=columns.one_row_a_model(by_ref, self.settings),
        )

    def listing(self, signal: Signal, *, width: int = 12) -> Panel:
        """The series of a signal: a row for each, a column for each label."""
        if not self._afforded(self._scope(signal.levels[-1]), signal):
            return None
        return self._panel(
            "table",
            signal,
            shown=fields.defaults(signal, self.settings),
            targets=[query(self._scope(signal.levels[-1], latest=True)(signal), instant=True, form="table")],
            size=(width, 8),
            transformations=columns.labels_only(signal, self.settings),
        )

    def _afforded(self, query_of: Callable[[Signal], str], *signals: Signal) -> dict[str, Signal]:
        """By reference letter, those of the signals that this edition can afford to query; the row tells the others."""
        raw = self.edition is Edition.RAW
        dear = [signal for signal in signals if raw and not affordable(query_of(signal), self.settings)]
        self.left_out += [signal.title for signal in dear]
        lettered = zip(ascii_uppercase, signals, strict=False)
        return {ref: signal for ref, signal in lettered if signal not in dear}

    def _scope(self, level: Level, *, latest: bool = False) -> Scope:
        """From where a panel looks; the latest values alone are rates over the records' window, at any zoom."""
        own = self.settings.rules.rate_window if latest and self.edition is Edition.RAW else None
        return replace(self._anywhere, level=level, span=own)

    @cached_property
    def _anywhere(self) -> Scope:
        return Scope(self.settings, edition=self.edition)

    def _series(
        self, signal: Signal, ref: str = "A", *, level: Level, name: str = "", instant: bool = False
    ) -> dict[str, Any]:
        """A query whose series are named by the labels that tell them apart, after `name`."""
        labels = [f"{{{{{label}}}}}" for label in level.labels(self.settings)]
        own = [_LEGEND_OF.get(label, f"{{{{{label}}}}}") for label in signal.by]
        legend = " ".join([*([name] if name else []), *labels, *own])
        return query(self._scope(level, latest=instant)(signal), ref, legend=legend, instant=instant)

    def _in_one_label(self, signal: Signal, *, latest: bool = False) -> str:
        """A model's labels in one, so that each model is one series of a chart."""
        return self._scope(Level.MODEL, latest=latest)(
            LabelJoin(signal, lambda _: columns.SERIES, " ", lambda scope: scope.labels)
        )

    def _exemplars(self) -> dict[str, Any]:
        """Ask for exemplars, which only raw series carry."""
        return {"exemplar": True} if self.edition is Edition.RAW else {}

    def _panel(
        self,
        kind: str,
        *signals: Signal,
        shown: dict[str, Any],
        targets: list[dict[str, Any]],
        style: dict[str, Any] | None = None,
        options: dict[str, Any] | None = None,
        title: str = "",
        says: str = "",
        action: str = "",
        **rest: Any,  # noqa: ANN401  (fields of an untyped class)
    ) -> Panel:
        title = title or " and ".join(signal.title for signal in signals)
        self.shows += [(signal.name, title) for signal in signals]
        raw, common = self.edition is Edition.RAW, GRAFANA[kind]
        # Of raw series, too, so that both editions show the same curve: a faster pace costs more and tells no more.
        pace = str(self.settings.rules.pace)
        if not raw and any(signal.record for signal in signals):
            shown = shown | {"noValue": f"{shown['noValue']}, or the rules are not loaded"}
        if "style" in common:
            shown = shown | {"custom": common["style"] | (style or {})}
        rest |= {
            "title": title,
            "description": self._described(says or signals[0].description, action or signals[0].action, signals),
            "dataSource": DATASOURCE,
            # $__rate_interval follows the query's own step; the panel's step keeps graphs from finer queries.
            "interval": pace,
            "targets": [target | ({"interval": pace} if raw else {}) for target in targets],
        }
        return ModernPanel(type=kind, options=common["options"] | (options or {}), fields=shown, **rest)

    def _described(self, says: str, action: str, signals: Sequence[Signal]) -> str:
        """What a panel says, what to do, and the metrics that it reads: those read first, as many as there is room."""
        read = {name: None for signal in signals for name in metrics_of(signal, self._scope(signal.levels[-1]))}
        names = [f"`{name}`" for name in read]
        text = f"{says} {action}"
        for shown in range(len(names), 0, -1):
            more = f" and {len(names) - shown} more" if shown < len(names) else ""
            described = f"{text}\n\nMetrics: {', '.join(names[:shown])}{more}"
            if len(described) <= LONGEST:
                return described
        return text


def _legend(calcs: Sequence[str]) -> dict[str, Any]:
    return {"legend": GRAFANA["timeseries"]["options"]["legend"] | {"calcs": list(calcs)}}
