"""Every number, label name, address and threshold that a user can change, with the reason for its default.

"Heuristic" marks a rule of thumb without a measurement: a default to start from, not a fact.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import Field, PrivateAttr, ValidationError, model_validator

from draftboard import __version__
from draftboard.catalogue.dialects import DIALECTS, Dialect, DialectName
from draftboard.durations import Duration
from draftboard.errors import DraftboardError
from draftboard.files import Table, first_mistake, read_toml
from draftboard.quantity import PACE, RATE_WINDOW, SILENCE, LeftOpen, duration
from draftboard.rulers import Ruler
from draftboard.settings import fields
from draftboard.settings.fields import (
    AboveZero,
    Currency,
    Delay,
    MethodName,
    ModelPattern,
    OneLine,
    Positive,
    Share,
    Url,
    written,
)
from draftboard.settings.labels import ADDED_LABELS, SERIES_LABELS, LabelKey, LabelName, Labels
from draftboard.settings.objectives import BURN_WINDOWS, Buckets, Objectives, check_measurable
from draftboard.settings.stack import Stack
from draftboard.settings.thresholds import Planning, Thresholds, Traffic

_LOOK_BACK = Duration(300)
Severity = Literal["none", "info", "warning", "critical"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)  # From the least to the most urgent.
GrafanaName = Annotated[str, written(r"[\w-]{1,40}", "must be 1 to 40 letters, digits, _ and -")]
AlertName = Annotated[str, written("[A-Za-z]+", "must be the name of an alert: letters only")]


class Series(Table):
    """The series that rules and dashboards read."""

    dialect: DialectName = "vllm"
    """The engine or pipeline that names them. Series that it does not export have no record, alert or panel."""


class Rules(Table):
    """How the rules are evaluated."""

    scrape_interval: Positive = Duration(15)
    """The scrape interval of vLLM's job in Prometheus."""
    window: Positive | None = Field(default=None, examples=["5m"])
    """Window of every rate: at least four scrapes, so that one may fail. Default: four scrapes, at least 5m."""
    down_after: Positive | None = Field(default=None, examples=["2m30s"])
    """How long a server answers no scrape before it counts as down. Default: two and a half scrapes, at least 2m30s: by
    default Prometheus scrapes once a minute."""
    evaluation_interval: Positive = Duration(60)
    query_offset: Delay = Duration(0)
    """Delay of evaluations behind remote write, where samples arrive late. Requires Prometheus 2.53; vmalert calls it
    eval_delay, and `gmp` has none."""
    compare_with: Positive = Duration(3600)
    """Offset of comparisons with an earlier time."""
    baseline: Positive = Duration(86_400)
    """Range that defines a model's usual values: a day, so that it includes day and night."""
    baseline_needs: Share = 0.25
    """Share of the baseline that must hold samples."""
    baseline_steps: Positive = Duration(3 * 86_400)
    """Range over which step times of a model's baseline are compared with those of speculating servers in like
    batches."""
    remember: Positive = Duration(3600)
    """How long a server or model stays known after its last sample, and the range over which restarts are counted."""
    startup: Positive = Duration(1800)
    """How long a target with a new address may load its model before it counts as down."""
    ruler: Ruler = "prometheus"
    """The program that evaluates the rules: their files are written in its format. `gmp` is Google's Managed
    Service."""

    @property
    def rate_window(self) -> Duration:
        """The window of every rate."""
        return duration(RATE_WINDOW, {"rules": self})

    @property
    def pace(self) -> Duration:
        """How far apart the points of a graph are: no closer than scrapes and evaluations."""
        return duration(PACE, {"rules": self})

    @property
    def silence(self) -> Duration:
        """How long a server answers no scrape before it counts as down."""
        return duration(SILENCE, {"rules": self})

    @property
    def longest_scrape_interval(self) -> Duration:
        """The longest interval of scrapes that the windows fit."""
        fitting = min(self.rate_window.seconds // 4, self.silence.seconds * 2 // 5)
        return max(self.scrape_interval, Duration(fitting))

    @model_validator(mode="after")
    def _windows_hold_enough(self) -> Self:
        scrape, window, evaluation = self.scrape_interval, self.rate_window, self.evaluation_interval
        least, past = scrape * 4, self.compare_with
        mistakes = {
            f"scrape_interval = {scrape} is too long: shorter than {_LOOK_BACK}, after which Prometheus treats a "
            "series as gone": scrape >= _LOOK_BACK,
            f"window = {window} is too short: at least 4 scrapes, so {least} or longer": window < least,
            f"window = {window} is too long: shorter than {BURN_WINDOWS[0]}, the shortest burn rate's": (
                window >= BURN_WINDOWS[0]
            ),
            f"down_after = {self.down_after} is too short: at least 2 scrapes, so {scrape * 2} or longer": (
                self.silence < scrape * 2
            ),
            f"evaluation_interval = {evaluation} is too long: at most the window, {window}": evaluation > window,
            f"compare_with = {past} is out of range: from evaluation_interval, {evaluation}, to baseline, "
            f"{self.baseline}": not evaluation <= past <= self.baseline,
        }
        if found := [words for words, wrong in mistakes.items() if wrong]:
            raise ValueError(found[0])
        return self


class DraftCost(Table):
    """Cost of drafting, for break-even and expected speedup. Assumptions until you measure your own."""

    default: fields.Ratio = 0.1
    """Time to draft one token / time of one target step: for a draft model ten times faster, or an unknown method."""
    by_method: dict[MethodName, fields.Ratio] = Field(
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
    verify_inflation: fields.InflationByBatch = Field(default={"1": 1.0})
    """Time of a verify step / time of a plain step: 1 while the GPU waits for memory, more when it lacks compute. One
    number for all loads, or by batch size (requests per engine), as in { 1 = 1.0, 8 = 1.4, 32 = 2.5 }: linear in
    between."""
    calibrated: tuple[MethodName, ...] = Field(default=(), strict=False, max_length=32)
    """Methods whose costs were measured, as `draftboard calibrate` does: their verdicts say so."""

    @property
    def inflation_by_batch(self) -> tuple[tuple[float, float], ...]:
        """Batch sizes and the verify inflation at each, from the smallest."""
        return tuple(sorted((float(size), inflation) for size, inflation in self.verify_inflation.items()))

    @property
    def inflation_is_curve(self) -> bool:
        """Whether the verify inflation follows the batch."""
        return len(self.verify_inflation) > 1

    @property
    def inflation_at_least_batch(self) -> float:
        """The verify inflation at the smallest batch."""
        return self.inflation_by_batch[0][1]

    @property
    def highest_inflation(self) -> float:
        """The highest verify inflation of any batch."""
        return max(self.verify_inflation.values())


class Cost(Table):
    """Price of serving, for the saving that dashboards derive from a measured speedup."""

    gpus_per_engine: AboveZero = 1.0
    """Tensor x pipeline parallel size: vLLM does not export it."""
    gpus_of_model: dict[ModelPattern, AboveZero] = Field(
        default={}, max_length=64, examples=[{"meta-llama/Llama-3.1-405B-Instruct": 8}]
    )
    """GPUs of an engine of other models, by name or regular expression."""
    price_per_gpu_hour: AboveZero | None = Field(default=None, examples=[2.5])
    """Without a price the saving is a number of GPUs."""
    currency: Currency = "USD"

    @property
    def price_per_engine_hour(self) -> float:
        """Of all GPUs of an engine; by default 1 for each."""
        return (self.price_per_gpu_hour or 1.0) * self.gpus_per_engine


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

    labels: dict[LabelName, OneLine] = Field(default={}, max_length=16, examples=[{"team": "llm"}])
    annotations: dict[LabelKey, OneLine] = Field(default={}, max_length=16, examples=[{"contact": "#llm-serving"}])


class Overlay(Additions):
    """`[alerts.<name>]`: keys that are not set keep the alert's own values. Labels and annotations are added."""

    enabled: bool = True
    """If false, there is no rule, no runbook, and no inhibition that names the alert."""
    pending_period: Delay | None = Field(default=None, alias="for", examples=["30m"])
    keep_firing_for: Delay | None = Field(default=None, examples=["15m"])
    severity: Severity | None = Field(default=None, examples=["critical"])


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
    runbooks: Url = f"https://github.com/draftboard/draftboard/blob/v{__version__}/alerts/runbooks"


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
    all_alerts: Additions = Additions()
    alerts: dict[AlertName, Overlay] = Field(default={}, examples=["SpecDecodeNotPaying"])
    links: Links = Links()
    managed: Managed = Managed()
    dashboards: Dashboards = Dashboards()
    stack: Stack = Stack()

    _hash: int | None = PrivateAttr(default=None)
    _left_open: LeftOpen | None = PrivateAttr(default=None)

    def __hash__(self) -> int:
        """Of the values: tables hold lists and mappings, which have no hash of their own."""
        if self._hash is None:
            self._hash = hash(self.model_dump_json())
        return self._hash

    @property
    def left_open(self) -> LeftOpen | None:
        """How quantities are written in texts that are made for settings still to come; None where they have values."""
        return self._left_open

    def opened(self, left_open: LeftOpen) -> "Settings":
        """These settings, for texts in which numbers and durations are still open."""
        opened = self.model_copy()
        opened._left_open = left_open  # noqa: SLF001  (of its own class)
        return opened

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> "Settings":
        """A copy, with some values replaced."""
        copied = super().model_copy(update=update, deep=deep)
        copied._hash = None  # noqa: SLF001
        return copied

    @property
    def dialect(self) -> Dialect:
        """The dialect of the series that are read."""
        return DIALECTS[self.series.dialect]

    def speaking(self, dialect: Dialect) -> "Settings":
        """The same settings for series of another dialect."""
        return self if dialect is self.dialect else self.model_copy(update={"series": Series(dialect=dialect.name)})

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
