"""Every number, label name, address and threshold that a user may want otherwise, with the reason for its default.

"HEUR" marks a rule of thumb that nobody has measured: a default to start from, never a fact.
"""

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from draftboard.durations import Duration
from draftboard.settings.fields import (
    RESERVED_LABELS,
    AboveZero,
    Hold,
    LabelName,
    MethodName,
    Positive,
    Ratio,
    Selector,
    Share,
    Url,
)


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, arbitrary_types_allowed=True)


class Labels(_Model):
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

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        names = self.engine_level
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise ValueError(f"names the label {repeated[0]!r} twice: every label needs a name of its own")
        return self


class Rules(_Model):
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

    @property
    def rate_window(self) -> Duration:
        """The window of every rate."""
        return self.window or max(Duration(300), self.scrape_interval * 4)

    @model_validator(mode="after")
    def _windows_hold_enough(self) -> Self:
        window, evaluation = self.rate_window, self.evaluation_interval
        least = self.scrape_interval * 4
        if window < least:
            raise ValueError(f"window = {window} is too short: at least 4 scrapes, so {least} or longer")
        if evaluation > window:
            raise ValueError(f"evaluation_interval = {evaluation} is too long: at most the window, {window}")
        if not evaluation <= self.compare_with <= self.baseline:
            raise ValueError(
                f"compare_with = {self.compare_with} is out of range: from evaluation_interval, {evaluation}, "
                f"to baseline, {self.baseline}",
            )
        return self


class DraftCost(_Model):
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


class Methods(_Model):
    """Values of the `spec_method` label that mean something to the rules."""

    baseline: MethodName = "none"
    """A server that runs without speculation on purpose."""
    lookup: tuple[MethodName, ...] = Field(default=("ngram", "ngram_gpu", "suffix"), strict=False, max_length=32)
    """Methods that copy from the text: a weak first position is the text's doing, no drafter is out of step."""


class Bands(_Model):
    """Acceptance (accepted / drafted tokens) in words. HEUR, and not comparable across draft lengths."""

    fair: Share = 0.4
    healthy: Share = 0.6
    optimal: Share = 0.7
    suspicious: Share = 0.98
    """So high for long is rarely a good drafter and often a repetition loop."""

    @model_validator(mode="after")
    def _rise(self) -> Self:
        if not self.fair < self.healthy < self.optimal < self.suspicious:
            raise ValueError("must rise: fair < healthy < optimal < suspicious")
        return self


class Thresholds(_Model):
    """Where a number changes its meaning. Alerts fire, panels colour and advice turns at these same values."""

    acceptance: Bands = Bands()
    pays_clearly: AboveZero = 1.1
    """Expected speedup from which speculation is said to pay; between 1 and this it is about even. HEUR."""
    drop: Share = 0.8
    """Acceptance now over acceptance before, under which the workload or the drafter has changed. HEUR."""
    anomaly: AboveZero = 3.0
    """Standard deviations under the model's own day."""
    deviation_floor: Share = 0.05
    """Least standard deviation assumed, as a share of the mean: a very steady model is not alarmed by a breath."""
    first_position: Share = 0.7
    """Share of drafts whose first token is accepted, under which a drafter is misaligned. HEUR."""
    last_position_low: Share = 0.1
    """Share of drafts accepted to the last position, under which the draft is too long. HEUR."""
    last_position_high: Share = 0.3
    """And above which it is too short. HEUR."""
    full_drafts: Share = 0.9
    """Mean draft length over configured K, under which the last position says little: drafts seldom reach it."""
    outlier: Share = 0.75
    """An engine's acceptance length over its model's other engines'. HEUR."""
    inconsistent: Share = 0.05
    """Relative error of an identity that the counters hold exactly; rates differ a little where series begin."""

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.last_position_low >= self.last_position_high:
            raise ValueError("last_position_low must be under last_position_high")
        if self.pays_clearly <= 1:
            raise ValueError("pays_clearly must be over 1, the break-even")
        return self


class Traffic(_Model):
    """Least traffic worth a judgement: ratios of a handful of drafts are noise."""

    drafts_per_second: AboveZero = 0.1
    tokens_per_second: AboveZero = 1.0


class Alert(_Model):
    """How patient an alert is. All are about efficiency, so none pages by default."""

    hold: Hold = Field(alias="for")
    keep_firing_for: Hold = Duration(0)
    """Bridges short recoveries of an expression that flaps; 0s leaves it out."""
    severity: Literal["critical", "warning", "info"] = "warning"


def _alert(hold: str, keep: str = "0s", severity: Literal["critical", "warning", "info"] = "warning") -> Alert:
    return Alert.model_validate({"for": hold, "keep_firing_for": keep, "severity": severity})


class Alerts(_Model):
    """One entry an alert, under the alert's own name."""

    SpecDecodeNotPaying: Alert = _alert("30m", "15m")
    SpecDecodeAcceptanceDrop: Alert = _alert("15m", "10m")
    SpecDecodeLengthAnomaly: Alert = _alert("15m", "10m")
    SpecDecodeFirstPositionWeak: Alert = _alert("30m", "15m")
    SpecDecodeDraftTooLong: Alert = _alert("1h", severity="info")
    SpecDecodeDraftTooShort: Alert = _alert("1h", severity="info")
    SpecDecodeEngineOutlier: Alert = _alert("15m", "10m")
    SpecDecodeSuspiciouslyHigh: Alert = _alert("30m", "10m")
    SpecDecodeInactive: Alert = _alert("30m", severity="info")
    SpecDecodeMetricsMissing: Alert = _alert("10m")
    SpecDecodeMetricsInconsistent: Alert = _alert("15m")


class Links(_Model):
    """Where the links in alerts and dashboards lead."""

    grafana: Url = "http://127.0.0.1:3000"
    runbooks: Url = "https://github.com/draftboard/draftboard/blob/main/alerts/runbooks"


class Dashboards(_Model):
    """What every dashboard shares."""

    refresh: Positive = Duration(60)
    time_range: Positive = Duration(6 * 3600)


class Settings(_Model):
    """All of them. `Settings()` is what the committed files are built with."""

    selector: Selector = ""
    """Matchers on target labels, put into every raw selector: cluster="prod" when one Prometheus holds more."""
    max_draft_tokens: int = Field(default=24, ge=1, le=99)
    """Longest draft that per-depth signals cover: the largest default of any method, suffix decoding's."""
    labels: Labels = Labels()
    rules: Rules = Rules()
    draft_cost: DraftCost = DraftCost()
    methods: Methods = Methods()
    thresholds: Thresholds = Thresholds()
    traffic: Traffic = Traffic()
    alerts: Alerts = Alerts()
    links: Links = Links()
    dashboards: Dashboards = Dashboards()

    @model_validator(mode="after")
    def _selector_fits_targets(self) -> Self:
        of_engines = {self.labels.model_name, self.labels.engine} | RESERVED_LABELS
        unfit = sorted(of_engines & {part.partition("=")[0].rstrip("!") for part in self.selector.split(",")})
        if unfit:
            raise ValueError(f"selector names {unfit[0]!r}, which targets do not carry: use target labels only")
        return self
