"""95 % intervals of ratios of sums, from parts of a measurement that were counted separately.

scipy resamples the parts (bootstrap); Student's t makes an interval of the standard error. Percentiles of resampled
ratios would be too narrow: with so few parts they hold the truth in 91 of 100 simulated runs.

Parts follow each other in time, and neighbours correlate: the effective number of independent parts is smaller.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

from draftboard.errors import DraftboardError
from draftboard.extras import optional_module
from draftboard.output import Described

LEAST = 8
"""Parts with a count, under which their scatter is not known."""
PARTS = 20
"""Into which a measurement is divided: more are no better, and pages cost the server time."""
_WHY = "intervals require", "calibrate"  # What needs the package, and the extra that has it.
_SHARE, _RESAMPLES, _SEED = 0.95, 999, 0
_FEWEST = 3.0  # Independent parts that scatter at all.


@dataclass(frozen=True)
class Estimate(Described):
    """A value and its 95 % interval."""

    value: float
    """As measured."""
    low: float
    """The interval's lower end."""
    high: float
    """Its upper end."""

    def __str__(self) -> str:
        """With two decimals."""
        return f"{self.value:.2f} ({self.low:.2f} to {self.high:.2f})"


def unavailable() -> str:
    """What must be installed; empty where nothing is missing."""
    try:
        optional_module("scipy.stats", *_WHY)
    except DraftboardError as error:
        return str(error)
    return ""


@dataclass(frozen=True)
class Ratio:
    """A ratio of sums over parts."""

    value: float
    error: float  # Standard error.
    parts: float  # As many as are independent.

    @classmethod
    def of(cls, parts: Sequence[tuple[float, float]]) -> Self | None:
        """Of what each part counted above and below the line; None where fewer than LEAST parts counted anything."""
        counted = [(above, below) for above, below in parts if below > 0]
        if len(counted) < LEAST:
            return None
        above, below = zip(*counted, strict=True)
        value = sum(above) / sum(below)
        if value <= 0:
            return None
        resampled = optional_module("scipy.stats", *_WHY).bootstrap(
            (above, below),
            lambda above, below, axis: above.sum(axis=axis) / below.sum(axis=axis),
            paired=True,
            vectorized=True,
            n_resamples=_RESAMPLES,
            method="percentile",
            rng=_SEED,
        )
        independent = _independent([above - value * below for above, below in counted])
        # Resampled parts scatter as the sample does, not as what it is a sample of, and as if all were independent.
        wider = math.sqrt(len(counted) / (independent - 1))
        return cls(value, float(resampled.standard_error) * wider, independent)

    @property
    def estimate(self) -> Estimate:
        """With its interval; nothing that is counted is below 0."""
        low, high = _student(self.value, [(self.error, self.parts)])
        return Estimate(self.value, max(0.0, low), high)

    def over(self, other: "Ratio") -> Estimate:
        """One measurement over another, by logarithms."""
        return together([(self, other, 1.0)])

    def less(self, other: "Ratio") -> Estimate:
        """One measurement less another."""
        value = self.value - other.value
        return Estimate(value, *_student(value, [(self.error, self.parts), (other.error, other.parts)]))


def together(strata: Sequence[tuple[Ratio, Ratio, float]]) -> Estimate:
    """One measurement over another in several strata, such as loads, each with its weight: the geometric mean."""
    value = sum(weight * math.log(one.value / other.value) for one, other, weight in strata)
    errors = [(weight * part.error / part.value, part.parts) for *both, weight in strata for part in both]
    low, high = _student(value, errors)
    return Estimate(math.exp(value), math.exp(low), math.exp(high))


def _independent(deviations: Sequence[float]) -> float:
    """How many independent parts scatter as much, by the correlation of neighbours (a first-order autoregression).

    Few parts underestimate that correlation by (1 + 3 rho) / n: Kendall, Biometrika 41 (1954), 403.
    """
    parts, scatter = len(deviations), math.fsum(one * one for one in deviations)
    if not scatter:
        return parts
    estimated = math.fsum(one * after for one, after in pairwise(deviations)) / scatter
    correlation = max(0.0, (estimated + 1 / parts) / (1 - 3 / parts))
    return max(_FEWEST, parts * (1 - correlation) / (1 + correlation))


def _student(value: float, errors: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Of a sum, by the standard error and the parts of each term; degrees of freedom as by Welch and Satterthwaite."""
    error = math.hypot(*(own for own, _ in errors))
    if not error:
        return value, value
    freedom = 1 / sum((own / error) ** 4 / (parts - 1) for own, parts in errors)
    low, high = optional_module("scipy.stats", *_WHY).t.interval(_SHARE, freedom, value, error)
    return float(low), float(high)
