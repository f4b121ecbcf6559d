"""Steady traffic of two kinds of request, and alerts on it minute by minute: a second reading of the rules, in numpy.

Arrays hold a row for each engine, or one of their model, and a column for each minute; NaN is no sample. All tokens of
a request are counted in the minute in which it starts, with a scrape a minute: there is no rate of fewer requests.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from draftboard.alerts import ALERTS, Alert
from draftboard.durations import Duration
from draftboard.quantity import value
from draftboard.settings import Settings
from draftboard.signals import Level

Values = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
METHOD = "eagle3"
K = 5
MINUTE = 60
_SPREAD = 0.7  # Standard deviation of the logarithm of an answer's length.


@dataclass(frozen=True)
class Kind:
    """Of requests: how likely a drafted token is accepted, how long a step takes, whether all run into their limit."""

    alpha: float
    seconds: float = 0.02
    cut_off: bool = False

    @property
    def length(self) -> float:
        """Mean tokens of a step."""
        return (1 - self.alpha ** (K + 1)) / (1 - self.alpha)


@dataclass(frozen=True)
class Traffic:
    """Requests of two kinds, half of each."""

    rate: float  # Requests per second and engine.
    kinds: tuple[Kind, Kind]
    engines: int = 1
    errors: float = 0.0  # Share of requests that fail.
    tokens: float = 250  # Mean length of an answer.
    minutes: int = 1  # In which an answer is generated.


@dataclass(frozen=True)
class Counts:
    """What the counters of each engine grow by, a minute."""

    drafts: Values
    accepted_by_position: Values  # With the position as first axis.
    generated: Values
    step_seconds: Values
    started: Values
    requests: Values
    errors: Values
    cut_off: Values

    def joined(self, *others: "Counts", axis: int = -1) -> "Counts":
        """With what follows in time, or with the counts of other engines (-2)."""
        parts = (self, *others)
        return Counts(*(np.concatenate([getattr(p, f.name) for p in parts], axis=axis) for f in fields(self)))

    @property
    def accepted(self) -> Values:
        """Accepted tokens, whatever their position."""
        return np.asarray(self.accepted_by_position.sum(axis=0))


def _spread(values: Values, minutes: int) -> npt.NDArray[np.int_]:
    """Whole numbers that arrive evenly over so many minutes."""
    arrived = _summed(values.cumsum(axis=-1), minutes) // minutes
    return np.diff(arrived, axis=-1, prepend=0).astype(int)


def counted(traffic: Traffic, minutes: int, chance: np.random.Generator) -> Counts:
    """Some minutes of the traffic."""
    shape = (2, traffic.engines, minutes)
    starts = chance.poisson(traffic.rate * MINUTE / 2, shape)
    cell = np.repeat(np.arange(starts.size), starts.ravel())
    tokens = traffic.tokens * np.exp(chance.normal(-(_SPREAD**2) / 2, _SPREAD, len(cell)))
    length = np.array([kind.length for kind in traffic.kinds])
    needed = np.ceil(tokens / np.repeat(length, starts.reshape(2, -1).sum(axis=1)))
    drafts = _spread(np.bincount(cell, needed, minlength=starts.size).reshape(shape).astype(float), traffic.minutes)
    ends = np.nan_to_num(_ago(starts.astype(float), traffic.minutes - 1)).astype(int)
    alpha = np.array([kind.alpha for kind in traffic.kinds]).reshape(2, 1, 1)
    # Of all requests of a kind in a minute at once: their drafts are alike.
    reached = [drafts]
    for _ in range(K):
        reached.append(chance.binomial(reached[-1], alpha))
    seconds = np.array([kind.seconds for kind in traffic.kinds]).reshape(2, 1, 1)
    failed = chance.binomial(ends, traffic.errors)
    cut_off = np.array([kind.cut_off for kind in traffic.kinds]).reshape(2, 1, 1)
    accepted = np.array(reached[1:]).sum(axis=1, dtype=float)
    return Counts(
        drafts=drafts.sum(axis=0, dtype=float),
        accepted_by_position=accepted,
        generated=drafts.sum(axis=0) + accepted.sum(axis=0) + starts.sum(axis=0),
        step_seconds=(drafts * seconds).sum(axis=0),
        started=starts.sum(axis=0, dtype=float),
        requests=ends.sum(axis=0, dtype=float),
        errors=failed.sum(axis=0, dtype=float),
        cut_off=((ends - failed) * cut_off).sum(axis=0, dtype=float),
    )


def _minutes(span: Duration) -> int:
    return round(span.seconds) // MINUTE


def _ago(values: Values, minutes: int) -> Values:
    found = np.full(values.shape, np.nan)
    found[..., minutes:] = values[..., : max(0, values.shape[-1] - minutes)]
    return found


def _summed(values: Values, minutes: int) -> Values:
    """Over the last minutes, this one included; before there are as many, over those there are."""
    total = np.nan_to_num(values).cumsum(axis=-1)
    return total - np.nan_to_num(_ago(total, minutes))


def _ratio(upper: Values, lower: Values) -> Values:
    found: Values = np.divide(upper, lower, out=np.full(np.broadcast(upper, lower).shape, np.nan), where=lower > 0)
    return found


@dataclass(frozen=True)
class Reading:
    """The records that alerts read, at a level: counts are of engines, or summed over them."""

    counts: Counts
    settings: Settings

    def rate(self, grown: Values) -> Values:
        """Per second. A window of five minutes holds five scrapes: four minutes of growth, which Prometheus extends."""
        window = self.settings.rules.rate_window.seconds
        between = window - MINUTE
        found = _summed(grown, _minutes(self.settings.rules.rate_window) - 1) * (window / between / window)
        return np.asarray(found)

    def in_window(self, grown: Values) -> Values:
        """As many as the rate stands for in its window."""
        return np.asarray(self.rate(grown) * self.settings.rules.rate_window.seconds)

    def in_hours(self, grown: Values, hours: int) -> Values:
        """What the rates of the evaluations of some hours add up to."""
        return np.asarray(self.rate(_summed(grown, 60 * hours)) * MINUTE)

    def before(self, values: Values) -> Values:
        """As it was before."""
        return _ago(values, _minutes(self.settings.rules.compare_with))

    def past(self, values: Values) -> tuple[Values, Values, Values]:
        """Number, mean and standard deviation of the baseline's values: of windows that follow one another."""
        rules = self.settings.rules
        begins = np.arange(values.shape[-1]) % _minutes(rules.rate_window) == 0
        there, day = np.isfinite(values) & begins, _minutes(rules.baseline)
        # Around a value in their middle, so that squares keep their digits.
        middle = np.nanmean(values) if there.any() else 0.0
        around = np.where(there, values - middle, 0.0)
        number = _summed(there.astype(float), day)
        mean = _ratio(_summed(around, day), number)
        squares = _ratio(_summed(around**2, day), number)
        deviation = np.sqrt(np.maximum(squares - mean**2, 0))
        return self.before(number), self.before(mean + middle), self.before(deviation)

    @property
    def drafts(self) -> Values:
        return self.counts.drafts

    @property
    def enough_drafts(self) -> Flags:
        return np.asarray(self.in_window(self.drafts) >= self.settings.traffic.drafts_to_judge)

    @property
    def enough_requests(self) -> Flags:
        return np.asarray(self.rate(self.counts.requests) > self.settings.traffic.requests_per_second)

    @property
    def length(self) -> Values:
        return 1 + _ratio(self.rate(self.counts.accepted), self.rate(self.drafts))

    @property
    def acceptance(self) -> Values:
        return _ratio(self.rate(self.counts.accepted), self.rate(self.drafts * K))


def _acceptance_change(model: Reading) -> tuple[Values, Flags]:
    value = _ratio(model.acceptance, model.before(model.acceptance))
    enough_then = model.before(model.in_window(model.drafts)) >= model.settings.traffic.drafts_to_judge
    requests = model.in_window(model.counts.requests)
    least, anomaly = model.settings.traffic.requests_to_compare, _length_anomaly(model)[0]
    unusual = ~(anomaly > -model.settings.thresholds.usual)
    return value, unusual & model.enough_drafts & enough_then & (requests >= least) & (model.before(requests) >= least)


def _length_anomaly(model: Reading) -> tuple[Values, Flags]:
    rules, bounds = model.settings.rules, model.settings.thresholds
    number, mean, deviation = model.past(model.length)
    least = np.ceil(rules.baseline_needs * _minutes(rules.baseline) / _minutes(rules.rate_window))
    value = (model.length - mean) / np.maximum(deviation, bounds.deviation_floor * mean)
    return np.where(number >= least, value, np.nan), model.enough_drafts


def _length_to_others(engine: Reading) -> tuple[Values, Flags]:
    def others(grown: Values) -> Values:
        return np.asarray(engine.rate(grown.sum(axis=0, keepdims=True)) - engine.rate(grown))

    drafts = others(engine.drafts)
    value = engine.length / (1 + _ratio(others(engine.counts.accepted), drafts))
    settings = engine.settings
    enough = drafts * settings.rules.rate_window.seconds >= settings.traffic.drafts_to_judge
    enough &= others(engine.counts.requests) > settings.traffic.requests_per_second
    return value, engine.enough_drafts & engine.enough_requests & enough


def _expected_speedup(model: Reading) -> tuple[Values, Flags]:
    costs, steps = model.settings.draft_cost, model.rate(model.drafts)
    yielded = _ratio(model.rate(model.counts.generated) - model.rate(model.counts.started), steps)
    return yielded / (
        K * costs.by_method[METHOD] + costs.inflation_by_batch[0][1]
    ), model.enough_drafts & model.enough_requests


def _suspicious(model: Reading) -> tuple[Values, Flags]:
    cut_off = _ratio(model.rate(model.counts.cut_off), model.rate(model.counts.requests))
    return model.acceptance, model.enough_drafts & (cut_off > model.settings.thresholds.cut_off)


def _step_time_change(engine: Reading) -> tuple[Values, Flags]:
    traffic, steps = engine.settings.traffic, engine.counts.drafts
    mean = _ratio(engine.rate(engine.counts.step_seconds), engine.rate(steps))
    mean = np.where(engine.in_window(steps) >= traffic.steps_to_judge, mean, np.nan)
    number, usual, _ = engine.past(mean)
    least = np.ceil(traffic.evaluations_to_compare / _minutes(engine.settings.rules.rate_window))
    return _ratio(mean, usual), (number >= least) & engine.enough_requests


def _error_ratio(model: Reading) -> tuple[Values, Flags]:
    bounds, least = model.settings.thresholds, model.settings.traffic.errors_to_judge

    def by_chance(every: Values) -> Values:
        mean = every * bounds.errors
        return np.asarray(mean + mean**0.5 * bounds.chance)

    def ratio(bad: Values, every: Values) -> Values:
        return np.where((bad >= least) & (bad > by_chance(every)), _ratio(bad, every), np.nan)

    bad, every = model.in_window(model.counts.errors), model.in_window(model.counts.requests)
    few_come = by_chance(every) >= every * bounds.errors * 1.5
    bad_in_hour, in_hour = (model.in_hours(of, 1) for of in (model.counts.errors, model.counts.requests))
    bad_in_hours, in_hours = (model.in_hours(of, 6) for of in (model.counts.errors, model.counts.requests))
    of_hour = np.where(few_come & (bad > 0), ratio(bad_in_hour, in_hour), np.nan)
    of_hours = np.where((bad_in_hour > 0) & (in_hour < least), ratio(bad_in_hours, in_hours), np.nan)
    lately = ratio(bad, every)
    value = np.where(np.isfinite(lately), lately, np.where(np.isfinite(of_hour), of_hour, of_hours))
    return value, np.ones(value.shape, bool)


_READ: dict[str, Callable[[Reading], tuple[Values, Flags]]] = {
    "SpecDecodeAcceptanceDrop": _acceptance_change,
    "SpecDecodeLengthAnomaly": _length_anomaly,
    "SpecDecodeEngineOutlier": _length_to_others,
    "SpecDecodeNotPaying": _expected_speedup,
    "SpecDecodeSuspiciouslyHigh": _suspicious,
    "VLLMStepsSlow": _step_time_change,
    "VLLMErrors": _error_ratio,
    "VLLMHTTPErrors": _error_ratio,
}
STATISTICAL = tuple(alert for alert in ALERTS if alert.name in _READ)


def condition(alert: Alert, counts: Counts, settings: Settings) -> Flags:
    """The minutes in which an alert's condition holds."""
    if alert.level is not Level.ENGINE:
        counts = Counts(*(getattr(counts, f.name).sum(axis=-2, keepdims=True) for f in fields(counts)))
    values, enough = _READ[alert.name](Reading(counts, settings))
    operator, bound = alert.threshold(settings)
    limit = value(bound, settings)
    return np.asarray((values < limit if operator == "<" else values > limit) & enough)


def firing(alert: Alert, held: Flags, settings: Settings) -> list[tuple[int, int]]:
    """From when until before when one engine's or model's alert fires."""
    policy = alert.policy(settings)
    pending, keep = _minutes(policy.pending_period), _minutes(policy.keep_firing_for)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], held, [False]]).astype(int)))
    begins, ends = edges[::2], edges[1::2]
    found: list[tuple[int, int]] = []
    for number in np.flatnonzero(ends - begins > pending):
        if found and begins[number] <= found[-1][1]:
            continue
        last = number
        while last + 1 < len(begins) and begins[last + 1] <= ends[last] + keep:
            last += 1
        found.append((int(begins[number]) + pending, min(int(ends[last]) + keep, len(held))))
    return found
