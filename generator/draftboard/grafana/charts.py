"""The kinds of panel: what each shows of which signals, as a page's edition sees them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from string import ascii_uppercase
from typing import Any

import attr

from draftboard.expr.promql import joined, sum_by
from draftboard.grafana import columns, fields, panels
from draftboard.grafana.panels import DATASOURCE, Panel, query
from draftboard.settings import Settings
from draftboard.signals import Edition, Level, Scope, Signal
from draftboard.signals.latency import Latency
from draftboard.signals.signal import within

GRID_WIDTH = 24
TALL = 11
"""Grid units of a panel whose series are many: its legend has room for four, its bands for a dozen."""
_LEGEND_OF = {
    "position": "position {{position}}",
    "accepted": "{{accepted}} accepted",
    "k": "k = {{k}}",
    "identity": "{{identity}}",
    "state": "{{state}}",
    "reason": "{{reason}}",
    "finished_reason": "{{finished_reason}}",
    "source": "{{source}}",
    "status": "{{status}}",
    "slo": "{{slo}}",
    "gpu": "GPU {{gpu}}",
}


@dataclass(kw_only=True)
class Charts:
    """Panels of one dashboard, which is called by its `subject` in uids and links."""

    settings: Settings
    edition: Edition
    subject: str
    shows: list[tuple[str, str]] = field(default_factory=list)
    """Signal name and panel title of every panel made."""

    def trend(
        self,
        *signals: Signal,
        level: Level | None = None,
        width: int = 12,
        stacked: bool = False,
        calcs: Sequence[str] = panels.LAST_AND_MEAN,
    ) -> Panel:
        """Signals of one unit over time; at the widest level that they have, unless told otherwise."""
        first = signals[0]
        level = level or first.levels[-1]
        alone = len(signals) == 1
        by_ref = dict(zip(ascii_uppercase, signals, strict=False))
        dashed = alone and fields.has_steps(first, self.settings)
        style = panels.timeseries_style(axis=fields.axis(first), thresholds=dashed, stacked=stacked)
        shown = fields.drawn(first, self.settings, style, coloured=dashed)
        targets = [
            query(self._scope(level)(signal), ref, legend=self._legend(signal, level, with_title=not alone))
            for ref, signal in by_ref.items()
        ]
        panel = self._panel(
            "timeseries",
            signals,
            options=panels.timeseries_options(calcs),
            shown=shown,
            targets=targets,
            size=(width, TALL if first.by else 8),
        )
        return attr.evolve(panel, overrides=[*fields.decimals_of(by_ref), *fields.colours_of(first)])

    def percentiles(self, latency: Latency, *, width: int = 12) -> Panel:
        """Mean and percentiles of a latency over time; what lies below its resolution says so."""
        scope = self._scope(Level.MODEL)
        names = {"mean": latency.mean, "P50": latency.p50, "P95": latency.p95, "P99": latency.p99}
        style = panels.timeseries_style(axis="", thresholds=False, stacked=False)
        shown = fields.drawn(latency.mean, self.settings, style)
        targets = [
            self._with_exemplars(scope(signal), ref, f"{name} {self._legend(signal, Level.MODEL)}")
            for (name, signal), ref in zip(names.items(), ascii_uppercase, strict=False)
        ]
        panel = self._panel(
            "timeseries",
            tuple(names.values()),
            # No mean of percentiles: where one is below resolution, 0 stands for it.
            options=panels.timeseries_options(calcs=("lastNotNull",)),
            shown=shown,
            targets=targets,
            size=(width, TALL),
            title=latency.title,
            description=latency.description,
        )
        words = fields.mappings(latency.p50, self.settings)
        return attr.evolve(panel, overrides=[panels.by_query(ref, mappings=words) for ref in "BCD"])

    def heatmap(self, signal: Signal, *, width: int = 12) -> Panel:
        """A histogram over time, all that is chosen together."""
        expr = sum_by(("le",), self._scope(Level.MODEL)(signal))
        shown = {"custom": panels.heatmap_style(), "unit": signal.unit.grafana, "noValue": signal.empty}
        shown["thresholds"] = fields.NO_THRESHOLDS
        return self._panel(
            "heatmap",
            (signal,),
            options=panels.heatmap_options(signal.unit.grafana),
            shown=shown,
            targets=[self._with_exemplars(expr, "A", "{{le}}") | {"format": "heatmap"}],
            size=(width, 8),
        )

    def scatter(self, across: Signal, up: Signal, *, width: int = 12) -> Panel:
        """One signal over another: a point a moment, a colour a model."""
        scope = self._scope(Level.MODEL)
        targets = [
            query(joined(scope(signal), columns.SERIES, scope.labels), ref, table=True)
            for signal, ref in ((across, "A"), (up, "B"))
        ]
        shown = fields.drawn(up, self.settings, panels.scatter_style())
        panel = self._panel(
            "xychart",
            (across, up),
            options=panels.scatter_options(),
            shown=shown,
            targets=targets,
            size=(width, 10),
            title=f"{up.title} over {within(across.title)}",
        )
        return attr.evolve(panel, transformations=columns.one_frame_a_series({"A": across, "B": up}))

    def bars(self, signal: Signal, *, width: int = 8) -> Panel:
        """A signal's latest values by its own label, in the order of the numbers there, models side by side."""
        label = signal.by[0]
        expr = joined(self._scope(Level.MODEL)(signal), columns.SERIES, self.settings.labels.model_level)
        style = panels.barchart_style(axis=fields.axis(signal))
        shown = fields.drawn(signal, self.settings, style)
        panel = self._panel(
            "barchart",
            (signal,),
            options=panels.barchart_options(),
            shown=shown,
            targets=[query(expr, "A", instant=True, table=True)],
            size=(width, 8),
        )
        return attr.evolve(panel, transformations=columns.one_column_a_series(label))

    def timeline(self, signal: Signal, *, level: Level | None = None, width: int = 12) -> Panel:
        """A signal of few values over time, as bands."""
        level = level or signal.levels[-1]
        shown = fields.defaults(signal, self.settings)
        shown |= {"color": {"mode": "thresholds"}, "custom": panels.state_timeline_style()}
        targets = [query(self._scope(level)(signal), "A", legend=self._legend(signal, level))]
        return self._panel(
            "state-timeline",
            (signal,),
            options=panels.state_timeline_options(),
            shown=shown,
            targets=targets,
            size=(width, TALL if level is Level.ENGINE else 8),
        )

    def stat(self, signal: Signal, *, width: int = 4) -> Panel:
        """A signal's latest value, large, coloured by its steps."""
        level = signal.levels[-1]
        shown = fields.defaults(signal, self.settings) | {"color": {"mode": "thresholds"}}
        targets = [query(self._scope(level)(signal), "A", legend=self._legend(signal, level), instant=True)]
        return self._panel(
            "stat", (signal,), options=panels.stat_options(), shown=shown, targets=targets, size=(width, 5)
        )

    def table(self, question: str, *signals: Signal, width: int = GRID_WIDTH) -> Panel:
        """Latest values: a row a model (and what else tells series apart), a column a signal, a link to its depth."""
        targets = [
            query(self._scope(Level.MODEL)(signal), ref, instant=True, table=True)
            for ref, signal in zip(ascii_uppercase, signals, strict=False)
        ]
        shown = {"custom": {"align": "auto", "filterable": True}, "noValue": signals[0].empty, "unit": "short"}
        shown["thresholds"] = fields.NO_THRESHOLDS
        panel = self._panel(
            "table",
            signals,
            options=panels.table_options(),
            shown=shown,
            targets=targets,
            size=(width, 9),
            title=question,
        )
        return attr.evolve(
            panel,
            overrides=columns.of_signals(signals, self.settings, self._uid("depth")),
            transformations=columns.one_row_a_model(signals, self.settings),
        )

    def listing(self, signal: Signal, *, width: int = 12) -> Panel:
        """The series of a signal themselves: a row each, a column a label."""
        shown = fields.defaults(signal, self.settings) | {"custom": {"align": "auto"}}
        targets = [query(self._scope(signal.levels[-1])(signal), "A", instant=True, table=True)]
        panel = self._panel(
            "table", (signal,), options=panels.table_options(), shown=shown, targets=targets, size=(width, 8)
        )
        return attr.evolve(panel, transformations=columns.labels_only(signal, self.settings))

    def _with_exemplars(self, expr: str, ref: str, legend: str) -> dict[str, Any]:
        """A query that shows exemplars where the server exports any: only raw series carry them."""
        return query(expr, ref, legend=legend) | ({"exemplar": True} if self.edition is Edition.RAW else {})

    def _uid(self, subject: str) -> str:
        return f"draftboard-{subject}" + ("-raw" if self.edition is Edition.RAW else "")

    def _scope(self, level: Level) -> Scope:
        return Scope(self.settings, level, self.edition)

    def _legend(self, signal: Signal, level: Level, *, with_title: bool = False) -> str:
        names = level.labels(self.settings)
        parts = [signal.title] if with_title else []
        parts += [f"{{{{{name}}}}}" for name in names] + [_LEGEND_OF[label] for label in signal.by]
        return " ".join(parts)

    def _panel(
        self,
        kind: str,
        signals: Sequence[Signal],
        *,
        options: dict[str, Any],
        shown: dict[str, Any],
        targets: list[dict[str, Any]],
        size: tuple[int, int],
        title: str = "",
        description: str = "",
    ) -> Panel:
        alone = len(signals) == 1
        title = title or " and ".join(signal.title for signal in signals)
        self.shows += [(signal.name, title) for signal in signals]
        rules, raw = self.settings.rules, self.edition is Edition.RAW
        pace = str(rules.scrape_interval if raw else rules.evaluation_interval)
        if not raw and any(signal.record for signal in signals):
            shown = shown | {"noValue": f"{shown['noValue']}, or the rules are not loaded"}
        return panels.make(
            type=kind,
            title=title,
            description=description
            or "\n\n".join(
                f"{signal.question} {signal.description}" if alone else f"**{signal.title}.** {signal.description}"
                for signal in signals
            ),
            dataSource=DATASOURCE,
            # The query's own step is what $__rate_interval is made from; the panel's keeps graphs from asking faster.
            targets=[target | ({"interval": pace} if raw else {}) for target in targets],
            options=options,
            fields=shown,
            size=size,
            interval=pace,
            maxDataPoints=None,
        )
