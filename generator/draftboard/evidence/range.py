"""A number that is known as a range, and what may be said of a speedup that is."""

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from draftboard.output import Described

BREAK_EVEN = 1.0
"""The speedup at which speculation yields what plain decoding does."""
PLAIN_STEP = 1.0
"""The least that a step with drafts can take, in plain steps: it is one, and more."""


@dataclass(frozen=True)
class Range(Described):
    """A number between two bounds, both included. ValueError unless they are in order."""

    low: float
    """The least that it may be."""
    high: float
    """The most that it may be."""

    def __post_init__(self) -> None:
        if not self.low <= self.high:
            raise ValueError(f"a range from {self.low:g} to {self.high:g} is none")

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    def __str__(self) -> str:
        """With two decimals; one number where both bounds read alike."""
        low, high = f"{self.low:.2f}", f"{self.high:.2f}"
        return low if low == high else f"{low} to {high}"

    @property
    def middle(self) -> float:
        """As many times its low end as its high end is of it."""
        return math.sqrt(self.low * self.high)

    def at_least(self, bound: float) -> Self:
        """The part from `bound` upwards; `bound` itself where all of the range is below."""
        return type(self)(max(self.low, bound), max(self.high, bound))


class Ruling(StrEnum):
    """What a range of a speedup says."""

    PAYS = "pays"
    COSTS = "costs"
    UNCLEAR = "unclear"


def expected_speedup(tokens_per_step: float, step_cost: Range) -> Range:
    """Over plain decoding: tokens that a decode step yields over what it costs, in plain steps."""
    return Range(tokens_per_step / step_cost.high, tokens_per_step / step_cost.low)


def ruling(speedup: Range, clearly: float = BREAK_EVEN) -> Ruling:
    """What holds in all of the range: it pays from `clearly` on, and costs below 1."""
    if speedup.low >= clearly and speedup.low > BREAK_EVEN:
        return Ruling.PAYS
    return Ruling.COSTS if speedup.high < BREAK_EVEN else Ruling.UNCLEAR
