"""The time of a step by the tokens that it verifies, from a server's own steps at different loads.

The drafter's time is in every step that is seen, so that `t(n)` holds it, too: what it may be comes from published
measurements. Where nothing was seen, the curve goes on as theirs do.
"""

import bisect
import math
import random
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from statistics import median

from draftboard.extras import optional_module

BLOCKS = 10
"""Stretches of time that are resampled as a whole: what is alike for less than one of them does not narrow a range."""
_RESAMPLES, _SEED = 39, 0  # Of 39 and one more, the next is outside with a probability of 2 / 40.
_LEAST_RESAMPLED = 0.95  # Of them, that must have as many loads: else the curve rests on few stretches of time.
_LEAST = 4  # Steps of like load in a bin: of fewer, one slow step is their median.
_BINS_PER_DOUBLING = 2
_LEAST_DOUBLINGS = 1.0  # Of the tokens verified: over less, the curve is the noise of its ends.
_WHY = "a curve of step times requires", "calibrate"  # What needs the package, and the extra that has it.


@dataclass(frozen=True)
class Steps:
    """A stretch of time, such as between two scrapes, in which the load was steady."""

    verified: float
    """Tokens that a step verified on average, n: above 0."""
    seconds: float
    """Mean time of a step: above 0."""


class TooLittle(ValueError):  # noqa: N818 - what is missing, not that something is wrong
    """The steps do not tell a curve: why."""


@dataclass(frozen=True)
class Curve:
    """Time of a step by the tokens that it verifies: never less for more tokens."""

    points: tuple[tuple[float, float], ...]
    """Tokens and seconds, from the fewest tokens to the most."""

    def seconds(self, verified: float, knee: float) -> float:
        """Of a step, by interpolation between the points, and beyond them by the law with that knee."""
        tokens = [point[0] for point in self.points]
        nearest = min(max(verified, tokens[0]), tokens[-1])
        after = min(max(bisect.bisect_left(tokens, nearest), 1), len(tokens) - 1)
        (least, short), (most, long) = self.points[after - 1], self.points[after]
        share = (nearest - least) / (most - least)
        return (short + share * (long - short)) * (knee + verified) / (knee + nearest)


def curves(steps: Sequence[Steps]) -> tuple[Curve, ...]:
    """The curve of stretches of time in their order, and of such drawn at random: their range holds 95 % of the truth.

    Stretches of like load make one point, their median, so that some slow ones, such as with prefills, do not move it.
    TooLittle where the tokens verified varied too little.
    """
    chance, size = random.Random(_SEED), len(steps) / BLOCKS  # noqa: S311 - to resample, not to keep a secret
    blocks = [steps[round(block * size) : round((block + 1) * size)] for block in range(BLOCKS)]
    found = [_curve(steps)]
    for _ in range(_RESAMPLES):
        drawn = [one for block in chance.choices(blocks, k=BLOCKS) for one in block]
        with suppress(TooLittle):
            found.append(_curve(drawn))
    if len(found) - 1 < _RESAMPLES * _LEAST_RESAMPLED:
        raise TooLittle("the loads that a curve needs were had for a short time only")
    return tuple(found)


def _curve(steps: Sequence[Steps]) -> Curve:
    bins: dict[int, list[Steps]] = {}
    for one in steps:
        bins.setdefault(math.floor(_BINS_PER_DOUBLING * math.log2(one.verified)), []).append(one)
    full = [own for _, own in sorted(bins.items()) if len(own) >= _LEAST]
    tokens = [median(one.verified for one in own) for own in full]
    doublings = math.log2(tokens[-1] / tokens[0]) if tokens else 0.0
    if doublings < _LEAST_DOUBLINGS:
        raise TooLittle(
            f"the tokens verified in a step varied by {2**doublings:.1f} times: a curve needs {2**_LEAST_DOUBLINGS:g}"
        )
    return Curve(tuple(zip(tokens, _rising([median(one.seconds for one in own) for own in full]), strict=True)))


def _rising(values: Sequence[float]) -> list[float]:
    """The nearest that never falls."""
    found = optional_module("scipy.optimize", *_WHY).isotonic_regression(values)
    return [float(value) for value in found.x]
