"""Speedups where a cost is assumed: ranges, from published measurements of the method at a batch."""

from collections.abc import Sequence

from draftboard.errors import DraftboardError
from draftboard.evidence import UNKNOWN_LOAD, Load, Range, assumed, assumed_ranges
from draftboard.evidence.law import inflation as inflation_at
from draftboard.evidence.range import PLAIN_STEP
from draftboard.plan.basis import Term, within

Costs = tuple[float, ...]
"""Of a step, in plain steps, in each case of what published measurements let one expect."""


def step_costs(longest: int, cost: Term, inflation: Term, method: str, batch: float) -> tuple[Costs, ...] | None:
    """Of steps with k = 0, 1, ... drafted tokens; None where both costs are known.

    `batch`: requests that share a step. DraftboardError beyond the batches that were measured.
    """
    if not (cost.assumed or inflation.assumed):
        return None
    largest = assumed_ranges().largest_batch
    if within("batch", batch, 1, 1_000_000) > largest:
        raise DraftboardError(
            f"{UNKNOWN_LOAD}: no published measurement had a batch over {largest}: give --cost-ratio and "
            "--verify-inflation"
        )
    cases = assumed(method).cases

    def costs(k: int) -> Costs:
        load = Load(batch=batch, drafted=k)
        steps = (
            (inflation_at(load, case.knee) if inflation.assumed else inflation.value)
            + (case.overhead * load.units(case.kind) if cost.assumed else cost.value * k)
            for case in cases
        )
        return tuple(max(step, PLAIN_STEP) for step in steps)

    return ((PLAIN_STEP,) * len(cases), *map(costs, range(1, longest + 1)))


def best(found: Sequence[Range], gain: float) -> int | None:
    """The k to begin with: the smallest within `gain` of the highest low end; None where none may pay."""
    return None if all(one.high < 1 for one in found) else _first([one.low for one in found], gain)


def rests_on(found: Sequence[Range], gain: float) -> str:
    """Which k would be best at either end of the costs, and what outranks that."""
    dear, cheap = (_first(ends, gain) for ends in ([one.low for one in found], [one.high for one in found]))
    ends = (
        f"k = {dear} is best at the highest of them, k = {cheap} at the lowest"
        if dear != cheap
        else (f"k = {dear} is best at both ends of them")
    )
    return (
        f"Costs are assumed: {ends}. A measurement outranks this plan: the best k of `draftboard report` beside a "
        "baseline, or c and v of `draftboard calibrate`."
    )


def _first(speedups: Sequence[float], gain: float) -> int:
    """The smallest k within `gain` of the highest."""
    enough = (1 - gain) * max(speedups)
    return next(k for k, speedup in enumerate(speedups, 1) if speedup >= enough)
