"""What users feel of speculation: against a baseline without it, and against the model's own day."""

from collections.abc import Mapping
from dataclasses import replace

from draftboard.catalogue import latency
from draftboard.expr.counts import Counts
from draftboard.expr.nodes import (
    AsRecorded,
    Evaluator,
    Expr,
    Function,
    If,
    Number,
    OfOneMoment,
    OverTime,
    Ref,
    first_of,
    on,
    rate,
)
from draftboard.expr.scope import Level
from draftboard.expr.to_numbers import values_of
from draftboard.intervals import Estimate
from draftboard.quantity import RATE_WINDOW, Quantity, Setting
from draftboard.settings import Settings
from draftboard.signals.alike import alike, recorded_of_baseline, serves_enough, total_of_baseline
from draftboard.signals.baseline import MODEL, of_speculating
from draftboard.signals.comparison import usual
from draftboard.signals.latency import BY_TOKEN, per_token_tail
from draftboard.signals.signal import Band, Better, Signal, Unit, good_under
from draftboard.signals.traffic import decoded, first_tokens, generation_tokens, step_seconds
from draftboard.status import Status

_TIME = latency.TIME_PER_OUTPUT_TOKEN
WINDOWS, FEWEST, APART = 24, 9, 4
"""Changes that an interval looks at and that it needs, and the windows that lie between the two ends of a change."""
FACTOR = 3.2
"""Half an interval over the median change: holds the truth in 90 of 100 simulated runs where neighbouring windows
correlate by 0.9, and in 98 where they are independent."""


_by_token = recorded_of_baseline(step_seconds) / decoded(
    recorded_of_baseline(generation_tokens), recorded_of_baseline(first_tokens)
)
_by_request = OfOneMoment(total_of_baseline(_TIME.sum) / total_of_baseline(_TIME.count))


def _sooner(of_baseline: Expr, own: Expr) -> Expr:
    """How many times as long the baseline's tokens take, where it serves enough."""
    return (of_baseline & serves_enough).ratio(of_speculating(own), on(*MODEL, group="right"))


_SPEEDUP_BANDS = (
    Band("slower", None, Status.DUE, "users wait longer"),
    Band("even", Setting("thresholds.slower"), Status.WARN, "about even"),
    Band("faster", Setting("thresholds.pays_clearly"), Status.GOOD, "users wait less"),
)


measured_speedup = Signal(
    name="measured_speedup",
    title="Measured speedup",
    short="Measured",
    question="Do users get their tokens sooner than without speculation?",
    description="Mean time per output token of the model's baseline servers / that of this variant at similar load: "
    "a measurement.",
    action="Where users wait longer, draft less under load, or turn it off.",
    note="Unlike the expected speedup. Shown if a target of the same model is labelled as baseline, "
    "serves enough, gets prompts and answers of similar length, and has a similar load per engine: as many requests in "
    "the batch, or as many finished per second.",
    unit=Unit.TIMES,
    better=Better.HIGHER,
    # By token on both sides; by request where engines time no steps.
    expr=first_of(_sooner(_by_token, BY_TOKEN), OfOneMoment(_sooner(_by_request, rate(_TIME.sum) / rate(_TIME.count))))
    & alike,
    record="vllm_measured_speedup:ratio_rate{window}",
    bands=_SPEEDUP_BANDS,
    empty="no baseline of this model serves enough of similar requests under a similar load",
    decimals=2,
)


_HISTORY = RATE_WINDOW * WINDOWS
# Neighbouring windows may be alike, by requests and sessions that outlast them, and then their changes tell little. One
# step of the truth, however large, is in four of the changes.
_median = Number(0.5)
_changes = Function("abs", Function("ln", measured_speedup / measured_speedup.ago(RATE_WINDOW * APART)))
_usual_change = OverTime("quantile_over_time", _changes, _HISTORY, pace=RATE_WINDOW, share=_median) & (
    OverTime("count_over_time", _changes, _HISTORY, pace=RATE_WINDOW) >= FEWEST
)
_uncertainty = Function("exp", FACTOR * _usual_change) - 1

speedup_uncertainty = Signal(
    name="measured_speedup_uncertainty",
    title="Uncertainty of the measured speedup",
    short="Uncertainty",
    question="How much does the measured speedup vary by chance?",
    description="By its variation over 24 windows; the 95 % interval is speedup / (1 + this) to speedup x (1 + this).",
    action="Where the interval contains 1, measure longer.",
    note="It rests on changes over four windows (rules.window); a sudden slowdown hardly widens it. It covers "
    "chance within one window and correlated windows, not other prompts or machines. Shown with nine of 24 changes.",
    better=Better.LOWER,
    # A single evaluation does not compute hours of a past.
    expr=If(Evaluator.ONCE, AsRecorded(Ref("measured_speedup_uncertainty")), _uncertainty),
    record="vllm_measured_speedup:uncertainty_rate{window}",
    empty="no measured speedup, or for fewer than thirteen windows",
)
_beyond = 1 + speedup_uncertainty
speedup_low = Signal(
    name="measured_speedup_low",
    title="Measured speedup, low end",
    short="Low",
    question="How low may the measured speedup be?",
    description="Lower end of the 95 % interval of the measured speedup, from its variation over 24 windows.",
    action="Where the interval contains 1, measure longer before you decide.",
    unit=Unit.TIMES,
    better=Better.HIGHER,
    expr=measured_speedup.per(_beyond),
    empty=speedup_uncertainty.empty,
    decimals=2,
)
speedup_high = replace(
    speedup_low,
    name="measured_speedup_high",
    title="Measured speedup, high end",
    short="High",
    question="How high may the measured speedup be?",
    description="Upper end of the 95 % interval of the measured speedup, from its variation over 24 windows.",
    expr=measured_speedup * _beyond,
)


def _below(bound: Quantity, by_interval: Expr) -> Expr:
    """By the interval, where there is one; else below the bound of the band that follows."""
    by_value = measured_speedup < bound
    # Panels of raw series cannot afford that past.
    return If(Evaluator.RAW_PANEL, by_value, by_interval | by_value.combined("unless", speedup_high))


speedup_is: Mapping[str, Expr] = {
    "slower": _below(Setting("thresholds.slower"), speedup_high < 1),
    "even": _below(Setting("thresholds.pays_clearly"), speedup_low <= 1),
    "faster": measured_speedup,
}
"""By band of the measured speedup, from the lowest: the first that holds counts. About even means that the 95 %
interval holds 1, or, where there is none, that the speedup lies between two bounds."""


def speedup_band(speedup: float, interval: Estimate | None, settings: Settings) -> Band:
    """The band of a speedup that was measured elsewhere."""
    known = {measured_speedup: speedup} | ({speedup_low: interval.low, speedup_high: interval.high} if interval else {})
    answers = {(signal.name, Level.MODEL): {frozenset[tuple[str, str]](): value} for signal, value in known.items()}
    counts = Counts(settings, answers=answers)
    return next(band for band in measured_speedup.bands_in(settings) if values_of(speedup_is[band.name], counts))


tail_change = Signal(
    name="tail_change",
    title="Latency tail vs. its own past",
    question="Have slow requests become slower relative to the others?",
    description="P99 / P50 of the time per output token, divided by its mean over the model's own past.",
    action="If it grew, look for a mixed workload: some requests draft well, others do not.",
    note="The mean hides a mixed workload.",
    unit=Unit.TIMES_USUAL,
    better=Better.LOWER,
    expr=per_token_tail / usual(per_token_tail),
    record="vllm_request_time_per_output_token_seconds:tail_change{baseline}_rate{window}",
    daily=True,
    bands=good_under(Setting("thresholds.tail"), good="as-usual", beyond="wider-than-usual"),
    empty="too little history, or P50 and P99 lie in one bucket",
    decimals=2,
)
