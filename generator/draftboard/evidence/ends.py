"""Both ends of what a step may cost by published measurements, as the parts of a sum.

A step with a draft of L tokens costs `base + L x token` plain ones: drafting and verifying a token, and what comes to
a step however long its draft is.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from draftboard.evidence.assumed import assumed_ranges
from draftboard.evidence.law import METHODS, Kind


@dataclass(frozen=True, kw_only=True)
class End:
    """The cheap or the dear end: all costs of a case, by method where they depend on it."""

    knee: float
    """Tokens in a step at which it takes twice as long as an empty one."""
    batch: float
    """Requests that share a step, where that is unknown."""
    unlike: float
    """By how much long prompts, or stages of a pipeline, multiply the cost of a step with a draft."""
    token: Mapping[str, float]
    """Drafting a token, in plain steps."""
    other_token: float
    """That of a method that is unknown."""
    draft: Mapping[str, float]
    """What comes to a step with a draft."""
    other_draft: float
    step: Mapping[str, float]
    """What comes to every step, also to one without a draft."""
    other_step: float


BLOCKS = tuple(method for method, kind in METHODS.items() if kind is Kind.BLOCK)
"""Methods that draft a block in one pass: they take no other K."""


@cache
def cheap() -> End:
    """Where speculation gains most. A method that is unknown may cost nothing."""
    ranges = assumed_ranges()
    overhead = {kind: spread.low for kind, spread in ranges.overhead.items()}
    return _end(overhead, knee=ranges.knee.high, batch=1.0, unlike=1.0, other_token=0.0, other_draft=0.0)


@cache
def dear() -> End:
    """Where speculation gains least. A method that is unknown may cost as much as a draft model, and as a block."""
    ranges = assumed_ranges()
    overhead = {kind: spread.high for kind, spread in ranges.overhead.items()}
    token = overhead[Kind.DRAFT_MODEL]
    return _end(
        overhead,
        knee=ranges.knee.low,
        batch=float(ranges.largest_batch),
        unlike=ranges.unlike,
        other_token=token,
        other_draft=max(0.0, overhead[Kind.BLOCK] - token),
    )


def _end(
    overhead: Mapping[Kind, float], *, knee: float, batch: float, unlike: float, other_token: float, other_draft: float
) -> End:
    def of(*kinds: Kind) -> dict[str, float]:
        """By method what it pays."""
        return {method: overhead[kind] if kind in kinds else 0.0 for method, kind in METHODS.items()}

    return End(
        knee=knee,
        batch=batch,
        unlike=unlike,
        token=of(Kind.HEAD, Kind.DRAFT_MODEL),
        other_token=other_token,
        draft=of(Kind.HEAD, Kind.BLOCK),
        other_draft=other_draft,
        step=of(Kind.LOOKUP),
        other_step=0.0,
    )
