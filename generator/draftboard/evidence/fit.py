"""Ranges of costs from published measurements: what the next server may show, not what the mean of these did.

Each origin counts once, by the median of its rows. Between origins the logarithms of overheads scatter alike for all
ways to draft, so that one spread, pooled over them, also serves ways that few have measured. A range is Student's
prediction interval for one more origin. Rows that are unlike the others make no range: they say how much wider it is.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from draftboard.evidence.law import METHODS, Kind, step_cost
from draftboard.evidence.measurements import Growth, Measurement, Measurements
from draftboard.extras import optional_module

PROBABILITY = 0.8
"""That the next origin is within a range: more would leave no verdict to most, less would make wrong ones."""
_SMALL = 12  # Tokens verified in a step, up to which the target's own time has hardly grown on any card.
_LARGE = 32  # Over which it tells the knee.
_LEAST = 0.01  # Overhead, where a row shows less.
_KNEES = tuple(2 ** (eighth / 8) for eighth in range(16, 105))  # From 4 to 8,192 tokens.


@dataclass(frozen=True, kw_only=True)
class Spread:
    """A number's range and its middle, and how many origins it comes from."""

    low: float
    middle: float
    high: float
    origins: int


@dataclass(frozen=True, kw_only=True)
class Ranges:
    """What published measurements say of costs."""

    overhead: Mapping[Kind, Spread]
    knee: Spread
    unlike: float
    """Highest cost of a row that is unlike the others, over the middle of theirs."""
    largest_batch: int


def fit(published: Measurements) -> Ranges:
    """Ranges of costs. Needs scipy, and measurements of at least one origin for each way to draft but one."""
    alike = [one for one in published.measurement if not one.unlike]
    overheads = {kind: _overheads(kind, alike, published) for kind in Kind}
    logs = {kind: [math.log(one) for one in found.values()] for kind, found in overheads.items() if found}
    deviations = [one - fmean(of_kind) for of_kind in logs.values() for one in of_kind]
    freedom = len(deviations) - len(logs)
    spread = math.sqrt(math.fsum(one**2 for one in deviations) / freedom)
    overhead = {kind: _spread(of_kind, spread, freedom) for kind, of_kind in logs.items()}
    for kind in set(Kind) - set(overhead):
        # Nobody has measured it: anything that any other way to draft may cost.
        known = overhead.values()
        middle = math.exp(fmean(math.log(one.middle) for one in known))
        overhead[kind] = Spread(
            low=min(one.low for one in known), middle=middle, high=max(one.high for one in known), origins=0
        )
    middles = {kind: dict.fromkeys(published.origins, one.middle) for kind, one in overhead.items()}
    own = {kind: middles[kind] | overheads[kind] for kind in Kind}
    knees = [math.log(one) for one in _knees(alike, published.growth, own).values()]
    scatter = math.sqrt(math.fsum((one - fmean(knees)) ** 2 for one in knees) / (len(knees) - 1))
    knee = _spread(knees, scatter, len(knees) - 1)
    middle_cost = _middle_cost(overhead, knee)
    return Ranges(
        overhead={kind: overhead[kind] for kind in Kind},
        knee=knee,
        unlike=max(one.step_cost / middle_cost(one) for one in published.measurement if one.unlike),
        largest_batch=max(
            (*(one.batch for one in published.measurement), *(one.batches[-1] for one in published.growth))
        ),
    )


def _middle_cost(overhead: Mapping[Kind, Spread], knee: Spread) -> Callable[[Measurement], float]:
    def of(row: Measurement) -> float:
        kind = METHODS[row.method]
        return step_cost(row.load, kind, overhead[kind].middle, knee.middle)

    return of


def _overheads(kind: Kind, alike: Iterable[Measurement], published: Measurements) -> dict[str, float]:
    """By origin, from steps so small that the target takes as long as for one token."""
    found: dict[str, list[float]] = {}
    for row in alike:
        if METHODS[row.method] is kind and row.load.verified <= _SMALL:
            found.setdefault(row.origin, []).append(max(_LEAST, (row.step_cost - 1) / row.load.units(kind)))
    for drafting in published.drafting:
        if METHODS[drafting.method] is kind:
            found.setdefault(drafting.origin, []).append(drafting.cost)
    return {origin: median(values) for origin, values in found.items()}


def _knees(
    alike: Iterable[Measurement], growth: Iterable[Growth], overheads: Mapping[Kind, Mapping[str, float]]
) -> dict[str, float]:
    """By origin: the knee that explains its steps of many tokens best."""
    errors: dict[str, list[Callable[[float], float]]] = {}
    for row in alike:
        if row.load.verified > _LARGE:
            kind = METHODS[row.method]
            errors.setdefault(row.origin, []).append(_of_cost(row, kind, overheads[kind][row.origin]))
    for grown in growth:
        kind = METHODS[grown.method]
        errors.setdefault(grown.origin, []).append(_of_growth(grown, kind, overheads[kind][grown.origin]))
    found = {}
    for origin, of_origin in errors.items():
        by_knee = {knee: fmean(error(knee) for error in of_origin) for knee in _KNEES}
        found[origin] = min(by_knee, key=by_knee.__getitem__)
    return found


def _of_cost(row: Measurement, kind: Kind, overhead: float) -> Callable[[float], float]:
    return lambda knee: abs(math.log(row.step_cost / step_cost(row.load, kind, overhead, knee)))


def _of_growth(grown: Growth, kind: Kind, overhead: float) -> Callable[[float], float]:
    def error(knee: float) -> float:
        first, *later = (step_cost(load, kind, overhead, knee) for load in grown.loads)
        return fmean(
            abs(math.log(cost / first / published)) for cost, published in zip(later, grown.relative[1:], strict=True)
        )

    return error


def _spread(logs: Sequence[float], scatter: float, freedom: int) -> Spread:
    """Student's prediction interval of one more, by logarithms."""
    quantile = float(
        optional_module("scipy.stats", "the fit requires", "calibrate").t.ppf((1 + PROBABILITY) / 2, freedom)
    )
    half, middle = quantile * scatter * math.sqrt(1 + 1 / len(logs)), fmean(logs)
    return Spread(low=math.exp(middle - half), middle=math.exp(middle), high=math.exp(middle + half), origins=len(logs))
