"""A Page is a dashboard in the making: rows of panels, each made from signals as the page's edition sees them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import attr
from grafanalib import core

from draftboard.catalogue import serving
from draftboard.expr.scope import Matcher
from draftboard.expr.tree import Raw
from draftboard.grafana import annotations
from draftboard.grafana.charts import GRID_WIDTH, Charts
from draftboard.grafana.finish import SCHEMA_VERSION, finish
from draftboard.grafana.panels import Panel
from draftboard.grafana.variables import datasource, label_variables, what_if_variables
from draftboard.signals import Edition, Level, Scope
from draftboard.signals.traffic import generation_tokens

MODEL_ROLES = ("job", "model_name", "spec_method", "variant")
ENGINE_ROLES = (*MODEL_ROLES, "instance", "engine")


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
class Page(Charts):
    """One dashboard."""

    title: str
    description: str
    by_engine: bool = False
    """Whether any panel shows engines one by one, so that they can be chosen."""
    what_if: bool = False
    """Whether draft cost and verify inflation can be chosen."""
    _rows: list[_Row] = field(default_factory=list)

    def row(self, question: str, *shown: Panel, collapsed: bool = False) -> None:
        """Add a row, titled by the question that its panels answer. A collapsed row asks nothing until opened."""
        self._rows.append(_Row(question, shown, collapsed))

    def build(self) -> Dashboard:
        """The dashboard."""
        return Dashboard(self._uid(self.subject), self._document(), tuple(self.shows))

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

    def _variables(self) -> list[dict[str, Any]]:
        raw = self.edition is Edition.RAW
        roles = ENGINE_ROLES if raw or self.by_engine else MODEL_ROLES
        chosen = what_if_variables(self.settings) if self.what_if else []
        return [datasource(), *label_variables(self.settings, self._series_of_every_server, roles), *chosen]

    def _series_of_every_server(self, chosen: tuple[Matcher, ...]) -> str:
        """What every server has, speculating or not, so that each can be chosen."""
        scope = Scope(self.settings, Level.ENGINE if self.by_engine else Level.MODEL, only=chosen)
        return scope(Raw(serving.GENERATION_TOKENS) if self.edition is Edition.RAW else generation_tokens)

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
    """The panels with their places, and the first free line below them; side by side they are equally tall."""
    placed = []
    for line in _lines(shown):
        left, tall = 0, max(panel.size[1] for panel in line)
        for panel in line:
            width = panel.size[0]
            placed.append(attr.evolve(panel, gridPos=core.GridPos(h=tall, w=width, x=left, y=top)))
            left += width
        top += tall
    return placed, top


def _lines(shown: Sequence[Panel]) -> list[list[Panel]]:
    """As many panels side by side as the grid is wide."""
    lines: list[list[Panel]] = [[]]
    for panel in shown:
        if sum(other.size[0] for other in lines[-1]) + panel.size[0] > GRID_WIDTH:
            lines.append([])
        lines[-1].append(panel)
    return lines
