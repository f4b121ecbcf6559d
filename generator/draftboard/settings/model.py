"""Every number, label name, address and threshold that a user may want otherwise, with the reason for its default.

"HEUR" marks a rule of thumb that nobody has measured: a default to start from, never a fact.
"""

from typing import Self

from pydantic import Field, model_validator

from draftboard.documents import Table
from draftboard.durations import Duration
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
    """Label names, as they arrive in Prometheus. Rename them here when relabelling renamed them there."""

    scope: tuple[LabelName, ...] = Field(default=("cluster", "namespace"), strict=False, max_length=8)
    """Wider than a job; kept in every record, absent without harm where nobody sets them."""
    job: LabelName = "job"
    instance: LabelName = "instance"
    model_name: LabelName = "model_name"
    engine: LabelName = "engine"
    spec_method: LabelName = "spec_method"
    """Target label that the user sets, for vLLM does not export the drafting method."""
    variant: LabelName = "variant"
    """Target label that the user sets: an arm of an A/B comparison."""
    host: LabelName = "host"
    """Target label that the user may set on vLLM and on the GPU exporter alike, so that both are known to be on one
    machine. Without it, what stands before the port of `instance` is taken for the machine."""

    @property
    def target(self) -> tuple[str, ...]:
        """What tells one scraped server from another."""
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
    """Of every rate: at least four scrapes, so that a failed one leaves enough points. Default: that, or 5m."""
    evaluation_interval: Positive = Duration(60)
    compare_with: Positive = Duration(3600)
    """How long ago "before" is, when now is compared with before."""
    baseline: Positive = Duration(86_400)
    """The past that is a model's normal: a day, so that day and night are both in it."""
    baseline_needs: Share = 0.25
    """Share of the baseline that must hold samples before it is called normal."""
    remember: Positive = Duration(3600)
    """How long a server that stopped answering counts as down rather than forgotten."""
    startup: Positive = Duration(1800)
    """How long a new target may load its model before it counts as down. One that returns under its old address is down
    until it answers."""

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
                "Prometheus takes a series for gone",
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
    """What drafting costs, in break-even and expected speedup. Assumptions (HEUR) until you measure yours."""

    default: Ratio = 0.1
    """Time of drafting one token over one target step: a draft model ten times faster, or an unknown method."""
    by_method: dict[MethodName, Ratio] = Field(
        default={
            # No model runs: the price is a search on the CPU.
            "ngram": 0.01,
            "ngram_gpu": 0.01,
            "suffix": 0.01,
            # One layer of the target, or a few heads.
            "eagle": 0.05,
            "eagle3": 0.05,
            "medusa": 0.05,
            "mtp": 0.05,
            # One pass of a small model drafts the whole block.
            "dflash": 0.02,
        },
        max_length=32,
    )
    verify_inflation: AboveZero = 1.0
    """A verify step over a plain step: 1 while the GPU waits for memory, more once it is short of compute."""


class Methods(Table):
    """Values of the `spec_method` label that mean something to the rules."""

    baseline: MethodName = "none"
    """A server that runs without speculation on purpose."""
    lookup: tuple[MethodName, ...] = Field(default=("ngram", "ngram_gpu", "suffix"), strict=False, max_length=32)
    """Methods that copy from the text: a weak first position is the text's doing, no drafter is out of step."""


class Links(Table):
    """Where the links in alerts and dashboards lead."""

    grafana: Url = "http://127.0.0.1:3000"
    runbooks: Url = "https://github.com/draftboard/draftboard/blob/main/alerts/runbooks"


class Dashboards(Table):
    """What every dashboard shares."""

    refresh: Positive = Duration(60)
    time_range: Positive = Duration(6 * 3600)


class Settings(Table):
    """All of them. `Settings()` is what the committed files are built with."""

    selector: Selector = ""
    """Matchers on target labels, put into every raw selector: cluster="prod" when one Prometheus holds more."""
    max_draft_tokens: int = Field(default=24, ge=1, le=LONGEST_DRAFT)
    """Longest draft that per-depth signals cover: the largest default of any method, suffix decoding's."""
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
    def _selector_fits_targets(self) -> Self:
        of_engines = {self.labels.model_name, self.labels.engine} | RESERVED_LABELS
        unfit = sorted(of_engines & {part.partition("=")[0].rstrip("!") for part in self.selector.split(",")})
        if unfit:
            raise ValueError(f"selector names {unfit[0]!r}, which targets do not carry: use target labels only")
        return self

    @model_validator(mode="after")
    def _promises_can_be_measured(self) -> Self:
        check_measurable(self.slo, self.buckets)
        return self
