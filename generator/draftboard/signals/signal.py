"""The Signal: one operator's question, defined once and rendered as record, panel, alert, table row and report line."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from draftboard.durations import Duration
from draftboard.expr.nodes import Condition, Expr, Recorded
from draftboard.expr.reads import exists
from draftboard.expr.resolve import define, holds
from draftboard.expr.scope import Level, Scope
from draftboard.quantity import RATE_WINDOW, Quantity, Setting, span_text, value
from draftboard.settings import Settings
from draftboard.status import Status


def within(title: str) -> str:
    """A title as it stands within a sentence; what begins with an abbreviation stays."""
    return title if title[1:2].isupper() or title[1:2].isdigit() else title[0].lower() + title[1:]


class Unit(Enum):
    """What a value counts: Grafana's name for it, and in words where Grafana has none."""

    RATIO = ("percentunit", "")
    TIMES = ("suffix:x", "times plain decoding")
    TIMES_NOW = ("suffix:x", "times as now")
    TIMES_MEDIAN = ("suffix:x", "times the median")
    TIMES_USUAL = ("suffix:x", "times the usual")
    TIMES_SUSTAINABLE = ("suffix:x", "times the sustainable rate")
    SECONDS = ("s", "")
    BYTES = ("bytes", "")
    OPERATIONS_PER_BYTE = ("short", "operations/byte")
    WATTS = ("watt", "")
    TOKENS = ("short", "tokens")
    TOKENS_PER_SECOND = ("short", "tokens/s")
    STEPS = ("short", "plain steps")
    STEPS_PER_SECOND = ("short", "steps/s")
    SECONDS_PER_SECOND = ("short", "s/s")
    DRAFTS_PER_SECOND = ("short", "drafts/s")
    REQUESTS_PER_SECOND = ("reqps", "requests/s")
    DRAFTS = ("short", "drafts")
    REQUESTS = ("locale", "requests")
    PREEMPTIONS_PER_REQUEST = ("short", "preemptions/request")
    PREEMPTIONS_PER_SECOND = ("short", "preemptions/s")
    SAMPLES_PER_SECOND = ("suffix:samples/s", "samples/s")
    ENGINES = ("short", "engines")
    SERVERS = ("short", "servers")
    RESTARTS = ("short", "restarts")
    EVALUATIONS = ("short", "evaluations")
    NOTIFICATIONS = ("short", "notifications")
    FAILURES = ("short", "failures")
    SERIES = ("short", "series")
    MODELS = ("short", "models")
    ALERTS = ("short", "alerts")
    GPUS = ("short", "GPUs")
    MONEY = ("short", "an hour")
    PRICE = ("short", "a million tokens")
    AGE = ("s", "old")
    DEVIATIONS = ("short", "standard deviations")
    CODE = ("none", "")

    @property
    def grafana(self) -> str:
        """Unit id that Grafana formats by."""
        return self.value[0]

    @property
    def per_second(self) -> bool:
        """Whether it is a rate."""
        return self.words.endswith("/s")

    @property
    def words(self) -> str:
        """The unit in words."""
        return self.value[1]


class Better(Enum):
    """Which way is good."""

    HIGHER = "higher"
    LOWER = "lower"
    NEITHER = "neither"


@dataclass(frozen=True)
class Band:
    """A range of values with one meaning: from `at` upwards, to the bound of the next band."""

    name: str  # Short and stable: alerts refer to it.
    at: Quantity | float | None  # None for the lowest band.
    status: Status
    words: str = ""  # What it means, where the name alone does not say it.
    enabled: Condition | None = None  # Where it is a band at all, if not with all settings.

    @property
    def says(self) -> str:
        """The meaning in words."""
        return self.words or self.name.replace("-", " ")


NO_BANDS = (Band("", None, Status.NEUTRAL),)


def good_under(limit: Quantity | float, *, good: str, beyond: str, status: Status = Status.WARN) -> tuple[Band, ...]:
    """Bands of a value that is good below a limit."""
    return (Band(good, None, Status.GOOD), Band(beyond, limit, status))


def good_from(limit: Quantity | float, *, good: str, under: str, status: Status = Status.WARN) -> tuple[Band, ...]:
    """Bands of a value that is good from a limit upwards."""
    return (Band(under, None, status), Band(good, limit, Status.GOOD))


@dataclass(frozen=True)
class Code:
    """A value that stands for a state rather than a quantity."""

    value: int
    says: str
    status: Status
    name: str = ""  # Short and stable, where `says` is long: alerts refer to it.


_SPANS: Mapping[str, Quantity] = {
    "window": RATE_WINDOW,
    "baseline": Setting("rules.baseline"),
    "baseline_steps": Setting("rules.baseline_steps"),
    "before": Setting("rules.compare_with"),
    "remember": Setting("rules.remember"),
    "slo": Setting("slo.window"),
}
"""Durations that stand in names of records, by placeholder."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Signal(Recorded):
    """One question, with everything that is ever written about it. A signal stands in the expressions of others."""

    name: str
    title: str
    question: str
    description: str  # What it says, in a sentence.
    action: str  # What to do about it, or what it helps to decide, in a sentence.
    in_dialects: Mapping[str, str] = field(default_factory=dict)  # What it says instead of series of a dialect.
    note: str = ""  # What it does not say, and where it has no value: for the reference, which has room.
    short: str = ""  # Head of its column in a table, where the title is too long for one.
    expr: Expr  # How it is computed, from raw series and from other signals.
    unit: Unit = Unit.RATIO
    better: Better = Better.NEITHER
    record: str | None = None
    """Record name without its level; {window}, {before}, {baseline} ... are filled from the settings."""
    enabled: Condition | None = None
    """Where the settings enable it, if not always."""
    levels: tuple[Level, ...] = (Level.MODEL,)
    by: tuple[str, ...] = ()  # Labels beyond those of the level.
    daily: bool = False  # Whether it is recorded at the slower pace of what reads a day: `SLOW_EVALUATION`.
    rollup: str | None = None
    """Aggregation that makes the model-level record from engine-level ones, where that is exact."""
    bands: tuple[Band, ...] = NO_BANDS
    """From the lowest to the highest: panels take colours from them, alerts their limits."""
    codes: tuple[Code, ...] = ()
    kinds: tuple[tuple[str, Status], ...] = ()  # What values of its own label mean: its series are coloured by that.
    empty: str = "idle, or speculation is off"  # What it means when there is no sample.
    absent: str = ""  # What a cell of a table says where there is none, if a dash leaves a question.
    decimals: int | None = None
    least: float | None = 0  # Where its axis begins; None where values may be negative.
    most: float | None = None
    """Where its axis ends, so that rare extremes do not flatten all else; None where the highest value says."""

    @property
    def per_second(self) -> bool:
        """Whether it is a rate: counts hold the growth over the window instead."""
        return self.unit.per_second or (self.record or "").endswith(":rate{window}")

    def __post_init__(self) -> None:
        define(self)

    def __repr__(self) -> str:
        return f"Signal({self.name})"

    def exists(self, settings: Settings) -> bool:
        """Whether the settings enable it, and the dialect has its series: if not it has no record, panel or alert."""
        here = Scope(settings, self.levels[-1])
        return self._is_enabled(settings) and self.name not in settings.dialect.misleading and exists(self, here)

    def _is_enabled(self, settings: Settings) -> bool:
        return self.enabled is None or holds(self.enabled, Scope(settings))

    def described(self, settings: Settings) -> str:
        """What it says of series of the settings' dialect."""
        return self.in_dialects.get(settings.dialect.name, self.description)

    def record_name(self, level: Level, settings: Settings, *, if_exists: bool = True) -> str | None:
        """Full record name at a level; None where the signal is not recorded there or disabled, or does not exist."""
        if self.record is None or level not in self.levels or not self._is_enabled(settings):
            return None
        if if_exists and not self.exists(settings):
            return None
        spans = {name: span_text(span, settings) for name, span in _SPANS.items() if f"{{{name}}}" in self.record}
        return f"{level.value}:{self.record.format(**spans)}"

    def bands_in(self, settings: Settings) -> tuple[Band, ...]:
        """The bands that the settings enable, each with its bound as a number."""
        return tuple(
            replace(band, at=value(band.at, settings)) if band.at is not None else band
            for band in self.enabled_bands(settings)
        )

    def enabled_bands(self, settings: Settings) -> tuple[Band, ...]:
        """The bands that the settings enable."""
        return tuple(band for band in self.bands if band.enabled is None or holds(band.enabled, Scope(settings)))

    def step_of(self, number: float, settings: Settings) -> Band:
        """The band that a value falls in: every value has exactly one."""
        bands = reversed(self.bands_in(settings))
        return next(band for band in bands if band.at is None or number >= value(band.at, settings))


NOTHING = "-"
_THREE_DIGITS = 100  # Numbers below it are printed with three digits.


_WRITTEN: Mapping[Unit, Callable[[float], str]] = {
    Unit.RATIO: "{:.1%}".format,
    Unit.SECONDS: lambda seconds: f"{seconds * 1000:.1f} ms" if seconds < 1 else f"{seconds:.2f} s",
    Unit.AGE: lambda seconds: str(Duration(round(seconds))),
}


def worded(signal: Signal, number: float | None) -> str:
    """The value in the signal's own unit and precision, without the unit's words; a code by what it says."""
    if number is None:
        return NOTHING
    if in_words := [code.says for code in signal.codes if code.value == number]:
        return in_words[0]
    if signal.unit in _WRITTEN:
        return _WRITTEN[signal.unit](number)
    if signal.decimals is None and 0 < abs(number) < _THREE_DIGITS:
        return f"{number:.3g}"
    return f"{number:,.{signal.decimals or 0}f}"
