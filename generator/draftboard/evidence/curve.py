"""The time of a step by the tokens that it verifies, from a server's own steps at different loads.

The drafter's time is in every step that is seen, so that `t(n)` holds it, too. A ratio of two points is therefore the
least that a step with drafts costs over a plain one: no speedup is higher than what follows from it.
"""

import bisect
import math
import random
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from statistics import median, stdev

from draftboard.evidence.law import Load
from draftboard.evidence.range import PLAIN_STEP, Range
from draftboard.extras import optional_module

BLOCKS = 10
"""Stretches of time that are resampled as a whole: what is alike for less than one of them does not narrow a range."""
_RESAMPLES, _SEED = 99, 0
_LEAST = 4  # Steps of like load in a bin: of fewer, one slow step is their median.
_BINS_PER_DOUBLING = 2
_LEAST_DOUBLINGS = 1.0  # Of the tokens verified: over less, the curve is the noise of its ends.
_PROBABILITY = 0.95
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
    resampled: tuple["Curve", ...] = ()
    """The same of stretches of time drawn at random; empty for those curves."""

    @property
    def reach(self) -> Range:
        """Tokens that were verified in a step."""
        return Range(self.points[0][0], self.points[-1][0])

    def seconds(self, verified: float) -> float:
        """Of a step, by interpolation between the points; ValueError beyond `reach`."""
        tokens = [point[0] for point in self.points]
        if not self.points[0][0] <= verified <= self.points[-1][0]:
            raise ValueError(f"no steps verified {verified:g} tokens")
        after = min(max(bisect.bisect_left(tokens, verified), 1), len(tokens) - 1)
        (least, short), (most, long) = self.points[after - 1], self.points[after]
        share = (verified - least) / (most - least)
        return short + share * (long - short)

    def inflation(self, batch: float, drafted: float) -> Range | None:
        """95 % range of the least v: a step that verifies `drafted` tokens a request over one that verifies none.

        None where too few steps were as small or as large.
        """
        ratio = self._ratio(batch, drafted)
        if ratio is None:
            return None
        others = [found for one in self.resampled if (found := one._ratio(batch, drafted)) is not None]  # noqa: SLF001
        if len(others) < _RESAMPLES * _PROBABILITY:
            return None  # The ends rest on few stretches of time.
        # Resampled stretches scatter as the sample does, not as what it is a sample of.
        error = stdev(others) * math.sqrt(BLOCKS / (BLOCKS - 1))
        quantile = optional_module("scipy.stats", *_WHY).t.ppf((1 + _PROBABILITY) / 2, BLOCKS - 1)
        half = float(quantile) * error
        return Range(math.exp(ratio - half), math.exp(ratio + half)).at_least(PLAIN_STEP)

    def _ratio(self, batch: float, drafted: float) -> float | None:
        """Logarithm of v."""
        verified = Load(batch=batch, drafted=drafted).verified
        try:
            return math.log(self.seconds(verified) / self.seconds(batch))
        except ValueError:
            return None


def curve(steps: Sequence[Steps]) -> Curve:
    """From stretches of time in their order. TooLittle where the tokens verified varied too little.

    Stretches of like load make one point, their median, so that some slow ones, such as with prefills, do not move it.
    """
    chance, size = random.Random(_SEED), len(steps) / BLOCKS  # noqa: S311 - to resample, not to keep a secret
    blocks = [steps[round(block * size) : round((block + 1) * size)] for block in range(BLOCKS)]
    resampled = []
    for _ in range(_RESAMPLES):
        drawn = [one for block in chance.choices(blocks, k=BLOCKS) for one in block]
        with suppress(TooLittle):
            resampled.append(_curve(drawn))
    return Curve(_curve(steps).points, tuple(resampled))


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
