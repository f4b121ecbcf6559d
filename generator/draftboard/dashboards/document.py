"""A page becomes a dashboard: its panels in rows on Grafana's grid, its variables and annotations."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from draftboard.dashboards.annotations import annotations
from draftboard.dashboards.context import Context, uid
from draftboard.dashboards.grafana import GRID_WIDTH, GrafanaPanel, dashboard, document, importable, placed, row_panel
from draftboard.dashboards.lines import Lines
from draftboard.dashboards.page import Page, Row
from draftboard.dashboards.panels import Built, paragraph
from draftboard.dashboards.variables import variables
from draftboard.quantity import Setting, span_text
from draftboard.settings import Settings
from draftboard.settings.labels import ExportedLabels
from draftboard.signals import Edition, Level, Scope


@dataclass(frozen=True)
class Dashboard:
    """A built dashboard, and which signals its panels show."""

    uid: str
    shows: tuple[tuple[str, str], ...]
    """Signal name and panel title."""
    _model: Any  # Of grafanalib, which is untyped.

    @cached_property
    def document(self) -> dict[str, Any]:
        """Grafana's JSON; computed on demand, because most callers need only what a dashboard shows."""
        return document(self._model)

    @property
    def importable(self) -> dict[str, Any]:
        """Grafana's JSON for its import dialog."""
        return importable(self.document)


def build(name: str, page: Page, settings: Settings, edition: Edition, uids: Mapping[str, str] = {}) -> Dashboard:
    """The dashboard of a page in one edition, beside pages with these uids, by name."""
    if page.exported_labels:
        settings = _of_exported_labels(settings)
    names = settings.labels
    context = Context(
        settings,
        edition,
        Lines(edition, page.worst, page.drafting, page.lines),
        {names.spec_method: "baseline", names.variant: "baseline_variant"} if page.with_baseline else {},
        name,
        {**uids, name: uid(name, edition)},
        page.one_model,
    )
    panels, built, top = list[GrafanaPanel](), list[Built](), 0
    for row in page.rows:
        results = [panel.build(context) for panel in row.panels]
        in_row, top = _row(row, results, top, context)
        panels += in_row
        built += results
    shown = [one for one in built if one.panel]
    expressions = (target["expr"] for one in shown for target in one.panel.targets)
    used = {name for expr in expressions for name in re.findall(r"\$\{?(\w+)", expr)}
    return Dashboard(
        uid(name, edition),
        tuple((signal.name, one.panel.title) for one in shown for signal in one.shows),
        dashboard(
            title=f"Draftboard / {name.capitalize()}"
            + (" (raw)" if edition is Edition.RAW and len(page.editions) > 1 else ""),
            description=page.question,
            uid=uid(name, edition),
            tags=["draftboard", edition.value],
            refresh=span_text(Setting("dashboards.refresh"), settings),
            time_range=span_text(Setting("dashboards.time_range"), settings),
            annotations=annotations(Scope(settings, Level.MODEL, edition)),
            variables=variables(context, used),
            panels=panels,
        ),
    )


@lru_cache(maxsize=4)
def _of_exported_labels(settings: Settings) -> Settings:
    """Several pages read these: what is cached by settings is found sooner for one object than for equal ones."""
    return settings.model_copy(update={"labels": ExportedLabels.of(settings.labels)})


def _row(row: Row, results: Sequence[Built], top: int, context: Context) -> tuple[list[GrafanaPanel], int]:
    """The row's panels, and the first free line below; nothing of a row without a panel or a note."""
    panels = [one.panel for one in results if one.panel]
    if titles := tuple(dict.fromkeys(title for one in results for title in one.needs_rules)):
        panels.append(_needs_rules(titles, context))
    if not panels:
        return [], top
    inside, below = _flowed(panels, top + bool(row.question), stretched=bool(titles) or len(panels) < len(results))
    if not row.question:
        return inside, below
    head = row_panel(row.question, top, inside if row.collapsed else [], collapsed=row.collapsed)
    return ([head], top + 1) if row.collapsed else ([head, *inside], below)


def _needs_rules(titles: Sequence[str], context: Context) -> GrafanaPanel:
    rules, missing = context.settings.rules, "**Needs the recording rules** (load `alerts/recording.rules.yaml`)"
    if not rules.recorded_for(context.page):
        missing = f'**Not recorded** with `rules.tier = "{rules.tier}"`'
    return paragraph(f"{missing}: {'; '.join(titles)}.")


def _flowed(panels: Sequence[GrafanaPanel], top: int, *, stretched: bool) -> tuple[list[GrafanaPanel], int]:
    """The panels from left to right, and the first free line below; panels side by side have the same height.

    Where panels were left out, the others of their line are stretched.
    """
    lines: list[list[GrafanaPanel]] = [[]]
    for panel in panels:
        if sum(other.size[0] for other in lines[-1]) + panel.size[0] > GRID_WIDTH:
            lines.append([])
        lines[-1].append(panel)
    flowed = []
    for line in lines:
        left, height = 0, max(panel.size[1] for panel in line)
        taken = sum(panel.size[0] for panel in line) if stretched else GRID_WIDTH
        for panel in line:
            last = stretched and panel is line[-1]
            width = GRID_WIDTH - left if last else panel.size[0] * GRID_WIDTH // taken
            flowed.append(placed(panel, left=left, top=top, width=width, height=height))
            left += width
        top += height
    return flowed, top
