"""Whether the slowest requests gained or lost as the others did, which a mean hides.

A better median with a worse P99 indicates mixed work in one model: some requests draft well and gain, others do not and
wait for steps that became longer.
"""

import math
from collections.abc import Mapping
from dataclasses import replace

from draftboard.compare.objects import Row, Tail, Value
from draftboard.compare.rows import in_words, value_of
from draftboard.compare.sides import Side, Sides, over
from draftboard.settings import Settings
from draftboard.signals.latency import FELT
from draftboard.signals.signal import Code, within
from draftboard.status import Status

MIXED = Code(3, "mixed workload: median better, P99 worse", Status.WARN)
APART = Code(2, "P99 further above the median, and not better", Status.WARN)
LESS = Code(1, "P99 better, but by less than the median", Status.GOOD)
TOGETHER = Code(0, "P99 in line with the median", Status.GOOD)
CODES = (TOGETHER, LESS, APART, MIXED)
_JUDGED_BY = ("per_token", "end_to_end")
_COARSE = (
    f"P50 or P99 of {' and '.join(within(FELT[name].title) for name in _JUDGED_BY)} is below the histogram's "
    "resolution: use finer buckets (--custom-histogram-buckets, vLLM 0.32 and newer)"
)
_NEXT = (
    "Run the same load on the candidate with homogeneous prompts at a low temperature, save its report, and compare "
    "again with --confirm REPORT: a better P99 there confirms mixed work as the reason."
)


def tail(sides: Sides, rows: Mapping[str, Row], settings: Settings, third: Side | None = None) -> Tail:
    """Judge the tail by the first latency with enough resolution; `third` is the candidate with homogeneous work."""
    least, fewest = settings.traffic.requests_to_compare_tails, min(side.requests for side in sides)
    few = f"too few requests: {fewest:,.0f} on a side (minimum {least:,.0f})" if fewest < least else ""
    for name in () if few else _JUDGED_BY:
        p50, p99 = rows.get(f"{name}_p50"), rows.get(f"{name}_p99")
        code = _code(p50, p99, settings) if p50 and p99 else None
        if p50 and p99 and code:
            was, now = over(p99.baseline.value, p50.baseline.value), over(p99.candidate.value, p50.candidate.value)
            ratios = f"; P99 / median {was:.2f} to {now:.2f}" if was and now else ""
            reason = f"{FELT[name].title}: P50 {_move(p50)}, P99 {_move(p99)}{ratios}"
            found = Tail(says=code.says, of=name, reasons=(reason,), next=None, confirmed=None)
            return _explained(found, p99, third, settings) if code in {MIXED, APART} else found
    return Tail(says=None, of=None, reasons=(few or _COARSE,), next=None, confirmed=None)


def _code(p50: Row, p99: Row, settings: Settings) -> Code | None:
    """None where the resolution is too low."""
    noise = settings.thresholds.slower
    median, slowest = (_gain(row.baseline, row.candidate, noise) for row in (p50, p99))
    if median is None or slowest is None:
        return None
    if median > 0 > slowest:
        return MIXED
    # Even a median below resolution bounds its ratio to P99.
    now, was = over(p99.candidate.value, _range(p50.candidate)[1]), over(_range(p99.baseline)[1], p50.baseline.value)
    if now is None or was is None or now <= settings.thresholds.tail * was:
        return TOGETHER
    return LESS if slowest > 0 else APART


def _explained(found: Tail, p99: Row, third: Side | None, settings: Settings) -> Tail:
    """Whether P99 is better with homogeneous work, or how to find out."""
    if third is None:
        return replace(found, next=_NEXT)
    alone, least = value_of(third, f"model.latency.{found.of}.p99"), settings.traffic.requests_to_compare_tails
    gain = _gain(p99.candidate, alone, settings.thresholds.slower) if third.requests >= least else None
    runs = f"P99 {in_words(p99, alone)} with homogeneous work, {in_words(p99, p99.candidate)} without"
    says = f"Not confirmed: {runs}: look for another reason, such as load or preemptions"
    if gain is None:
        says = "Inconclusive: the third run has too few requests, or P99 is below the histogram's resolution"
    elif gain > 0:
        says = f"Confirmed: {runs}: mixed work is the reason"
    return replace(found, reasons=(*found.reasons, says), confirmed=None if gain is None else gain > 0)


def _gain(before: Value, after: Value, noise: float) -> int | None:
    """1 better, -1 worse, 0 within the noise; None where the resolution is too low to tell."""
    (least_before, most_before), (least_after, most_after) = _range(before), _range(after)
    if most_after < noise * least_before:
        return 1
    return -1 if most_before < noise * least_after else 0 if least_before and least_after else None


def _range(value: Value) -> tuple[float, float]:
    """Below resolution it is anywhere under the first bucket."""
    return value.value or 0.0, value.value or value.under or math.inf


def _move(row: Row) -> str:
    return f"{in_words(row, row.baseline)} to {in_words(row, row.candidate)}"
