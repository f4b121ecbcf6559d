"""A draft length for every batch size, as vLLM's `num_speculative_tokens_per_batch_size` takes it."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import groupby, pairwise

from draftboard.errors import DraftboardError
from draftboard.output import Block, Described, Heading, Sentence, Table, Verbatim, columns
from draftboard.plan import theory
from draftboard.plan.basis import Formula, Plan, Term, within
from draftboard.plan.draft_length import SPEEDUP_FORMULAS

_LARGEST_BATCH, _MOST_POINTS = 16_384, 64
_BOUNDS = "both bounds belong; the first starts at 1; beyond the last, vLLM keeps its K"
_VLLM = "vLLM docs/features/speculative_decoding/dynamic_speculative_decoding.md, v1/spec_decode/dynamic/utils.py"
_FORMULAS = (
    *SPEEDUP_FORMULAS,
    Formula("v of a shorter draft", "v(k) = 1 + (v - 1) * k / K, with v measured at K", "verified tokens grow with k"),
    Formula("v at a batch size", "straight line between the sizes given; before the first, as at the first", "choice"),
    Formula("K at a batch size", "smallest k of the highest S(k); 0 when that is 1 or less", "S = 1 is break-even"),
    Formula("ranges", _BOUNDS, _VLLM),
)


@dataclass(frozen=True)
class Range(Described):
    """Batch sizes that share a draft length; both bounds belong to it."""

    first: int
    last: int
    k: int
    """0: plain decoding."""
    speedup_least: float
    """Expected at this k; 1 where k is 0."""
    speedup_most: float
    inflation_least: float
    """As measured, at the longest draft."""
    inflation_most: float


@dataclass(frozen=True)
class SpeculativeConfig(Described):
    """Two keys of vLLM's --speculative-config, under vLLM's names."""

    num_speculative_tokens: int
    """The longest draft of all: vLLM cuts every K to it, and sizes its buffers by it."""
    num_speculative_tokens_per_batch_size: tuple[tuple[int, int, int], ...]
    """First batch size, last batch size, K."""


@dataclass(frozen=True, kw_only=True)
class SchedulePlan(Plan):
    """The best draft length at every batch size up to the largest measured."""

    plan: str = "schedule"
    formulas: tuple[Formula, ...] = _FORMULAS
    cost_ratio: Term
    measured_at: int
    """The longest draft planned, at which the inflation was measured."""
    ranges: tuple[Range, ...]
    speculative_config: SpeculativeConfig | None
    """None when speculation pays at no batch size."""

    def blocks(self) -> tuple[Block, ...]:
        """K by batch size, and the keys for vLLM on one line."""
        headings = columns("Batch size", numbers=("K", f"v at K = {self.measured_at}", "Expected speedup"))
        title = Heading(f"K by batch size: c = {self.cost_ratio.value:g}")
        table = Table(headings, tuple(map(_row, self.ranges)))
        if self.speculative_config is None:
            return (title, table)
        keys = Verbatim(json.dumps(asdict(self.speculative_config)))
        return (title, table, Sentence("Put these keys into --speculative-config, beside method and model:"), keys)


def _row(each: Range) -> tuple[str, ...]:
    spans = ((each.inflation_least, each.inflation_most), (each.speedup_least, each.speedup_most))
    texts = (dict.fromkeys((f"{least:.2f}", f"{most:.2f}")) for least, most in spans)
    return (f"{each.first} to {each.last}", str(each.k), *("-".join(text) for text in texts))


def plan_schedule(survival: Sequence[float], cost: Term, curve: Sequence[tuple[int, float]]) -> SchedulePlan:
    """Plan from survival by position, c, and a curve: batch sizes in rising order, with v measured at each.

    v is that of the longest draft, as many tokens as `survival` has positions; of shorter drafts it is less.

    Raises:
        DraftboardError: the batch sizes do not rise, or a number is out of range.
    """
    _require_curve(curve)
    ranges, at = _ranges(survival, cost.value, curve), len(survival)
    entries, longest = tuple((each.first, each.last, each.k) for each in ranges), max(each.k for each in ranges)
    shared = f"v is taken as measured at K = {at}; of a shorter draft, by its share of the verified tokens."
    return SchedulePlan(
        verdict=_verdict(ranges),
        notes=(shared, *(_of_vllm(ranges[-1]) if longest else ()), *cost.note("cost ratio")),
        cost_ratio=cost,
        measured_at=at,
        ranges=ranges,
        speculative_config=SpeculativeConfig(longest, entries) if longest else None,
    )


def _of_vllm(last: Range) -> tuple[str, ...]:
    """How vLLM reads a schedule."""
    return (
        f"Beyond {last.last} vLLM keeps K = {last.k}: measure up to your --max-num-seqs.",
        "vLLM counts every request of a step, prefills too, so a prefill that joins can cross a bound.",
        "vLLM has tested schedules with eagle, eagle3 and dflash: with another method, try it first.",
        "vLLM drops the schedule under data parallelism, and uses num_speculative_tokens throughout.",
        "vLLM issue 49548 reports a collapse of throughput where the batch swings about a bound: load-test there.",
    )


def _require_curve(curve: Sequence[tuple[int, float]]) -> None:
    if not 1 <= len(curve) <= _MOST_POINTS:
        raise DraftboardError(f"inflation names {len(curve)} batch sizes: name 1 to {_MOST_POINTS}")
    for size, inflation in curve:
        within("batch size", size, 1, _LARGEST_BATCH)
        within(f"inflation at batch size {size}", inflation, 0.01, 1000)
    for (before, _), (after, _) in pairwise(curve):
        if after <= before:
            raise DraftboardError(f"inflation: batch size {after} follows {before}; name each once, in rising order")


def _inflation_at(curve: Sequence[tuple[int, float]], size: int) -> float:
    """On straight lines between the measured sizes; before the first and after the last, as there."""
    if size <= curve[0][0]:
        return curve[0][1]
    for (low, v_low), (high, v_high) in pairwise(curve):
        if size <= high:
            return v_low + (v_high - v_low) * (size - low) / (high - low)
    return curve[-1][1]


def _ranges(survival: Sequence[float], cost: float, curve: Sequence[tuple[int, float]]) -> tuple[Range, ...]:
    """Batch sizes in order, neighbours of one K joined: every size is in exactly one range."""
    each = []
    for size in range(1, curve[-1][0] + 1):
        inflation = _inflation_at(curve, size)
        k, speedup = theory.best_k(survival, theory.cost_per_drafted_token(len(survival), cost, inflation))
        each.append((size, inflation, k, speedup))
    ranges = []
    for k, members in groupby(each, key=lambda point: point[2]):
        sizes, inflations, _, speedups = zip(*members, strict=True)
        ranges.append(Range(sizes[0], sizes[-1], k, min(speedups), max(speedups), min(inflations), max(inflations)))
    return tuple(ranges)


def _verdict(ranges: tuple[Range, ...]) -> str:
    off = [f"{each.first} to {each.last}" for each in ranges if not each.k]
    if len(off) == len(ranges):
        return "Leave speculation off: at no batch size is it expected to be faster than plain decoding."
    if off:
        return f"Plain decoding (K = 0) is expected to be faster at batch sizes {', '.join(off)}."
    return "Speculation is expected to pay at every batch size that was given."
