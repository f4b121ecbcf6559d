"""A Page is a dashboard in the making: rows of panels, each made from signals as the page's edition sees them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from string import ascii_uppercase
from typing import Any

import attr
from grafanalib import core

from draftboard.grafana import annotations, columns, fields, panels
from draftboard.grafana.finish import SCHEMA_VERSION, finish
from draftboard.grafana.panels import DATASOURCE, Panel, query
from draftboard.grafana.variables import datasource, label_variables, what_if_variables
from draftboard.metrics import serving
from draftboard.promql import joined
from draftboard.settings import Settings
from draftboard.signals import Edition, Level, Scope, Signal
from draftboard.signals.scope import Matchers
from draftboard.signals.state import state
from draftboard.signals.traffic import generation_tokens

GRID_WIDTH = 24
MODEL_ROLES = ("job", "model_name", "spec_method", "variant")
ENGINE_ROLES = (*MODEL_ROLES, "instance", "engine")
_LEGEND_OF = {
    "position": "position {{position}}",
    "accepted": "{{accepted}} accepted",
    "k": "k = {{k}}",
    "identity": "{{identity}}",
    "state": "{{state}}",
}


@dataclass(frozen=True)
class Dashboard:
    """A finished dashboard, and which signals its panels show."""

    uid: str
    document: dict[str, Any]
    """Grafana's JSON."""
    shows: tuple[tuple[str, str], ...]
    """Signal name and panel title."""


@dataclass(frozen=True)
class _Row:
    question: str
    panels: tuple[Panel, ...]
    collapsed: bool


@dataclass(kw_only=True)
class Page:
    """One dashboard. `subject` is its name in uids and links."""

    settings: Settings
    edition: Edition
    subject: str
    title: str
    description: str
    by_engine: bool = False
    """Whether any panel shows engines one by one, so that they can be chosen."""
    what_if: bool = False
    """Whether draft cost and verify inflation can be chosen."""
    _rows: list[_Row] = field(default_factory=list)
    _shows: list[tuple[str, str]] = field(default_factory=list)

    def row(self, question: str, *shown: Panel, collapsed: bool = False) -> None:
        """Add a row, titled by the question that its panels answer. A collapsed row asks nothing until opened."""
        self._rows.append(_Row(question, shown, collapsed))

    def trend(self, *signals: Signal, level: Level = Level.MODEL, width: int = 12, stacked: bool = False) -> Panel:
        """Signals of one unit over time."""
        first = signals[0]
        alone = len(signals) == 1
        dashed = alone and fields.has_steps(first, self.settings)
        style = panels.timeseries_style(axis=first.unit.words, thresholds=dashed, stacked=stacked)
        shown = fields.defaults(first, self.settings) | {"color": {"mode": "palette-classic"}, "custom": style}
        if not dashed:
            shown["thresholds"] = fields.NO_THRESHOLDS
        targets = [
            query(self._scope(level)(signal), ref, legend=self._legend(signal, level, with_title=not alone))
            for ref, signal in zip(ascii_uppercase, signals, strict=False)
        ]
        return self._panel(
            "timeseries", signals, options=panels.timeseries_options(), shown=shown, targets=targets, size=(width, 8)
        )

    def bars(self, signal: Signal, *, width: int = 8) -> Panel:
        """A signal's latest values by its own label, in the order of the numbers there, models side by side."""
        label = signal.by[0]
        expr = joined(self._scope(Level.MODEL)(signal), columns.SERIES, self.settings.labels.model_level)
        style = panels.barchart_style(axis=signal.unit.words)
        shown = fields.defaults(signal, self.settings) | {"color": {"mode": "palette-classic"}, "custom": style}
        shown["thresholds"] = fields.NO_THRESHOLDS
        panel = self._panel(
            "barchart",
            (signal,),
            options=panels.barchart_options(),
            shown=shown,
            targets=[query(expr, "A", instant=True, table=True)],
            size=(width, 8),
        )
        return attr.evolve(panel, transformations=columns.one_column_a_series(label))

    def timeline(self, signal: Signal, *, level: Level = Level.MODEL, width: int = 12) -> Panel:
        """A signal of few values over time, as bands."""
        shown = fields.defaults(signal, self.settings)
        shown |= {"color": {"mode": "thresholds"}, "custom": panels.state_timeline_style()}
        targets = [query(self._scope(level)(signal), "A", legend=self._legend(signal, level))]
        return self._panel(
            "state-timeline",
            (signal,),
            options=panels.state_timeline_options(),
            shown=shown,
            targets=targets,
            size=(width, 8),
        )

    def stat(self, signal: Signal, *, width: int = 4) -> Panel:
        """A signal's latest value, large, coloured by its steps."""
        shown = fields.defaults(signal, self.settings) | {"color": {"mode": "thresholds"}}
        targets = [query(self._scope(Level.MODEL)(signal), "A", legend=self._legend(signal, Level.MODEL), instant=True)]
        return self._panel(
            "stat", (signal,), options=panels.stat_options(), shown=shown, targets=targets, size=(width, 5)
        )

    def table(self, question: str, *signals: Signal, width: int = GRID_WIDTH) -> Panel:
        """The latest values of several signals: a row a model, a column a signal, a link to the model's depth."""
        targets = [
            query(self._scope(Level.MODEL)(signal), ref, instant=True, table=True)
            for ref, signal in zip(ascii_uppercase, signals, strict=False)
        ]
        shown = {"custom": {"align": "auto", "filterable": True}, "noValue": state.empty, "unit": "short"}
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
        targets = [query(self._scope(Level.MODEL)(signal), "A", instant=True, table=True)]
        panel = self._panel(
            "table", (signal,), options=panels.table_options(), shown=shown, targets=targets, size=(width, 8)
        )
        return attr.evolve(panel, transformations=columns.labels_only())

    def build(self) -> Dashboard:
        """The dashboard."""
        return Dashboard(self._uid(self.subject), self._document(), tuple(self._shows))

    def _document(self) -> dict[str, Any]:
        tags = ["draftboard", self.edition.value]
        shared = core.DashboardLink(title="Draftboard", tags=tags, asDropdown=True, includeVars=True, keepTime=True)
        return finish(
            core.Dashboard(
                title=self.title + (" (raw)" if self.edition is Edition.RAW else ""),
                description=self.description,
                uid=self._uid(self.subject),
                tags=["vllm", "speculative-decoding", *tags],
                schemaVersion=SCHEMA_VERSION,
                editable=False,
                graphTooltip=1,
                timezone="browser",
                refresh=str(self.settings.dashboards.refresh),
                time=core.Time(f"now-{self.settings.dashboards.time_range}", "now"),
                links=[shared],
                annotations=core.Annotations(annotations.all_of(self._scope(Level.MODEL))),
                templating=core.Templating(self._variables()),
                panels=self._placed(),
            ),
        )

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
    ) -> Panel:
        alone = len(signals) == 1
        title = title or " and ".join(signal.title for signal in signals)
        self._shows += [(signal.name, title) for signal in signals]
        rules, raw = self.settings.rules, self.edition is Edition.RAW
        pace = str(rules.scrape_interval if raw else rules.evaluation_interval)
        if not raw:
            shown = shown | {"noValue": f"{shown['noValue']}, or the rules are not loaded"}
        return panels.make(
            type=kind,
            title=title,
            description="\n\n".join(
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

    def _variables(self) -> list[dict[str, Any]]:
        raw = self.edition is Edition.RAW
        roles = ENGINE_ROLES if raw or self.by_engine else MODEL_ROLES
        chosen = what_if_variables(self.settings) if self.what_if else []
        return [datasource(), *label_variables(self.settings, self._series_of_every_server, roles), *chosen]

    def _series_of_every_server(self, chosen: Matchers) -> str:
        """What every server has, speculating or not, so that each can be chosen."""
        scope = Scope(self.settings, Level.ENGINE if self.by_engine else Level.MODEL, only=chosen)
        return scope.raw(serving.GENERATION_TOKENS) if self.edition is Edition.RAW else scope(generation_tokens)

    def _placed(self) -> list[Any]:
        """Panels from left to right, a new line where the grid's width is used up; each row under its title."""
        placed: list[Any] = []
        top = 0
        for row in self._rows:
            place = core.GridPos(h=1, w=GRID_WIDTH, x=0, y=top)
            inside, below = _flowed(row.panels, top + 1)
            hidden = inside if row.collapsed else []
            heading = core.RowPanel(title=row.question, collapsed=row.collapsed, gridPos=place, panels=hidden)
            placed += [heading] if row.collapsed else [heading, *inside]
            top = top + 1 if row.collapsed else below
        return placed


def _flowed(shown: Sequence[Panel], top: int) -> tuple[list[Panel], int]:
    """The panels with their places, and the first free line below them."""
    placed, left, height = [], 0, 0
    for panel in shown:
        width, tall = panel.size
        if left + width > GRID_WIDTH:
            top, left, height = top + height, 0, 0
        placed.append(attr.evolve(panel, gridPos=core.GridPos(h=tall, w=width, x=left, y=top)))
        left, height = left + width, max(height, tall)
    return placed, top + height
