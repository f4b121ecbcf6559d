"""Every number, label name, address and threshold that a user can change, with the reason for its default.

"Heuristic" marks a rule of thumb without a measurement: a default to start from, not a fact.
"""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import BaseModel, Field, PrivateAttr, ValidationError, model_validator

from draftboard import REVISION
from draftboard.catalogue.dialects import DIALECTS, Dialect, DialectName
from draftboard.durations import Duration
from draftboard.errors import DraftboardError
from draftboard.files import Table, first_mistake, read_toml
from draftboard.quantity import LeftOpen
from draftboard.settings import fields
from draftboard.settings.costs import Cost, DraftCost
from draftboard.settings.fields import WHOLE, Delay, MethodName, ModelPattern, Positive, Templated, Url, written
from draftboard.settings.labels import ADDED_LABELS, SERIES_LABELS, LabelKey, LabelName, Labels
from draftboard.settings.objectives import Buckets, Objectives, check_measurable
from draftboard.settings.rules import Rules
from draftboard.settings.runbooks import Runbooks
from draftboard.settings.stack import Stack
from draftboard.settings.thresholds import Planning, Thresholds, Traffic

Severity = Literal["none", "info", "warning", "critical"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)  # From the least to the most urgent.
GrafanaName = Annotated[str, written(r"[\w-]{1,40}", "must be 1 to 40 letters, digits, _ and -")]
SeverityName = Annotated[str, written(r"[\w-]{1,40}", "must be 1 to 40 letters, digits, _ and -")]
AlertName = Annotated[str, written("[A-Za-z]+", "must be the name of an alert: letters only")]


class Series(Table):
    """The series that rules and dashboards read."""

    dialect: DialectName = "vllm"
    """The engine or pipeline that names them. Series that it does not export have no record, alert or panel."""
    jobs: ModelPattern = "vllm.*|(.*/)vllm.*"
    """Jobs whose targets are vLLM servers, as a regular expression: one that never answers counts as down even without
    a method label."""


class Methods(Table):
    """Values of the label `spec_method` that rules treat differently."""

    baseline: MethodName = "none"
    """A server deliberately without speculation."""
    lookup: tuple[MethodName, ...] = Field(default=("ngram", "ngram_gpu", "suffix"), strict=False, max_length=32)
    """Methods that copy from the text: a weak first position comes from the text, not from a misaligned drafter."""
    adaptive: tuple[MethodName, ...] = Field(default=("adaptive", "dynamic"), strict=False, min_length=1, max_length=32)
    """Values of the label `spec_verification` of servers whose steps draft or verify fewer than K tokens under load:
    acceptance by position then says nothing about the drafter."""


class Additions(Table):
    """`[all_alerts]`: labels and annotations of every alert, besides its own. Prometheus expands templates in them."""

    labels: dict[LabelName, Templated] = Field(default={}, max_length=16, examples=[{"team": "llm"}])
    annotations: dict[LabelKey, Templated] = Field(default={}, max_length=16, examples=[{"contact": "#llm-serving"}])


class Overlay(Additions):
    """`[alerts.<name>]`: keys that are not set keep the alert's own values. Labels and annotations are added."""

    enabled: bool = True
    """If false, there is no rule, no runbook, and no inhibition that names the alert."""
    pending_period: Delay | None = Field(default=None, alias="for", examples=["30m"])
    keep_firing_for: Delay | None = Field(default=None, examples=["15m"])
    severity: Severity | None = Field(default=None, examples=["critical"])


class Severities(Table):
    """Values of the label `severity`, where your routes have other names. Routes of the stack and pages follow."""

    critical: SeverityName = "critical"
    """Users wait or fail now, and a person can act."""
    warning: SeverityName = "warning"
    """Work for the day."""
    info: SeverityName = "info"
    """Advice."""
    none: SeverityName = "none"
    """Notifies nobody: the watchdog."""

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        if len({*vars(self).values()}) < len(SEVERITIES):
            raise ValueError("two severities have one name: routes could not tell them apart")
        return self

    def named(self, severity: Severity) -> str:
        """The label's value."""
        name: str = getattr(self, severity)
        return name


class Managed(Table):
    """Rules that Grafana evaluates itself, without a ruler: `alerts/grafana/`."""

    datasource: GrafanaName = "prometheus"
    """Uid of the data source that they query and write records to, as in the address of its page."""
    folder: GrafanaName = "Draftboard"
    """Where Grafana lists them."""


class Links(Table):
    """Targets of the links in alerts and dashboards."""

    grafana: Url | None = Field(default=None, examples=["https://grafana.example.com"])
    """Grafana's address as a browser reaches it. Without it alerts carry no link to a dashboard."""
    runbooks: Url = f"https://github.com/draftboard/draftboard/blob/{REVISION}/alerts/runbooks"


class Dashboards(Table):
    """Defaults of every dashboard."""

    refresh: Positive = Duration(60)
    time_range: Positive = Duration(6 * 3600)


class Settings(Table):
    """All settings. The committed files are built with `Settings()`."""

    selector: fields.Selector = ""
    """Matchers on target labels, added to every raw selector: cluster="prod" if one Prometheus holds several."""
    max_draft_tokens: int = Field(default=24, ge=1, le=fields.LONGEST_DRAFT)
    """Longest draft that signals by draft length cover. Default: the largest default of any method (suffix
    decoding)."""
    labels: Labels = Labels()
    series: Series = Series()
    rules: Rules = Rules()
    draft_cost: DraftCost = DraftCost()
    cost: Cost = Cost()
    methods: Methods = Methods()
    thresholds: Thresholds = Thresholds()
    traffic: Traffic = Traffic()
    planning: Planning = Planning()
    buckets: Buckets = Buckets()
    slo: Objectives = Objectives()
    severities: Severities = Severities()
    all_alerts: Additions = Additions()
    alerts: dict[AlertName, Overlay] = Field(default={}, examples=["SpecDecodeNotPaying"])
    links: Links = Links()
    runbooks: Runbooks = Runbooks()
    managed: Managed = Managed()
    dashboards: Dashboards = Dashboards()
    stack: Stack = Stack()

    _left_open: LeftOpen | None = PrivateAttr(default=None)

    def __hash__(self) -> int:
        """Of the values: tables hold lists and mappings, which have no hash of their own."""
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash(self.model_dump_json())

    @property
    def left_open(self) -> LeftOpen | None:
        """How texts write quantities of settings that are still open; None where settings have values."""
        return self._left_open

    def opened(self, left_open: LeftOpen) -> "Settings":
        """These settings, for texts in which numbers and durations are still open."""
        opened = self.model_copy()
        opened._left_open = left_open  # noqa: SLF001  (of its own class)
        return opened

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> "Settings":
        """A copy, with some values replaced."""
        copied = super().model_copy(update=update, deep=deep)
        copied.__dict__.pop("_hash", None)
        return copied

    @property
    def dialect(self) -> Dialect:
        """The dialect of the series that are read."""
        return DIALECTS[self.series.dialect]

    def speaking(self, dialect: Dialect) -> "Settings":
        """These settings, for series of another dialect."""
        return self if dialect is self.dialect else self.model_copy(update={"series": Series(dialect=dialect.name)})

    @model_validator(mode="before")
    @classmethod
    def _engines_of_dialect(cls, given: object) -> object:
        """Name the label that tells engines apart as the dialect does, unless the settings say otherwise."""
        series, labels = (given.get(key, {}) if isinstance(given, dict) else {} for key in ("series", "labels"))
        own = DIALECTS[series["dialect"]].engine_label if series.get("dialect") in DIALECTS else ""
        return given | {"labels": {"engine": own} | labels} if own and isinstance(given, dict) else given

    @model_validator(mode="after")
    def _parts_fit_together(self) -> Self:
        of_engines = {self.labels.model_name, self.labels.engine} | SERIES_LABELS | ADDED_LABELS
        if unfit := sorted(of_engines & {part.partition("=")[0].rstrip("!") for part in self.selector.split(",")}):
            raise ValueError(f"selector names {unfit[0]!r}, which targets do not carry: use target labels only")
        carried = {*self.labels.engine_level, self.labels.host}
        tables = {"all_alerts": self.all_alerts, **{f"alerts.{name}": own for name, own in self.alerts.items()}}
        for table, added in tables.items():
            if taken := sorted(carried & added.labels.keys()):
                raise ValueError(f"{table}.labels names {taken[0]!r}, which tells servers apart: choose another label")
        check_measurable(self.slo, self.buckets)
        return self


def load(path: Path | None) -> Settings:
    """Read the settings in `path` over the defaults; the names of alerts are checked by `draftboard.alerts.load`."""
    if path is None:
        return Settings()
    document = read_toml(path, "settings")
    try:
        return Settings.model_validate(_overlaid(Settings(), document))
    except ValidationError as error:
        raise DraftboardError(f"{path}: {first_mistake(error, Settings, 'settings')}") from None


def _overlaid(defaults: BaseModel, document: dict[str, Any]) -> dict[str, Any]:
    """The document, in which naming one key of a table of the user's own keys keeps its other defaults.

    No other default is named: whether a cost was set decides how far a verdict goes.
    """
    merged = dict(document)
    for key, table in document.items():
        held = getattr(defaults, key, None)
        if isinstance(held, BaseModel) and isinstance(table, dict):
            merged[key] = _overlaid(held, table)
        elif isinstance(held, Mapping) and isinstance(table, dict) and WHOLE not in _marks(defaults, key):
            merged[key] = {**held, **table}
    return merged


def _marks(table: BaseModel, key: str) -> list[Any]:
    return type(table).model_fields[key].metadata
