"""What numbers of one page cannot be at once: looked at before any verdict.

A verdict that its own page disproves is withheld with the sentence that says why.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from draftboard.evidence.range import PLAIN_STEP, Range


@dataclass(frozen=True, kw_only=True)
class Lengths:
    """Mean tokens of prompts and of answers; None where they are unknown."""

    prompt: float | None = None
    answer: float | None = None


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What is known of a variant with speculation and of its baseline, each independent of the others."""

    tokens_per_step: float | None = None
    """Tokens that a decode step of the variant yields."""
    speedup: Range | None = None
    """Measured: interval of the baseline's time per output token over the variant's."""
    step_cost: Range | None = None
    """Measured: interval of the variant's step time over the baseline's."""
    expected: Range | None = None
    """The speedup that costs measured elsewhere let one expect, as those of a calibration."""
    variant: Lengths = Lengths()
    baseline: Lengths = Lengths()


def refutations(found: Measured, tolerance: float) -> Iterator[str]:
    """Each contradiction in a sentence; lengths may differ by the share `tolerance` of the longer."""
    tokens, speedup, cost = found.tokens_per_step, found.speedup, found.step_cost
    for what in ("prompt", "answer"):
        own, other = getattr(found.variant, what), getattr(found.baseline, what)
        if own is not None and other is not None and min(own, other) < (1 - tolerance) * max(own, other):
            yield f"the variants are not alike: {what}s of {own:,.0f} against {other:,.0f} tokens"
    if speedup and tokens and speedup.low > tokens:
        yield f"the measured speedup of {speedup} exceeds the {tokens:.2f} tokens of a decode step, which none can"
    if cost and cost.high < PLAIN_STEP:
        yield f"a step takes {cost} times the baseline's, where none with drafts takes less than a plain one"
    if speedup and tokens and cost:
        by_steps = Range(tokens / cost.high, tokens / cost.low)
        if not speedup.overlaps(by_steps):
            yield f"users' times say {speedup} and times of steps say {by_steps}: tokens per step over step cost"
    if speedup and found.expected and not speedup.overlaps(found.expected):
        yield f"the measured speedup of {speedup} is not in what calibrated costs let one expect, {found.expected}"
