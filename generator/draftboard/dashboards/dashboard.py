"""A Page is a dashboard in the making: rows of panels, each made from signals for the page's edition."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import attr
from grafanalib import core

from draftboard.catalogue import serving
from draftboard.dashboards import lines
from draftboard.dashboards.annotations import annotations
from draftboard.dashboards.charts import GRID_WIDTH, uid
from draftboard.dashboards.importing import importable
from draftboard.dashboards.lines import Lines
from draftboard.dashboards.panels import GRAFANA, Panel, note
from draftboard.dashboards.tables import Tables
from draftboard.dashboards.tiles import Tiles
from draftboard.expr.promql import number
from draftboard.expr.scope import Matcher
from draftboard.expr.tree import Raw
from draftboard.settings import Settings
from draftboard.signals import Edition, Level, Scope
from draftboard.signals.latency import QUANTILE
from draftboard.signals.traffic import generation_tokens
from draftboard.signals.versus import price

_OF_MODELS = {"job": "Job", "model_name": "Model", "spec_method": "Method", "variant": "Variant"}
_OF_ENGINES = _OF_MODELS | {"instance": "Instance", "engine": "Engine"}
_IN_MENU = 3
"""Grafana's way to show a variable in the menu of the dashboard's controls only."""


def label_variables(
    settings: Settings, series: Callable[[tuple[Matcher, ...]], str], *, by_engine: bool
) -> list[dict[str, Any]]:
    """A variable for each label of a model or an engine, read from the series that match the variables before it."""
    roles = _OF_ENGINES if by_engine else _OF_MODELS
    titles = {scope: scope.replace("_", " ").capitalize() for scope in settings.labels.scope}
    titles |= {getattr(settings.labels, role): title for role, title in roles.items()}
    always = {settings.labels.job, settings.labels.instance}
    # Who lists others sets them; of the default ones nothing is known.
    in_menu = settings.labels.scope if settings.labels.scope == Settings().labels.scope else ()
    chosen = tuple(Matcher(name, "=~", f"${name}") for name in titles)
    return [
        _label_variable(name, title, f"label_values({series(chosen[:index])}, {name})", required=name in always)
        | ({"hide": _IN_MENU} if name in in_menu else {})
        for index, (name, title) in enumerate(titles.items())
    ]


def _label_variable(name: str, title: str, values: str, *, required: bool) -> dict[str, Any]:
    # Every series has a job and an instance. The others may be absent, and an absent label equals an empty one.
    own = {"allValue": ".+" if required else ".*", "definition": values, "label": title, "name": name}
    asked = {"qryType": 1, "query": values, "refId": "PrometheusVariableQueryEditor-VariableQuery"}
    return {**GRAFANA["variables"]["label"], **own, "query": asked}


def choices(settings: Settings, drawn: Lines) -> list[dict[str, Any]]:
    """Variables that are no labels: what is drawn, and draft cost and verify inflation to try."""
    costs, raw = settings.draft_cost, drawn.edition is Edition.RAW
    percentiles = {f"P{percent}": f"{percent / 100:g}" if raw else f"p{percent}" for percent in (50, 95, 99)}
    how_many = {f"{count} {drawn.first}": str(count) for count in drawn.offered} | {"all": "1000"}
    return [
        _choice(lines.LINES, "Lines", how_many) | {"description": f"How many lines a graph draws: {drawn.order}"},
        _choice(QUANTILE, "Percentile", ({} if raw else {"mean": "mean"}) | percentiles, "P99"),
        _choice(lines.SLO, "SLO", {name.replace("_", " "): name for name in settings.slo.declared}),
        _number("draft_cost", "Draft cost c", costs.default, (0.0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3)),
        _number(
            "price", f"Price of an engine-hour ({settings.cost.currency})", price(settings), (1.0, 2.0, 4.0, 8.0, 16.0)
        ),
        _number("verify_inflation", "Verify inflation v", costs.inflation_by_batch[0][1], (1.0, 1.1, 1.25, 1.5, 2.0)),
    ]


def _number(name: str, label: str, chosen: float, offered: Sequence[float]) -> dict[str, Any]:
    """The value of the settings is selected; any other can be typed."""
    values = [number(value) for value in sorted({*offered, chosen})]
    found = _choice(name, label, dict(zip(values, values, strict=True)), number(chosen))
    return found | {"allowCustomValue": True, "query": ",".join(values)}


def _choice(name: str, label: str, values: Mapping[str, str], chosen: str = "") -> dict[str, Any]:
    """A choice of values by their names, of which the first is selected unless another is."""
    chosen = chosen or next(iter(values), "")
    options = [{"selected": text == chosen, "text": text, "value": value} for text, value in values.items()]
    named = ",".join(f"{text} : {value}" for text, value in values.items())
    current = next((option for option in options if option["selected"]), {})
    own = {"current": current, "label": label, "name": name, "options": options, "query": named}
    return {**GRAFANA["variables"]["choice"], **own}


SCHEMA_VERSION = 42
# grafanalib can only add keys. What the current schema does not know, or we do not set, is removed by these lists.
_DASHBOARD_KEYS = frozenset(
    {"annotations", "description", "editable", "graphTooltip", "links", "panels", "refresh", "schemaVersion", "tags"}
    | {"templating", "time", "timezone", "title", "uid"}
)
_PANEL_KEYS = frozenset(
    {"datasource", "description", "fieldConfig", "gridPos", "hideTimeOverride", "id", "interval", "links", "options"}
    | {"targets", "timeFrom", "title", "transformations", "transparent", "type"}
)
_ROW_KEYS = frozenset({"collapsed", "gridPos", "id", "panels", "title", "type"})


@dataclass(frozen=True)
class Dashboard:
    """A finished dashboard, and which signals its panels show."""

    uid: str
    made: core.Dashboard
    shows: tuple[tuple[str, str], ...]  # Signal name and panel title.

    @cached_property
    def document(self) -> dict[str, Any]:
        """Grafana's JSON, made when it is asked for: most who want a dashboard only ask what it shows."""
        return _finished(self.made)

    @property
    def importable(self) -> dict[str, Any]:
        """The same for Grafana's import dialog."""
        return importable(self.document)


@dataclass
class Page(Tables, Tiles):
    """One dashboard."""

    description: str
    by_engine: bool = False  # Whether a panel shows engines one by one, so that they can be selected.
    _placed: list[Panel] = field(default_factory=list, init=False)
    _top: int = field(default=0, init=False)

    def row(self, question: str, *shown: Panel, collapsed: bool = False) -> None:
        """Add a row below the others; its title is the question that its panels answer.

        A collapsed row runs no query until it is opened. What the edition cannot afford to show, a note tells; a row
        without a panel or a note is left out.
        """
        inside, below = self._laid_out(shown, self._top + 1)
        if not inside:
            return
        place = core.GridPos(h=1, w=GRID_WIDTH, x=0, y=self._top)
        hidden, visible = (inside, []) if collapsed else ([], inside)
        self._placed += [core.RowPanel(title=question, collapsed=collapsed, gridPos=place, panels=hidden), *visible]
        self._top = self._top + 1 if collapsed else below

    def panels(self, *shown: Panel) -> None:
        """Add panels below the others, without a row."""
        placed, self._top = self._laid_out(shown, self._top)
        self._placed += placed

    def _laid_out(self, shown: Sequence[Panel], top: int) -> tuple[list[Panel], int]:
        """The panels that there are, a note on the others, and the first free line below."""
        there = [*(panel for panel in shown if panel), *self._note()]
        laid_out = _flowed(there, top, stretched=bool(self.left_out) or not all(shown))
        self.left_out.clear()
        return laid_out

    def _note(self) -> list[Panel]:
        """What the row would show with the recording rules; nothing where it shows all."""
        if not self.left_out:
            return []
        titles = "; ".join(dict.fromkeys(self.left_out))
        return [note(f"**Needs the recording rules** (load `alerts/recording.rules.yaml`): {titles}.", GRID_WIDTH)]

    def build(self) -> Dashboard:
        """The dashboard."""
        tags = ["draftboard", self.edition.value]
        shared = core.DashboardLink(title="Draftboard", tags=tags, asDropdown=True, includeVars=True, keepTime=True)
        dashboard = core.Dashboard(
            title=f"Draftboard / {self.subject.capitalize()}" + (" (raw)" if self.edition is Edition.RAW else ""),
            description=self.description,
            uid=uid(self.subject, self.edition),
            tags=["vllm", "speculative-decoding", *tags],
            schemaVersion=SCHEMA_VERSION,
            editable=False,
            graphTooltip=1,
            timezone="browser",
            refresh=str(self.settings.dashboards.refresh),
            time=core.Time(f"now-{self.settings.dashboards.time_range}", "now"),
            links=[shared],
            annotations=core.Annotations(annotations(Scope(self.settings, Level.MODEL, self.edition))),
            templating=core.Templating(self._variables()),
            panels=self._placed,
        )
        return Dashboard(uid(self.subject, self.edition), dashboard, tuple(self.shows))

    def _variables(self) -> list[dict[str, Any]]:
        raw = self.edition is Edition.RAW
        labels = label_variables(self.settings, self._series_of_every_server, by_engine=raw or self.by_engine)
        used = [each for each in choices(self.settings, self._lines) if each["name"] in self.used]
        return [GRAFANA["variables"]["datasource"], *labels, *self._beside(), *used]

    def _beside(self) -> list[dict[str, Any]]:
        """Variables that choose the arm beside which the others are shown."""
        names, chosen, made = self.settings.labels, tuple[Matcher, ...](), list[dict[str, Any]]()
        for label, variable in self.against.items():
            matchers = (Matcher(names.model_name, "=~", f"${names.model_name}"), *chosen)
            values = f"label_values({self._series_of_every_server(matchers)}, {label})"
            method = label == names.spec_method
            title = "Baseline" if method else f"Baseline's {label}"
            current = {"current": {"text": (plain := self.settings.methods.baseline), "value": plain}} if method else {}
            made.append(
                _label_variable(variable, title, values, required=False)
                | {"multi": False, "includeAll": False}
                | (current or {"current": {"text": "", "value": ""}})
            )
            chosen = (Matcher(label, "=", f"${variable}"),)
        return made

    def _series_of_every_server(self, chosen: tuple[Matcher, ...]) -> str:
        """A series that every server has, speculating or not, so that each can be selected."""
        scope = Scope(self.settings, Level.ENGINE if self.by_engine else Level.MODEL, only=chosen)
        return scope(Raw(serving.GENERATION_TOKENS) if self.edition is Edition.RAW else generation_tokens)


def _flowed(shown: Sequence[Panel], top: int, *, stretched: bool) -> tuple[list[Panel], int]:
    """The panels from left to right, and the first free line below; panels side by side have the same height.

    Where panels were left out, the others of their line are stretched.
    """
    lines: list[list[Panel]] = [[]]
    for panel in shown:
        if sum(other.size[0] for other in lines[-1]) + panel.size[0] > GRID_WIDTH:
            lines.append([])
        lines[-1].append(panel)
    placed = []
    for line in lines:
        left, height = 0, max((panel.size[1] for panel in line), default=0)
        taken = sum(panel.size[0] for panel in line) if stretched else GRID_WIDTH
        for panel in line:
            last = stretched and panel is line[-1]
            width = GRID_WIDTH - left if last else panel.size[0] * GRID_WIDTH // taken
            placed.append(attr.evolve(panel, gridPos=core.GridPos(h=height, w=width, x=left, y=top)))
            left += width
        top += height
    return placed, top


def _finished(dashboard: core.Dashboard) -> dict[str, Any]:
    """The dashboard as JSON with unique panel ids, without legacy keys and without nulls that mean nothing."""
    made = _plain(dashboard.auto_panel_ids())
    clean: dict[str, Any] = _without_nulls({key: value for key, value in made.items() if key in _DASHBOARD_KEYS})
    return clean | {"panels": [_clean(panel) for panel in clean["panels"]]}


def _plain(value: Any) -> Any:  # noqa: ANN401  (of untyped classes)
    """As JSON has it. Numbers stay what they are, so that traced ones can still be told."""
    if hasattr(value, "to_json_data"):
        return _plain(value.to_json_data())
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, (list, tuple)) else value


def _clean(panel: dict[str, Any]) -> dict[str, Any]:
    known = _ROW_KEYS if panel["type"] == "row" else _PANEL_KEYS
    clean = {key: value for key, value in panel.items() if key in known and value is not False}
    return clean | {"panels": [_clean(inner) for inner in clean["panels"]]} if "panels" in clean else clean


def _without_nulls(value: Any, parent: str = "") -> Any:  # noqa: ANN401  (any JSON value)
    """Drop nulls, except the bounds of the lowest threshold and of open ranges: there null says "no bound"."""
    if isinstance(value, list):
        return [_without_nulls(inner, parent) for inner in value]
    if not isinstance(value, dict):
        return value
    bounds = {"steps": {"value"}, "options": {"from", "to"}}.get(parent, set())
    return {key: _without_nulls(inner, key) for key, inner in value.items() if inner is not None or key in bounds}
