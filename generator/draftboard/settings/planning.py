"""Rules of thumb for plans, before anything is measured.

All are HEUR: advice of authors without a measurement, which other authors contradict. A default to start from.
"""

from typing import Self

from pydantic import model_validator

from draftboard.documents import Table
from draftboard.settings.fields import AboveZero, Ratio, Share


class Planning(Table):
    """Where `draftboard plan` warns. All HEUR."""

    target_share: Share = 0.7
    """Target weights over all GPU memory, above which a draft model cuts concurrency."""
    draft_share: Share = 0.15
    """Draft weights over all GPU memory, above which they take too much of the KV cache."""
    size_ratio_from: AboveZero = 5.0
    """Target parameters over draft parameters: below, drafting is too slow. Another source praises 13B for 70B, 5.4."""
    size_ratio_best_from: AboveZero = 8.0
    size_ratio_best_to: AboveZero = 12.0
    size_ratio_to: AboveZero = 15.0
    """Above, the draft model is too weak. Yet 1.1B for 70B is reported to pay with few requests at a time."""
    draft_cost: Ratio = 0.2
    """Most that drafting one token may take of a target step: a draft model five times faster."""
    low_temperature: AboveZero = 0.5
    """Up to here sampling is close enough to greedy that drafts are often right."""
    high_temperature: AboveZero = 0.7
    """Above, drafts are often wrong. Between the two the sources say nothing: measure."""

    @model_validator(mode="after")
    def _rise(self) -> Self:
        bounds = (self.size_ratio_from, self.size_ratio_best_from, self.size_ratio_best_to, self.size_ratio_to)
        if list(bounds) != sorted(set(bounds)):
            raise ValueError("size ratios must rise: from < best_from < best_to < to")
        if self.low_temperature >= self.high_temperature:
            raise ValueError("low_temperature must be under high_temperature")
        return self
