"""When figures changed most: the split of a range with the clearest difference between both sides."""

from collections.abc import Callable, Sequence
from math import fsum, log

from draftboard.attribution.counted import LEAST, Counted, Moment

_Figure = Callable[[Counted], tuple[float, float]]
_FIGURES: tuple[_Figure, ...] = (
    lambda counted: (counted.drafts + fsum(counted.accepted), counted.drafts),
    lambda counted: (counted.steps + fsum(counted.accepted), counted.steps),
    lambda counted: (counted.seconds, counted.steps),
)
"""Acceptance length, tokens per decode step, and time of a step, as ratios."""
_FLOOR = 1e-6  # A split that leaves no scatter is no better than one that leaves hardly any.


def shift(moments: Sequence[Moment]) -> int | None:
    """How many moments lie before the change; None where no split leaves `LEAST` on both sides.

    Of each figure's logarithm, the sum of squares that a split takes away, over what it leaves: the figure that splits
    best decides (binary segmentation; Scott and Knott, Biometrics 30 (1974), 507).
    """
    best, where = 0.0, None
    for figure in _FIGURES:
        ratios = [figure(moment.whole) for moment in moments]
        known = [(place, log(above / below)) for place, (above, below) in enumerate(ratios) if above > 0 and below > 0]
        for split in range(LEAST, len(known) - LEAST + 1):
            sides = [[value for _, value in part] for part in (known[:split], known[split:])]
            left = fsum(_scatter(side) for side in sides)
            gained = _scatter([value for _, value in known]) - left
            if gained > 0 and gained / (left + _FLOOR) > best:
                best, where = gained / (left + _FLOOR), known[split][0]
    return where


def _scatter(values: Sequence[float]) -> float:
    mean = fsum(values) / len(values)
    return fsum((value - mean) ** 2 for value in values)
