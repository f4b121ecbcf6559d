"""95 % intervals of ratios of sums, from parts of a measurement that were counted separately.

Parts follow each other in time, and neighbours are often alike: by a load that swings, kinds of requests whose shares
drift, sessions that stay with a server. So few parts do not show how long. Therefore no correlation is
estimated: intervals are self-normalised, by the sums of deviations up to each part, which grow with any correlation as
much as the error of the mean does (Lobato, JASA 96 (2001), 1066; Shao, JRSS B 72 (2010), 343). That holds for many
parts. With few, intervals are longer by a factor from simulation: up to a correlation of 0.9 between neighbours, and
with sessions that last half of up to 20 parts, they hold the truth in 90 of 100, and with independent parts in 99. What
stays as it is over all parts shows in none of them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Self

from draftboard.output import Described

LEAST = 8
"""Minimum number of parts with a count: fewer do not show their scatter."""
PARTS = 20
"""Number of parts of a measurement: more do not help, and each costs the server a scrape."""
SESSIONS = 2
"""How many times as long as a session that stays with a server a measurement must be."""
_QUANTILE = math.sqrt(45.4)  # 95 % of the statistic's distribution: Lobato, table 1, one dimension.
_OF_FEW = 14.0  # Over the number of parts: by how much longer an interval is.


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


@dataclass(frozen=True)
class Ratio:
    """A ratio of sums over parts."""

    value: float
    error: float  # Half of its interval.

    @classmethod
    def of(cls, parts: Sequence[tuple[float, float]]) -> Self | None:
        """From numerator and denominator of each part, in order of time; None with fewer than LEAST parts."""
        counted = [(above, below) for above, below in parts if below > 0]
        if len(counted) < LEAST:
            return None
        above, below = (math.fsum(side) for side in zip(*counted, strict=True))
        value = above / below
        if value <= 0:
            return None
        sums = accumulate(own - value * count for own, count in counted)
        scale = _QUANTILE * (1 + _OF_FEW / len(counted))
        return cls(value, scale * math.sqrt(math.fsum(one**2 for one in sums) / len(counted)) / below)

    @property
    def estimate(self) -> Estimate:
        """The value with its interval, which does not reach below 0."""
        return Estimate(self.value, max(0.0, self.value - self.error), self.value + self.error)

    def over(self, other: "Ratio") -> Estimate:
        """The ratio to another measurement; its interval is computed on logarithms."""
        return geometric_mean([(self, other, 1.0)])

    def less(self, other: "Ratio") -> Estimate:
        """The difference from another measurement."""
        value, error = self.value - other.value, math.hypot(self.error, other.error)
        return Estimate(value, value - error, value + error)


def geometric_mean(strata: Sequence[tuple[Ratio, Ratio, float]]) -> Estimate:
    """Weighted geometric mean of ratios in several strata, such as loads."""
    value = sum(weight * math.log(one.value / other.value) for one, other, weight in strata)
    error = math.hypot(*(weight * part.error / part.value for *both, weight in strata for part in both))
    return Estimate(math.exp(value), math.exp(value - error), math.exp(value + error))
