"""The Signal: one operator's question, defined once and rendered as record, panel, alert, table row and report line."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from draftboard.expr import promql
from draftboard.expr.counts import View
from draftboard.expr.scope import Level, Scope
from draftboard.expr.tree import Expr, Recorded, metrics_of
from draftboard.expr.vector import Vector, as_vector
from draftboard.settings import Settings
from draftboard.status import Status


def within(title: str) -> str:
    """A title as it stands within a sentence; what begins with an abbreviation stays."""
    return title if title[1:2].isupper() or title[1:2].isdigit() else title[0].lower() + title[1:]


class Unit(Enum):
    """What a value counts: Grafana's name for it, and in words where Grafana has none."""

    RATIO = ("percentunit", "")
    TIMES = ("short", "times plain decoding")
    TIMES_NOW = ("short", "times as now")
    TIMES_MEDIAN = ("short", "times the median")
    TIMES_USUAL = ("short", "times the usual")
    TIMES_SUSTAINABLE = ("short", "times the sustainable rate")
    SECONDS = ("s", "")
    BYTES = ("bytes", "")
    WATTS = ("watt", "")
    TOKENS = ("short", "tokens")
    TOKENS_PER_SECOND = ("short", "tokens/s")
    STEPS = ("short", "plain steps")
    STEPS_PER_SECOND = ("short", "steps/s")
    DRAFTS_PER_SECOND = ("short", "drafts/s")
    REQUESTS_PER_SECOND = ("reqps", "requests/s")
    DRAFTS = ("short", "drafts")
    REQUESTS = ("short", "requests")
    PREEMPTIONS_PER_REQUEST = ("short", "preemptions/request")
    PREEMPTIONS_PER_SECOND = ("short", "preemptions/s")
    SAMPLES_PER_SECOND = ("suffix:samples/s", "samples/s")
    ENGINES = ("short", "engines")
    RESTARTS = ("short", "restarts")
    EVALUATIONS = ("short", "evaluations")
    NOTIFICATIONS = ("short", "notifications")
    FAILURES = ("short", "failures")
    MODELS = ("short", "models")
    ALERTS = ("short", "alerts")
    GPUS = ("short", "GPUs")
    MONEY = ("short", "an hour")
    PRICE = ("short", "a million tokens")
    AGE = ("dtdurations", "")
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
    at: float | None  # None for the lowest band.
    status: Status
    words: str = ""  # What it means, where the name alone does not say it.

    @property
    def says(self) -> str:
        """The meaning in words."""
        return self.words or self.name.replace("-", " ")


def good_under(limit: float, *, good: str, beyond: str, status: Status = Status.WARN) -> tuple[Band, ...]:
    """Bands of a value that is good below a limit."""
    return (Band(good, None, Status.GOOD), Band(beyond, limit, status))


def good_from(limit: float, *, good: str, under: str, status: Status = Status.WARN) -> tuple[Band, ...]:
    """Bands of a value that is good from a limit upwards."""
    return (Band(under, None, status), Band(good, limit, Status.GOOD))


@dataclass(frozen=True)
class Code:
    """A value that stands for a state rather than a quantity."""

    value: int
    says: str
    status: Status
    name: str = ""  # Short and stable, where `says` is long: alerts refer to it.


@dataclass(frozen=True, kw_only=True, eq=False)
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
    wanted: Callable[[Settings], bool] = lambda _: True
    """Whether the settings want it."""
    levels: tuple[Level, ...] = (Level.MODEL,)
    by: tuple[str, ...] = ()  # Labels beyond those of the level.
    rollup: str | None = None
    """Aggregation that makes the model-level record from engine-level ones, where that is exact."""
    bands: Callable[[Settings], tuple[Band, ...]] = lambda _: (Band("", None, Status.NEUTRAL),)
    """From the lowest to the highest: panels take colours from them, alerts their limits."""
    codes: tuple[Code, ...] = ()
    kinds: tuple[tuple[str, Status], ...] = ()  # What values of its own label mean: its series are coloured by that.
    empty: str = "idle, or speculation is off"  # What it means when there is no sample.
    decimals: int | None = None
    least: float | None = 0  # Where its axis begins; None where values may be negative.
    most: float | None = None
    """Where its axis ends, so that rare extremes do not flatten all else; None where the highest value says."""

    @property
    def per_second(self) -> bool:
        """Whether it is a rate: counts hold the growth over the window instead."""
        return self.unit.per_second or (self.record or "").endswith(":rate{window}")

    def asked(self, settings: Settings) -> bool:
        """Whether the settings ask for it, of series that exist: where not, it has no record, panel or alert."""
        return self.asked_from(Scope(settings))

    def asked_from(self, scope: Scope) -> bool:
        """The same, seen from a scope."""
        settings, here = scope.settings, scope.by_rules().at(self.levels[-1])
        return self.wanted(settings) and self.name not in settings.dialect.misleading and not self.is_gone(here)

    def is_silent(self, missing: Collection[str], scope: Scope) -> bool:
        """Whether it has no sample in any case while these series are missing."""
        return scope.silent(self, missing, lambda: self.expr.is_silent(missing, scope))

    def described(self, settings: Settings) -> str:
        """What it says of series of the settings' dialect."""
        return self.in_dialects.get(settings.dialect.name, self.description)

    def promql(self, scope: Scope) -> str:
        """Its record where there is one to read, else its expression."""
        return scope.remembered(self, lambda: self.record_here(scope) or self.expr.promql(scope))

    def values(self, view: View) -> Vector | float:
        """Its values, computed once and then selected from, as a record is."""
        whole = view.through(replace(view.scope, only=()))
        found = view.remembered(self.name, lambda: as_vector(self.expr.values(whole)))
        return view.selected(found, (*view.scope.labels, *self.by))

    def record_here(self, scope: Scope, window: str = "") -> str | None:
        """A selector of its record at the scope's level; None where there is none to read."""
        there = scope.edition.reads_records and self.asked_from(scope)
        record = self.named_at(scope.level, scope.settings) if there else None
        if record is None or not scope.reads(record, window):
            return None
        return scope.series(record, (*scope.labels, *self.by), window=window)

    def definition(self, scope: Scope) -> str:
        """PromQL that computes the signal here, for a rule that records it."""
        if engines := self._rolled_up(scope):
            return promql.aggregate(self.rollup or "", (*scope.labels, *self.by), engines)
        return self.expr.promql(scope)

    def reads_series(self, scope: Scope) -> bool:
        """Whether that reads raw series."""
        return not self._rolled_up(scope) and bool(metrics_of(self.expr, scope, recorded=False))

    def _rolled_up(self, scope: Scope) -> str | None:
        """The record of engines that makes the model's."""
        return self.record_here(scope.at(Level.ENGINE)) if scope.level is Level.MODEL and self.rollup else None

    def record_at(self, level: Level, settings: Settings) -> str | None:
        """Full record name at a level; None where the signal is not recorded there, or not asked for."""
        return self.named_at(level, settings) if self.asked(settings) else None

    def named_at(self, level: Level, settings: Settings) -> str | None:
        """The same of any signal that the settings want, whether or not the dialect has its series."""
        if not self.wanted(settings):
            return None
        if self.record is None or level not in self.levels:
            return None
        rules, slo = settings.rules, settings.slo.window
        spans = {"baseline": rules.baseline, "before": rules.compare_with, "remember": rules.remember, "slo": slo}
        return f"{level.value}:{self.record.format(window=rules.rate_window, **spans)}"

    def step_of(self, value: float, settings: Settings) -> Band:
        """The band that a value falls in: every value has exactly one."""
        bands = self.bands(settings)
        return next(band for band in reversed(bands) if band.at is None or value >= band.at)


NOTHING = "-"
_FEW = 100  # Below it, a number has three digits.


def worded(signal: Signal, value: float | None) -> str:
    """The value in the signal's own unit and precision, without the unit's words; a code by what it says."""
    if value is None:
        return NOTHING
    if in_words := [code.says for code in signal.codes if code.value == value]:
        return in_words[0]
    if signal.unit is Unit.RATIO:
        return f"{value:.1%}"
    if signal.unit is Unit.SECONDS:
        return f"{value * 1000:.1f} ms" if value < 1 else f"{value:.2f} s"
    if signal.decimals is None and 0 < abs(value) < _FEW:
        return f"{value:.3g}"
    return f"{value:,.{signal.decimals or 0}f}"
