"""Servers that speculate, measured against those of their model that do not: both were read over the same time."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from draftboard.catalogue import Metric, latency, serving
from draftboard.expr.to_numbers import values_of
from draftboard.intervals import Estimate
from draftboard.reading import Growth, Since, Tally, counts_of
from draftboard.report.numbers import COUNTED, Part
from draftboard.report.scatter import ratios
from draftboard.report.standardised import standardised
from draftboard.settings import Settings
from draftboard.signals import Signal
from draftboard.signals.alike import baseline_answer_length, baseline_prompt_length, objection
from draftboard.signals.costs import batch_to_baseline, step_cost
from draftboard.signals.latency import per_token
from draftboard.signals.users import measured_speedup, speedup_high, speedup_low

_ANY = "any"
"""A method, for the label that a server needs to count as one that speculates: nobody may have named the real one."""
_HARDLY_IDLE = 4.0
"""Requests that share a step on average, from which an engine has none for less than 2 % of the time, as requests come
at random (e ^ -4)."""
_IN_PART = {Since.RESTART, Since.BIRTH}
_CUT = "a server restarted or appeared within the time, and its decode steps were not in batches of like size: repeat"
_UNKNOWN = "without a time, and without decode steps of both sides, no load is known: read the servers themselves"
BESIDE = (measured_speedup, objection, baseline_prompt_length, baseline_answer_length, batch_to_baseline)
"""Signals of a variant beside its baseline, by the counts of both."""
MEASURED = (*BESIDE, speedup_low, speedup_high, step_cost)
"""Signals that need a baseline."""


@dataclass(frozen=True)
class Measuring:
    """What a baseline measures of a model."""

    beside: Mapping[Signal, float] = field(default_factory=dict)
    """Signals of the variant beside the baseline, as far as they have a value."""
    interval: Estimate | None = None
    """95 % of the speedup; None where the time has too few parts."""
    standardised: Estimate | None = None
    """The speedup at equal lengths of prompts and answers; None where they are alike, or where parts do not tell."""
    step_cost: float | None = None
    """Mean step over the baseline's; None where their batches are not alike."""
    why: str = ""
    """Why there is no speedup."""

    @property
    def answers(self) -> dict[Signal, float]:
        """The values of signals, as far as they are known."""
        interval = self.interval
        ends = {speedup_low: interval.low, speedup_high: interval.high} if interval else {}
        return {**self.beside, **ends, **({} if self.step_cost is None else {step_cost: self.step_cost})}


def parts_of(grown: Sequence[Growth], tallies: Sequence[Tally]) -> tuple[Part, ...]:
    """What these engines counted in each part of the time."""
    keys = {(one.source, one.model, one.engine) for one in tallies}
    own = ([one for one in part.tallies if (one.source, one.model, one.engine) in keys] for part in grown)
    return tuple(Part(**{name: _sum(each, metric) for name, metric in COUNTED.items()}) for each in own)


def measuring(
    variant: Sequence[Tally],
    baseline: Sequence[Tally],
    grown: Sequence[Growth],
    seconds: float | None,
    settings: Settings,
) -> Measuring:
    """Compare the engines of a variant with those of its baseline; `grown` are the parts of the time, if known."""
    cost = _step_cost(variant, baseline, settings)
    finished = min(_sum(side, latency.TIME_PER_OUTPUT_TOKEN.count) for side in (variant, baseline))
    of = settings.dialect.sample
    if finished < settings.traffic.to_compare(of):
        least = f"{finished:,.0f} {of} finished on a side (minimum {settings.traffic.to_compare(of):,.0f})"
        return Measuring(step_cost=cost, why=least)
    batches = _batches(variant, baseline)
    # The rates of a server that did not count all the time are those of a part of it; without a time there are none.
    cut = any(one.since in _IN_PART for one in (*variant, *baseline))
    rated = None if cut else seconds
    if not rated and not batches:
        return Measuring(why=_CUT if cut else _UNKNOWN)
    if not rated and not _alike(batches, settings):
        # As many requests finished at any load.
        if why := _CUT if cut else _unlike_arrivals(variant, baseline, batches, settings):
            return Measuring(why=why)
        batches = [batches[1]] * 2  # The variant's is what its steps make of as many arrivals.
    if rated:
        batches = [_sum(side, latency.END_TO_END_LATENCY.sum) / rated / len(side) for side in (variant, baseline)]
    sides = [_with_batch(side, batch) for side, batch in zip((variant, baseline), batches, strict=True)]
    counts = counts_of([*sides[0], *sides[1]], settings, _ANY)
    found = {signal: next(iter(values_of(signal, counts).values()), None) for signal in BESIDE}
    beside = {signal: value for signal, value in found.items() if value is not None}
    if measured_speedup not in beside and not beside.get(objection):
        return Measuring(beside, step_cost=cost, why=measured_speedup.empty)
    plain, own = (parts_of(grown, side) for side in (baseline, variant))
    before, after = (ratios(side).get(per_token.mean.name) for side in (plain, own))
    interval = before.over(after) if measured_speedup in beside and before and after else None
    return Measuring(beside, interval, standardised(plain, own, settings), cost)


def _with_batch(tallies: Sequence[Tally], batch: float) -> list[Tally]:
    """With the mean number of running requests in place of that at the end."""
    running = serving.REQUESTS_RUNNING.name
    return [
        replace(
            one,
            gauges={series: value for series, value in one.gauges.items() if series[0] != running}
            | {(running, ()): batch},
        )
        for one in tallies
    ]


def _sum(tallies: Sequence[Tally], metric: Metric) -> float:
    return sum(one.total(metric) or 0.0 for one in tallies)


def _alike(pair: Sequence[float], settings: Settings) -> bool:
    return math.isclose(*pair, rel_tol=settings.thresholds.load)


def _batches(variant: Sequence[Tally], baseline: Sequence[Tally]) -> list[float]:
    """Requests that share a step on average, which needs no time; empty where a side does not count its steps."""
    sides = [
        [_sum(side, of.count) for of in (latency.STEP_LATENCY, latency.STEP_TOKENS)] for side in (variant, baseline)
    ]
    return [requests / steps for requests, steps in sides] if all(map(all, sides)) else []


def _unlike_arrivals(
    variant: Sequence[Tally], baseline: Sequence[Tally], batches: Sequence[float], settings: Settings
) -> str:
    """Why requests did not arrive as often on both sides, as far as pages without a time tell; empty if they did.

    Sooner answers empty a batch at an equal request rate: that is what speculation gains, and not another load.
    Requests for a second of decoding are the request rate where an engine is hardly ever idle.
    """
    steps = "decode steps of {:.3g} requests against {:.3g}".format(*batches)
    if min(batches) < _HARDLY_IDLE:
        return f"{steps}, and saved pages tell no request rate of engines that idle: read the servers themselves"
    rates = [
        _sum(side, latency.TIME_PER_OUTPUT_TOKEN.count) * batch / _sum(side, latency.STEP_LATENCY.sum)
        for side, batch in zip((variant, baseline), batches, strict=True)
    ]
    if not _alike(rates, settings):
        return steps + ", and {:.3g} against {:.3g} requests in a second of decoding".format(*rates)
    return ""


def _step_cost(variant: Sequence[Tally], baseline: Sequence[Tally], settings: Settings) -> float | None:
    """Of enough steps on both sides, as records have it, in batches and of contexts of like size."""
    batches, contexts = _batches(variant, baseline), [_context(side) for side in (variant, baseline)]
    if not batches or not _alike(batches, settings) or not _alike(contexts, settings):
        return None
    if min(_sum(side, latency.STEP_LATENCY.count) for side in (variant, baseline)) < settings.traffic.steps_to_judge:
        return None
    own, plain = (
        _sum(side, latency.STEP_LATENCY.sum) / _sum(side, latency.STEP_LATENCY.count) for side in (variant, baseline)
    )
    return own / plain if plain else None


def _context(side: Sequence[Tally]) -> float:
    """Tokens that a decode step attends to in the mean: a prompt and half of its answer; 0 where nobody counts them."""
    answered = _sum(side, latency.TIME_TO_FIRST_TOKEN.count)
    tokens = _sum(side, serving.PROMPT_TOKENS) + _sum(side, serving.GENERATION_TOKENS) / 2
    return tokens / answered if answered else 0.0
