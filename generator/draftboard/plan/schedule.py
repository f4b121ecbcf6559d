"""A draft length for every batch size, as vLLM's `num_speculative_tokens_per_batch_size` takes it."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import ClassVar

from draftboard import theory
from draftboard.errors import DraftboardError
from draftboard.plan.bounds import within
from draftboard.plan.draft_length import SPEEDUP_FORMULAS, require_possible
from draftboard.plan.formula import Formula
from draftboard.plan.terms import Term, assumptions
from draftboard.signals.economics import BREAK_EVEN

LARGEST_BATCH = 16_384
_MOST_POINTS = 64

Curve = Sequence[tuple[int, float]]
"""Batch size and the verify inflation measured at it, by rising size."""


@dataclass(frozen=True)
class Range:
    """Batch sizes that share a draft length; both bounds belong to it."""

    first: int
    last: int
    k: int
    """0: no drafts, plain decoding."""
    speedup_least: float
    """Expected at this k; 1 where k is 0."""
    speedup_most: float
    inflation_least: float
    """As measured, at the longest draft."""
    inflation_most: float


@dataclass(frozen=True)
class SpeculativeConfig:
    """Two keys of vLLM's --speculative-config, named as there."""

    num_speculative_tokens: int
    """The longest draft of all: vLLM cuts every K to it, and sizes its buffers by it."""
    num_speculative_tokens_per_batch_size: tuple[tuple[int, int, int], ...]
    """First batch size, last batch size, K."""


@dataclass(frozen=True)
class SchedulePlan:
    """The best draft length at every batch size up to the largest measured."""

    name: ClassVar[str] = "schedule"
    formulas: ClassVar[tuple[Formula, ...]] = (
        *SPEEDUP_FORMULAS,
        Formula(
            "v of a shorter draft", "v(k) = 1 + (v - 1) * k / K, with v measured at K", "verified tokens grow with k"
        ),
        Formula(
            "v at a batch size", "straight line between the sizes given; before the first, as at the first", "choice"
        ),
        Formula("K at a batch size", "smallest k of the highest S(k); 0 when that is 1 or less", "S = 1 is break-even"),
        Formula(
            "ranges",
            "both bounds belong; the first starts at 1; beyond the last, vLLM keeps its K",
            "vLLM docs/features/speculative_decoding/dynamic_speculative_decoding.md, v1/spec_decode/dynamic/utils.py",
        ),
    )

    cost_ratio: Term
    measured_at: int
    """The draft length at which the inflation was measured: the longest that is planned."""
    ranges: tuple[Range, ...]
    speculative_config: SpeculativeConfig | None
    """None when speculation pays at no batch size."""
    verdict: str
    notes: tuple[str, ...]


def plan_schedule(survival: Sequence[float], cost: Term, curve: Curve) -> SchedulePlan:
    """Plan from survival by position, the cost of drafting and the verify inflation measured by batch size.

    The inflation is that of the longest draft, as many tokens as `survival` has positions; of shorter ones it is less.

    Raises:
        DraftboardError: no such survival is possible, or the curve does not rise in batch size or is too long.
    """
    require_possible(survival)
    require_curve(curve)
    ranges = _ranges(survival, cost.value, curve)
    longest = max(each.k for each in ranges)
    config = None
    if longest:
        config = SpeculativeConfig(longest, tuple((each.first, each.last, each.k) for each in ranges))
    return SchedulePlan(
        cost_ratio=cost,
        measured_at=len(survival),
        ranges=ranges,
        speculative_config=config,
        verdict=_verdict(ranges),
        notes=(
            f"v is taken as measured at K = {len(survival)}; of a shorter draft, by its share of the verified tokens.",
            *(_of_vllm(ranges[-1]) if config else ()),
            *assumptions(cost_ratio=cost),
        ),
    )


def _of_vllm(last: Range) -> tuple[str, ...]:
    """What vLLM makes of a schedule."""
    return (
        f"Beyond {last.last} vLLM keeps K = {last.k}: measure up to your --max-num-seqs.",
        "vLLM counts every request of a step, prefills too, so a prefill that joins can cross a bound.",
        "vLLM has tested schedules with eagle, eagle3 and dflash: with another method, try it first.",
        "vLLM drops the schedule under data parallelism, and uses num_speculative_tokens throughout.",
        "vLLM issue 49548 reports a collapse of throughput where the batch swings about a bound: load-test there.",
    )


def require_curve(curve: Curve) -> None:
    """Raise DraftboardError unless the sizes rise and every number is one that can be measured."""
    if not 1 <= len(curve) <= _MOST_POINTS:
        raise DraftboardError(f"inflation names {len(curve)} batch sizes: name 1 to {_MOST_POINTS}")
    for size, inflation in curve:
        within("batch size", size, 1, LARGEST_BATCH)
        within(f"inflation at batch size {size}", inflation, 0.01, 1000)
    for (before, _), (after, _) in pairwise(curve):
        if after <= before:
            raise DraftboardError(f"inflation: batch size {after} follows {before}; name each once, in rising order")


def inflation_at(curve: Curve, size: int) -> float:
    """Verify inflation at a batch size, straight lines between the measured ones, outside of them as at the nearest."""
    if size <= curve[0][0]:
        return curve[0][1]
    for (low, v_low), (high, v_high) in pairwise(curve):
        if size <= high:
            return v_low + (v_high - v_low) * (size - low) / (high - low)
    return curve[-1][1]


def _ranges(survival: Sequence[float], cost: float, curve: Curve) -> tuple[Range, ...]:
    """Batch sizes in order, neighbours of one K joined: every size is in exactly one range."""
    each = []
    for size in range(1, curve[-1][0] + 1):
        inflation = inflation_at(curve, size)
        k, gain = theory.best_k(survival, theory.cost_under_load(cost, inflation, len(survival)))
        each.append((size, inflation, *((k, gain) if gain > BREAK_EVEN else (0, BREAK_EVEN))))
    ranges = []
    for k, members in groupby(each, key=lambda point: point[2]):
        sizes, inflations, _, gains = zip(*members, strict=True)
        ranges.append(Range(sizes[0], sizes[-1], k, min(gains), max(gains), min(inflations), max(inflations)))
    return tuple(ranges)


def _verdict(ranges: tuple[Range, ...]) -> str:
    paying = [each for each in ranges if each.k]
    if not paying:
        return "Leave speculation off: at no batch size is it expected to be faster than plain decoding."
    if len(paying) == len(ranges):
        return "Speculation is expected to pay at every batch size that was given."
    off = ", ".join(f"{each.first} to {each.last}" for each in ranges if not each.k)
    return f"Plain decoding (K = 0) is expected to be faster at batch sizes {off}."
