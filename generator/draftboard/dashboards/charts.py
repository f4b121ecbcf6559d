"""The kinds of panel, each made from signals for the dashboard's edition."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain
from string import ascii_uppercase
from typing import Any

from draftboard.dashboards import columns, fields, lines
from draftboard.dashboards.cost import affordable
from draftboard.dashboards.lines import Lines
from draftboard.dashboards.panels import DATASOURCE, GRAFANA, ModernPanel, Panel, query
from draftboard.expr import promql
from draftboard.expr.labels import LabelJoin, LabelReplace
from draftboard.expr.tree import Aggregate, Expr, metrics_of
from draftboard.settings import Settings
from draftboard.signals import Edition, Level, Scope, Signal, decisions
from draftboard.signals.latency import Latency, as_line
from draftboard.signals.signal import Unit, within
from draftboard.status import Status

GRID_WIDTH = 24
TALL = 11  # Height of a panel with a dozen bands.
_LEGEND_OF = {
    "accepted": "{{accepted}} accepted",
    "gpu": "GPU {{gpu}}",
    "k": "k = {{k}}",
    "percentile": "P{{percentile}}",
    "position": "position {{position}}",
}
"""What a label's value is called in a legend; of other labels the value says it."""
_OF_ONE_MODEL = frozenset({"position", "percentile"})
"""Labels by which one model alone has as many lines as a graph has room for."""
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
    worst: Signal = field(default=decisions.standing, kw_only=True)  # Ranks the models that graphs draw.
    drafting: bool = field(default=False, kw_only=True)  # Whether it is about models that draft, not about all.
    against: Mapping[str, str] = field(default_factory=dict, kw_only=True)
    """By label of arms: the variable that chooses the arm beside which the others are shown."""
    offered: tuple[int, ...] = field(default=(6, 12), kw_only=True)  # How many lines a graph may draw, beside all.
    shows: list[tuple[str, str]] = field(default_factory=list, init=False)
    """Signal name and panel title of every panel made."""
    used: set[str] = field(default_factory=set, init=False)
    """Variables in the queries of the panels made."""
    left_out: list[str] = field(default_factory=list, init=False)
    """Titles of what the panels made since the last row would have shown with the recording rules."""

    def trend(
        self,
        signal: Signal,
        *,
        level: Level | None = None,
        width: int = 12,
        worst: Signal | None = None,
        zones: Collection[Status] = fields.ZONES,
        height: int = 8,
    ) -> Panel:
        """A signal over time, of the worst models or, at another level, of what `worst` or its own values rank first.

        By default at the widest level that it has. Of a signal by SLO it shows the chosen one, of a signal by position
        or percentile the worst model alone.
        """
        level, line = level or signal.levels[-1], as_line(signal)
        if _OF_ONE_MODEL & {*signal.by}:
            title = f"{signal.title} of the {self._lines.first} model"
            return self._trend(signal, level, self._lines.of_one(line, level), zones, width=width, title=title)
        drawn = self._lines.of(line, level, worst or signal)
        return self._trend(signal, level, drawn, zones, width=width, height=height)

    def failures(self, *signals: Signal, width: int = 12) -> list[Panel]:
        """Signals that are 0 where all is well, each over time: the highest values of each moment."""
        return [
            self._trend(
                *(signal, signal.levels[-1], lines.Failing(signal), fields.ZONES),
                width=width,
                empty=f"none above 0, or {signal.empty}",
            )
            for signal in signals
        ]

    def _trend(
        self,
        signal: Signal,
        level: Level,
        drawn: Expr,
        zones: Collection[Status],
        *,
        width: int = 12,
        height: int = 8,
        title: str = "",
        empty: str = "",
    ) -> Panel:
        if not self._afforded(lambda _: self._scope(level)(drawn), signal):
            return None
        return self._panel(
            "timeseries",
            signal,
            style={"axisLabel": fields.axis(signal)} | self._axis(signal, zones),
            shown=fields.drawn(as_line(signal), self.settings, zones) | {"noValue": empty or signal.empty},
            targets=[query(self._scope(level)(drawn), legend=self._name(level, *signal.by))],
            size=(width, height),
            title=title,
            overrides=fields.colours_of(signal),
            transformations=[columns.SHORT_NAMES],
        )

    def _axis(self, signal: Signal, zones: Collection[Status]) -> dict[str, Any]:
        """The ends of an axis, and the zones behind its lines."""
        zoned = fields.has_steps(signal, self.settings) and zones
        return fields.soft_range(signal, self.settings) | ({"thresholdsStyle": {"mode": "area"}} if zoned else {})

    def trends(self, *signals: Signal, **options: Any) -> list[Panel]:  # noqa: ANN401  (those of `trend`)
        """Signals over time, each in a panel of its own."""
        return [self.trend(signal, **options) for signal in signals]

    def totals(self, *signals: Signal, width: int = 12, says: str = "") -> Panel:
        """Signals of one unit over time, summed over all that is selected and stacked: by their own labels, if any."""
        by_ref = self._afforded(self._total, *signals)
        if not by_ref:
            return None
        first = next(iter(by_ref.values()))
        stacked = {"fillOpacity": 40, "stacking": {"group": "A", "mode": "normal"}, "axisLabel": fields.axis(first)}
        stacked |= fields.soft_range(first, self.settings)
        return self._panel(
            "timeseries",
            *by_ref.values(),
            style=stacked,
            shown=fields.drawn(first, self.settings),
            targets=[
                query(self._total(signal), ref, legend=_named(*signal.by) or signal.title)
                for ref, signal in by_ref.items()
            ],
            size=(width, 8),
            overrides=fields.colours_of(first),
            says=says,
        )

    def distributions(self, *latencies: Latency) -> list[Panel]:
        """The chosen percentile of each latency, and its histogram beside it."""
        return [panel for one in latencies for panel in (self.percentile(one), self.heatmap(one.buckets))]

    def percentile(self, latency: Latency) -> Panel:
        """The chosen percentile or mean of a latency over time; under its axis where it is below the resolution."""
        chosen = latency.chosen
        if not self._asked(latency.mean):  # In records the name of the chosen one is completed by a variable.
            return None
        drawn = self._scope(Level.MODEL)(self._lines.of(chosen, Level.MODEL))
        if not self._afforded(lambda _: drawn, chosen):
            return None
        return self._panel(
            "timeseries",
            *(latency.mean, latency.p50, latency.p95, latency.p99),
            style=self._axis(chosen, fields.ZONES),
            shown=fields.drawn(chosen, self.settings, fields.ZONES),
            targets=[query(drawn, legend=self._name(Level.MODEL)) | self._exemplars()],
            size=(12, 8),
            title=chosen.title,
            says=chosen.description,
            action=chosen.action,
            transformations=[columns.SHORT_NAMES],
        )

    def heatmap(self, signal: Signal, bounds: Unit = Unit.SECONDS) -> Panel:
        """A histogram over time, summed over everything selected."""
        if not self._asked(signal):
            return None
        expr = self._scope(Level.MODEL)(Aggregate("sum", lambda _: ("le",), signal))
        return self._panel(
            "heatmap",
            signal,
            options={"yAxis": {"axisPlacement": "left", "reverse": False, "unit": bounds.grafana}},
            shown={"unit": signal.unit.grafana, "noValue": signal.empty, "thresholds": fields.NO_THRESHOLDS},
            targets=[query(expr, legend="{{le}}", form="heatmap") | self._exemplars()],
            size=(12, 8),
        )

    def scatter(self, across: Signal, up: Signal) -> Panel:
        """One signal over another: a point for each moment, a colour for each model."""
        asked = partial(self._in_one_label, self._scope(Level.MODEL))
        signals = self._afforded(asked, across, up)
        if len(signals) < 2:  # noqa: PLR2004
            return None
        return self._panel(
            "xychart",
            *(across, up),
            shown=fields.drawn(up, self.settings),
            targets=[query(asked(signal), ref, form="table") for ref, signal in signals.items()],
            size=(12, 10),
            title=f"{up.title} over {within(across.title)}",
            says=f"{up.title} by {within(across.title)}: a point for each moment, a colour for each model.",
            action=up.action,
            transformations=columns.one_frame_a_series(signals),
        )

    def bars(self, signal: Signal) -> Panel:
        """Latest values of a signal by its own label, in numeric order, models side by side."""
        asked = partial(self._in_one_label, self._scope(Level.MODEL, latest=True))
        if not self._afforded(asked, signal):
            return None
        return self._panel(
            "barchart",
            signal,
            style={"axisLabel": fields.axis(signal)} | fields.soft_range(signal, self.settings),
            shown=fields.drawn(signal, self.settings),
            targets=[query(asked(signal), instant=True, form="table")],
            size=(12, 8),
            overrides=[fields.TEXT_AS_IT_IS],
            transformations=columns.one_column_a_series(signal.by[0]),
        )

    def timeline(self, signal: Signal, *, level: Level | None = None, lasting_first: bool = False) -> Panel:
        """A signal of few values over time, as bands; where asked for, those that last until the end come first."""
        level = level or signal.levels[-1]
        scope, legend = self._scope(level), self._name(level, *signal.by)
        if not self._afforded(scope, signal):
            return None
        size = (12, 8) if level is Level.MODEL else (GRID_WIDTH, TALL)  # Names of servers and engines are long.
        over_time, at_end = scope(signal), scope.at_end()(signal)
        # Rows follow the queries.
        ordered = [promql.binary(over_time, how, at_end) for how in ("and", "unless")] if lasting_first else [over_time]
        return self._panel(
            "state-timeline",
            signal,
            shown=fields.in_states(signal, self.settings),
            targets=[query(expr, ref, legend=legend) for ref, expr in zip(ascii_uppercase, ordered, strict=False)],
            size=size,
            transformations=[columns.SHORT_NAMES],
        )

    def worst_first(self, signal: Signal, *, width: int = 12) -> Panel:
        """The same by model for codes in order of badness: rows stand in the order of their last value."""
        recorded = signal.record_here(self._scope(Level.MODEL))
        if not recorded and self._asked(signal):
            self.left_out.append(signal.title)
        if not recorded:
            return None
        legend = self._name(Level.MODEL)
        return self._panel(
            "state-timeline",
            signal,
            title=f"{signal.title} over time",
            shown=fields.in_states(signal, self.settings),
            options=GRAFANA["worst-first"]["options"],
            # Rows follow the queries: one for each code.
            targets=[
                query(f"{recorded}\nand ({recorded} @ end() == {code.value})", ref, legend=legend)
                for ref, code in zip(ascii_uppercase, signal.codes, strict=False)
            ],
            size=(width, 9),
            transformations=[columns.SHORT_NAMES],
        )

    def _afforded(self, query_of: Callable[[Signal], str], *signals: Signal) -> dict[str, Signal]:
        """By reference letter, those of the signals that this edition can afford to query; the row tells the others.

        What the settings do not ask for is left out without a word.
        """
        raw, lettered = self.edition is Edition.RAW, zip(ascii_uppercase, signals, strict=False)
        asked = {ref: signal for ref, signal in lettered if self._asked(signal)}
        dear = [one for one in asked.values() if raw and not affordable(query_of(one), self.settings)]
        self.left_out += [signal.title for signal in dear]
        return {ref: signal for ref, signal in asked.items() if signal not in dear}

    def _asked(self, signal: Signal) -> bool:
        """Whether it is asked for, and can be read from the series of this edition."""
        return signal.asked_from(self._anywhere) and not signal.is_gone(self._scope(signal.levels[-1]))

    def _scope(self, level: Level, *, latest: bool = False) -> Scope:
        """From where a panel looks; the latest values alone are rates over the records' window, at any zoom."""
        own = self.settings.rules.rate_window if latest and self.edition is Edition.RAW else None
        return replace(self._anywhere, level=level, span=own)

    @cached_property
    def _lines(self) -> Lines:
        return Lines(self.edition, self.worst, self.drafting, self.offered)

    @cached_property
    def _anywhere(self) -> Scope:
        return Scope(self.settings, edition=self.edition, beside=self.against)

    def _series(self, signal: Signal, *, level: Level, instant: bool = False) -> dict[str, Any]:
        """A query whose series are named by the labels that tell them apart."""
        scope = self._scope(level, latest=instant)
        return query(scope(signal), legend=self._name(level, *signal.by), instant=instant)

    def _name(self, level: Level, *own: str) -> str:
        """The labels that tell series apart, the most telling first: where panels are narrow, a name is cut."""
        telling, wide = self._parts(level)
        return _named(*telling, *(label for label in own if label != lines.SLO), *wide)

    def _parts(self, level: Level) -> tuple[list[str], list[str]]:
        """The labels of a level: from the model to the way it drafts, and those that are mostly the same."""
        labels, there = self.settings.labels, level.labels(self.settings)
        telling = (labels.model_name, labels.instance, labels.engine, *labels.arm, labels.host)
        return [one for one in telling if one in there], [one for one in there if one not in telling]

    def _in_one_label(self, scope: Scope, signal: Signal) -> str:
        """A model's labels in one, so that each model is one series of a chart."""
        joined = LabelJoin(
            self._lines.of(signal, Level.MODEL),
            *(lambda _: columns.SERIES, " "),
            lambda _: tuple(chain(*self._parts(Level.MODEL))),
        )
        short, name = columns.SHORT_NAME
        return scope(LabelReplace(joined, columns.SERIES, name, columns.SERIES, short))

    def _total(self, signal: Signal) -> str:
        return self._scope(signal.levels[-1])(Aggregate("sum", lambda _: signal.by, signal))

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
        self.used |= {name for target in targets for name in re.findall(r"\$\{?(\w+)", target["expr"])}
        raw, common = self.edition is Edition.RAW, GRAFANA[kind]
        # Of raw series, too, so that both editions show the same curve: a faster pace costs more and tells no more.
        pace = str(self.settings.rules.pace)
        if not raw and shown["noValue"] != fields.NOTHING and any(signal.record for signal in signals):
            shown = shown | {"noValue": f"{shown['noValue']}, or the rules are not loaded"}
        if "style" in common:
            shown = shown | {"custom": common["style"] | (style or {})}
        rest |= {
            "title": title,
            "description": self._described(
                says or signals[0].described(self.settings), action or signals[0].action, signals
            ),
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


def _named(*labels: str) -> str:
    return " ".join(_LEGEND_OF.get(label, f"{{{{{label}}}}}") for label in labels)
