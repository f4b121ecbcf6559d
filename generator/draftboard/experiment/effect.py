"""What random order alone shows of an effect, at every look.

In each pair the logarithms of both blocks differ by the effect and by what else differed. Whatever that is, chance
decided which arm got it, so that it is as likely to be added as to be taken away. For such symmetric x_i and any rate r
`exp(r * sum(x) - r^2 / 2 * sum(x^2))` is a supermartingale (de la Pena, Annals of Probability 27 (1999), 537). Averaged
over normal rates it exceeds 20 in at most 5 % of all experiments, however often somebody looks (Ville).
"""

import math
from collections.abc import Sequence
from statistics import fmean

from draftboard.intervals import Estimate

Effect = Estimate
_LOG_20 = math.log(20)
_SPREADS = (1.0, 5.0, 25.0)  # Standard deviations of the rate: for logarithms of 1 down to a few percent.
_FARTHEST, _HALVINGS = 2.0, 30  # Logarithm of an effect that nobody has; steps to the bound.


def effect(pairs: Sequence[tuple[float, float]]) -> Estimate | None:
    """First over second of each pair, by its geometric mean, with a 95 % interval that is valid at every look.

    None without pairs, or while the interval has no end.
    """
    if not pairs:
        return None
    logs = [math.log(first / second) for first, second in pairs]
    middle = fmean(logs)
    if max(_evidence(logs, middle - _FARTHEST), _evidence(logs, middle + _FARTHEST)) < _LOG_20:
        return None
    low, high = (math.exp(_bound(logs, middle, farthest)) for farthest in (-_FARTHEST, _FARTHEST))
    return Estimate(math.exp(middle), low, high)


def _evidence(logs: Sequence[float], against: float) -> float:
    """Logarithm of the martingale against an effect."""
    total = math.fsum(one - against for one in logs)
    squares = math.fsum((one - against) ** 2 for one in logs)
    terms = [
        spread**2 * total**2 / (2 * (1 + spread**2 * squares)) - math.log1p(spread**2 * squares) / 2
        for spread in _SPREADS
    ]
    highest = max(terms)
    return highest + math.log(fmean(math.exp(term - highest) for term in terms))


def _bound(logs: Sequence[float], middle: float, farthest: float) -> float:
    """The effect on that side of the middle, from which on all are refuted."""
    near, far = 0.0, farthest
    for _ in range(_HALVINGS):
        between = (near + far) / 2
        near, far = (between, far) if _evidence(logs, middle + between) < _LOG_20 else (near, between)
    return middle + far
