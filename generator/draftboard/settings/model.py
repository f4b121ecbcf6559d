"""Every number, label name, address and threshold that a user can change, with the reason for its default.

"HEUR" marks a rule of thumb without a measurement: a default to start from, not a fact.
"""

from pathlib import Path
from typing import Any, Self

from pydantic import Field, ValidationError, model_validator

from draftboard.durations import Duration
from draftboard.errors import DraftboardError
from draftboard.files import Table, first_mistake, read_toml
from draftboard.settings.alerts import Overlays
from draftboard.settings.fields import (
    LONGEST_DRAFT,
    RESERVED_LABELS,
    AboveZero,
    LabelName,
    MethodName,
    Positive,
    Ratio,
    Selector,
    Share,
    Url,
)
from draftboard.settings.objectives import BURN_WINDOWS, Buckets, Objectives, check_measurable
from draftboard.settings.planning import Planning
from draftboard.settings.stack import Stack
from draftboard.settings.thresholds import Thresholds, Traffic

_LOOK_BACK = Duration(300)


class Labels(Table):
    """Label names, as they arrive in Prometheus. Rename them here if relabelling renamed them there."""

    scope: tuple[LabelName, ...] = Field(default=("cluster", "namespace"), strict=False, max_length=8)
    """Labels wider than a job. Every record keeps them; they may be absent."""
    job: LabelName = "job"
    instance: LabelName = "instance"
    model_name: LabelName = "model_name"
    engine: LabelName = "engine"
    spec_method: LabelName = "spec_method"
    """Target label set by the user, because vLLM does not export the drafting method."""
    variant: LabelName = "variant"
    """Target label set by the user: an arm of an A/B comparison."""
    host: LabelName = "host"
    """Optional target label of vLLM and of the GPU exporter: equal values mean the same machine. Without it, the part
    of `instance` before the port stands for the machine."""

    @property
    def target(self) -> tuple[str, ...]:
        """Labels that identify a scraped server."""
        return (*self.scope, self.job, self.instance)

    @property
    def target_level(self) -> tuple[str, ...]:
        """Labels that a record of level `target` keeps."""
        return (*self.target, self.spec_method, self.variant)

    @property
    def engine_level(self) -> tuple[str, ...]:
        """Labels that a record of level `engine` keeps."""
        return (*self.target, self.model_name, self.engine, self.spec_method, self.variant)

    @property
    def model_level(self) -> tuple[str, ...]:
        """Labels that a record of level `model` keeps."""
        return (*self.scope, self.job, self.model_name, self.spec_method, self.variant)

    @property
    def host_level(self) -> tuple[str, ...]:
        """Labels that a machine's series keep."""
        return (*self.scope, self.host)

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        names = (*self.engine_level, self.host)
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise ValueError(f"names the label {repeated[0]!r} twice: every label needs a name of its own")
        return self


class Rules(Table):
    """How the rules are evaluated."""

    scrape_interval: Positive = Duration(15)
    window: Positive | None = None
    """Window of every rate: at least four scrapes, so that a failed one leaves enough points. Default: four scrapes, at
    least 5m."""
    evaluation_interval: Positive = Duration(60)
    compare_with: Positive = Duration(3600)
    """Offset of comparisons with the past."""
    baseline: Positive = Duration(86_400)
    """The past that defines a model's normal values: a day, so that it holds both day and night."""
    baseline_needs: Share = 0.25
    """Share of the baseline that must hold samples."""
    remember: Positive = Duration(3600)
    """How long a server that stopped answering counts as down; after that it counts as removed."""
    startup: Positive = Duration(1800)
    """How long a new target may load its model before it counts as down. A target that returns under its old address
    has no such grace."""

    @property
    def rate_window(self) -> Duration:
        """The window of every rate."""
        return self.window or max(Duration(300), self.scrape_interval * 4)

    @model_validator(mode="after")
    def _windows_hold_enough(self) -> Self:
        window, evaluation = self.rate_window, self.evaluation_interval
        least = self.scrape_interval * 4
        if self.scrape_interval >= _LOOK_BACK:
            raise ValueError(
                f"scrape_interval = {self.scrape_interval} is too long: shorter than {_LOOK_BACK}, after which "
                "Prometheus treats a series as gone",
            )
        if window < least:
            raise ValueError(f"window = {window} is too short: at least 4 scrapes, so {least} or longer")
        if window >= BURN_WINDOWS[0]:
            raise ValueError(f"window = {window} is too long: shorter than {BURN_WINDOWS[0]}, the shortest burn rate's")
        if evaluation > window:
            raise ValueError(f"evaluation_interval = {evaluation} is too long: at most the window, {window}")
        if not evaluation <= self.compare_with <= self.baseline:
            raise ValueError(
                f"compare_with = {self.compare_with} is out of range: from evaluation_interval, {evaluation}, "
                f"to baseline, {self.baseline}",
            )
        return self


class DraftCost(Table):
    """Cost of drafting, for break-even and expected speedup. Assumptions (HEUR) until you measure your own."""

    default: Ratio = 0.1
    """Time to draft one token over one target step: a draft model ten times faster, or an unknown method."""
    by_method: dict[MethodName, Ratio] = Field(
        default={
            # No model runs: the cost is a search on the CPU.
            **dict.fromkeys(("ngram", "ngram_gpu", "suffix"), 0.01),
            # One layer of the target, or a few heads.
            **dict.fromkeys(("eagle", "eagle3", "medusa", "mtp"), 0.05),
            # One pass of a small model drafts the whole block.
            "dflash": 0.02,
        },
        max_length=32,
    )
    verify_inflation: AboveZero = 1.0
    """A verify step over a plain step: 1 while the GPU waits for memory, more when it is short of compute."""


class Methods(Table):
    """Values of the `spec_method` label with a meaning to the rules."""

    baseline: MethodName = "none"
    """A server without speculation, on purpose."""
    lookup: tuple[MethodName, ...] = Field(default=("ngram", "ngram_gpu", "suffix"), strict=False, max_length=32)
    """Methods that copy from the text: a weak first position comes from the text, not from a misaligned drafter."""


class Links(Table):
    """Targets of the links in alerts and dashboards."""

    grafana: Url = "http://127.0.0.1:3000"
    runbooks: Url = "https://github.com/draftboard/draftboard/blob/main/alerts/runbooks"


class Dashboards(Table):
    """Defaults of every dashboard."""

    refresh: Positive = Duration(60)
    time_range: Positive = Duration(6 * 3600)


class Settings(Table):
    """All settings. The committed files are built with `Settings()`."""

    selector: Selector = ""
    """Matchers on target labels, added to every raw selector: cluster="prod" if one Prometheus holds several."""
    max_draft_tokens: int = Field(default=24, ge=1, le=LONGEST_DRAFT)
    """Longest draft that signals by depth cover: the largest default of any method, that of suffix decoding."""
    labels: Labels = Labels()
    rules: Rules = Rules()
    draft_cost: DraftCost = DraftCost()
    methods: Methods = Methods()
    thresholds: Thresholds = Thresholds()
    traffic: Traffic = Traffic()
    planning: Planning = Planning()
    buckets: Buckets = Buckets()
    slo: Objectives = Objectives()
    alerts: Overlays = Field(default={})
    links: Links = Links()
    dashboards: Dashboards = Dashboards()
    stack: Stack = Stack()

    @property
    def spans(self) -> dict[str, Duration]:
        """Durations that stand in names and texts, by placeholder."""
        return {
            "window": self.rules.rate_window,
            "before": self.rules.compare_with,
            "baseline": self.rules.baseline,
            "remember": self.rules.remember,
            "slo": self.slo.window,
        }

    @model_validator(mode="after")
    def _parts_fit_together(self) -> Self:
        of_engines = {self.labels.model_name, self.labels.engine} | RESERVED_LABELS
        unfit = sorted(of_engines & {part.partition("=")[0].rstrip("!") for part in self.selector.split(",")})
        if unfit:
            raise ValueError(f"selector names {unfit[0]!r}, which targets do not carry: use target labels only")
        check_measurable(self.slo, self.buckets)
        return self


def load(path: Path | None) -> Settings:
    """Read the settings in `path` over the defaults; without a path, the defaults.

    Raises:
        DraftboardError: the file cannot be read, is not TOML, or holds an unknown key or a value that is not allowed.
    """
    if path is None:
        return Settings()
    document = read_toml(path, "settings")
    try:
        return Settings.model_validate(_overlaid(Settings().model_dump(mode="json", by_alias=True), document))
    except ValidationError as error:
        raise DraftboardError(f"{path}: {first_mistake(error, Settings, 'settings')}") from None


def _overlaid(defaults: dict[str, Any], document: dict[str, Any]) -> dict[str, Any]:
    """The document over the defaults, table by table: naming one key of a table keeps its other defaults."""
    merged = defaults | document
    for key, default in defaults.items():
        if isinstance(default, dict) and isinstance(merged[key], dict):
            merged[key] = _overlaid(default, merged[key])
    return merged
