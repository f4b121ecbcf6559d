"""95 % intervals of ratios of sums, from parts of a measurement that were counted by themselves.

Parts follow each other in time, and neighbours are often alike: by a load that swings, kinds of requests whose shares
drift, sessions that stay with a server. How long they are alike cannot be told from so few. Therefore no correlation is
estimated: intervals are self-normalised, by the sums of deviations up to each part, which grow with any correlation as
much as the error of the mean does (Lobato, JASA 96 (2001), 1066; Shao, JRSS B 72 (2010), 343). That holds for many
parts. Of few the intervals are longer by a factor, found by simulation: up to a correlation of 0.9 between neighbours
they hold the truth in 90 of 100. Of independent parts they hold it in 99.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Self

from draftboard.output import Described

LEAST = 8
"""Parts with a count, under which their scatter is not known."""
PARTS = 20
"""Into which a measurement is divided: more are no better, and pages cost the server time."""
_QUANTILE = math.sqrt(45.4)  # 95 % of the statistic's distribution: Lobato, table 1, one dimension.
_OF_FEW, _LONGEST = 14.0, 2.0  # By how much longer an interval is: the first over the number of parts, at most twice.


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
        """Of what each part counted above and below the line, in order of time; None where too few counted anything."""
        counted = [(above, below) for above, below in parts if below > 0]
        if len(counted) < LEAST:
            return None
        above, below = (math.fsum(side) for side in zip(*counted, strict=True))
        value = above / below
        if value <= 0:
            return None
        sums = accumulate(own - value * count for own, count in counted)
        scale = _QUANTILE * min(_LONGEST, 1 + _OF_FEW / len(counted))
        return cls(value, scale * math.sqrt(math.fsum(one**2 for one in sums) / len(counted)) / below)

    @property
    def estimate(self) -> Estimate:
        """With its interval; nothing that is counted is below 0."""
        return Estimate(self.value, max(0.0, self.value - self.error), self.value + self.error)

    def over(self, other: "Ratio") -> Estimate:
        """One measurement over another, by logarithms."""
        return together([(self, other, 1.0)])

    def less(self, other: "Ratio") -> Estimate:
        """One measurement less another."""
        value, error = self.value - other.value, math.hypot(self.error, other.error)
        return Estimate(value, value - error, value + error)


def together(strata: Sequence[tuple[Ratio, Ratio, float]]) -> Estimate:
    """One measurement over another in several strata, such as loads, each with its weight: the geometric mean."""
    value = sum(weight * math.log(one.value / other.value) for one, other, weight in strata)
    error = math.hypot(*(weight * part.error / part.value for *both, weight in strata for part in both))
    return Estimate(math.exp(value), math.exp(value - error), math.exp(value + error))
