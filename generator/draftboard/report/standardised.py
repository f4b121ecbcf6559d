"""The speedup as it would be if prompts and answers of both sides were equally long.

Parts of a run in which a side's prompts and answers were nearer to the common lengths count more, others less, until
each side has their common means: exponential weights (raking; Deville and Sarndal, JASA 87 (1992), 376). Lengths are
those of vLLM's own counters. Newton's method is written out: it has two unknowns, and the package installs no solver.
"""

import math
from collections.abc import Sequence

from draftboard.intervals import LEAST, Estimate, Ratio
from draftboard.report.numbers import Part
from draftboard.report.scatter import times
from draftboard.settings import Settings

Lengths = tuple[float, float]
"""Of a mean prompt and a mean answer, in tokens."""
_DEGENERATE = 1e-6
"""Lengths that vary so little, or so much alike, do not tell prompts from answers."""
_STEPS, _FARTHEST = 8, 20.0
"""Of the search for weights: how many, and the largest exponent, beyond which a side's lengths are too far away."""

_MISSED = 0.01
"""Share by which a weighted mean may miss the common length: the speedup is told with two decimals."""


def standardised(baseline: Sequence[Part], variant: Sequence[Part], settings: Settings) -> Estimate | None:
    """Speedup at common lengths, with its 95 % interval, from the parts of both sides.

    None where lengths are alike within `thresholds.slower`, where parts do not tell them, or where no weights give a
    side the common lengths: its own are too far from them.
    """
    both = [[part for part in side if part.first_tokens] for side in (baseline, variant)]
    means = [_mean(parts) for parts in both if parts]
    least = settings.thresholds.slower
    if len(means) < len(both) or all(min(pair) >= least * max(pair) for pair in zip(*means, strict=True)):
        return None
    target = _mean([part for parts in both for part in parts])
    before, after = (_ratio(parts, target) for parts in both)
    return before.over(after) if before and after else None


def _mean(parts: Sequence[Part]) -> Lengths:
    requests = math.fsum(part.first_tokens for part in parts)
    prompts, answers = math.fsum(part.prompts for part in parts), math.fsum(part.generated for part in parts)
    return prompts / requests, answers / requests


def _ratio(parts: Sequence[Part], target: Lengths) -> Ratio | None:
    """Time per token of a side whose parts are weighted so that its mean lengths are the target."""
    apart = [
        (part.prompts / part.first_tokens - target[0], part.generated / part.first_tokens - target[1]) for part in parts
    ]
    counts, weights = [part.first_tokens for part in parts], [1.0] * len(parts)
    for _ in range(_STEPS):  # Newton's, on the exponents: from the second on they hardly change.
        tilt = _tilt([count * weight for count, weight in zip(counts, weights, strict=True)], apart)
        if tilt is None:
            return None
        by = [tilt[0] * prompt + tilt[1] * answer for prompt, answer in apart]
        if max(map(abs, by)) > _FARTHEST:
            return None
        weights = [weight * math.exp(power) for weight, power in zip(weights, by, strict=True)]
    weighed = [count * weight for count, weight in zip(counts, weights, strict=True)]
    for axis, length in enumerate(target):
        missed = math.fsum(n * one[axis] for n, one in zip(weighed, apart, strict=True)) / math.fsum(weighed)
        if abs(missed) > _MISSED * length:
            return None
    if math.fsum(weights) ** 2 < LEAST * math.fsum(weight**2 for weight in weights):
        return None
    return Ratio.of([(w * above, w * below) for w, (above, below) in zip(weights, map(times, parts), strict=True)])


def _tilt(counts: Sequence[float], apart: Sequence[Lengths]) -> Lengths | None:
    """Change of the exponents, by token of either length, that brings both means to the target."""

    def moment(*axes: int) -> float:
        return math.fsum(n * math.prod(one[axis] for axis in axes) for n, one in zip(counts, apart, strict=True))

    a, b, d, prompts, answers = moment(0, 0), moment(0, 1), moment(1, 1), -moment(0), -moment(1)
    determinant = a * d - b * b
    if determinant <= _DEGENERATE * a * d:
        return None
    return (d * prompts - b * answers) / determinant, (a * answers - b * prompts) / determinant
