"""How drafts fare, in numbers from which every figure of speculation follows exactly."""

from dataclasses import dataclass
from itertools import zip_longest
from math import fsum
from typing import Self

from draftboard.attribution.counted import Counted


@dataclass(frozen=True)
class State:
    """Of one side of a change."""

    phantoms: float
    """Share of drafts that belong to no decode step: placeholders of cached prompts, which are never accepted."""
    covered: float
    """Other drafts per decode step."""
    lengths: tuple[float, ...]
    """By position: share of these drafts that are longer."""
    passes: tuple[float | None, ...]
    """By position: accepted / those that reach it with all before accepted; None where none does."""

    @classmethod
    def of(cls, counted: Counted) -> Self:
        """Of what was counted; drafts beyond one for each request and step are phantoms, if none is accepted."""
        real = max((min(counted.drafts, counted.steps), *counted.accepted))
        phantoms = max(0.0, counted.drafts - real)
        if not real or not counted.steps:
            return cls(0.0, 0.0, (), ())
        survival = [accepted / real for accepted in counted.accepted]
        lengths = _lengths(counted, real, phantoms, survival)
        passes: list[float | None] = []
        before = 1.0
        for position, share in enumerate(survival):
            longer = lengths[position - 1] if position else 1.0
            reach = before * lengths[position]
            passes.append(share * longer / reach if reach > 0 else None)
            before = share
        return cls(phantoms / (real + phantoms), real / counted.steps, tuple(lengths), tuple(passes))


def _lengths(counted: Counted, real: float, phantoms: float, survival: list[float]) -> list[float]:
    if counted.drafted:
        shares = [max(0.0, tokens - phantoms) / real for tokens in counted.drafted]
    else:
        # Phantoms have all K tokens. Without counts by position, all drafts are as long as their mean.
        mean = (counted.draft_tokens - phantoms * len(survival)) / real
        shares = [min(1.0, max(0.0, mean - position)) for position in range(len(survival))]
    shares += [0.0] * (len(survival) - len(shares))
    return [min(1.0, max(own, accepted)) for own, accepted in zip(shares, survival, strict=False)]


def accepted_per_draft(lengths: tuple[float, ...], passes: tuple[float, ...]) -> float:
    """Sum over positions of the share of drafts that are longer and accepted up to there."""
    total, reached = [], 1.0
    for share, passed in zip(lengths, passes, strict=True):
        reached *= passed
        total.append(share * reached)
    return fsum(total)


def alike(before: State, after: State) -> tuple[tuple[float, ...], ...]:
    """Lengths and passes of both, over all positions of either; what one side never reached passes as on the other."""
    lengths = [list(side) for side in zip(*zip_longest(before.lengths, after.lengths, fillvalue=0.0), strict=True)]
    pairs = list(zip_longest(before.passes, after.passes))
    known = [(old if old is not None else new, new if new is not None else old) for old, new in pairs]
    passes = [[one[side] or 0.0 for one in known] for side in (0, 1)]
    return tuple(map(tuple, (*(lengths or ([], [])), *passes)))
