"""Whether memory bounds the steps of a server, by vLLM's own estimate of their operations and bytes."""

from dataclasses import dataclass

from draftboard.evidence.cards import cards
from draftboard.output import Described
from draftboard.reading import Numbers
from draftboard.signals.acceptance import coverage, draft_length
from draftboard.signals.costs import intensity

_ATTAINED = 0.5
"""Of a card's operations for each byte, below which memory bounds it. Heuristic: kernels reach less than the peak, and
vLLM counts the logits of one token of a draft."""


@dataclass(frozen=True, kw_only=True)
class Arithmetic(Described):
    """What vLLM estimates of the target's steps; the drafter is not in it."""

    intensity: float
    """Operations for each byte of memory read or written, of all steps: prefills have more of them than decoding."""
    with_one_more: float
    """At most so many if drafts had one more token: more tokens move no fewer bytes."""
    bound_by_memory: tuple[str, ...]
    """Cards on which memory bounds even those steps, by half of their makers' peak figures."""
    unknown: tuple[str, ...]
    """Further cards, on which these figures do not say it."""

    def __str__(self) -> str:
        """In words."""
        known, unknown = ", ".join(self.bound_by_memory), ", ".join(self.unknown)
        bound = f"memory bounds decoding on {known}" if known else "memory may not bound decoding"
        says = f"{bound}, and on {unknown} these figures do not show it" if unknown else bound
        return (
            f"vLLM estimates {self.intensity:.3g} operations a byte for its steps, prefills included, and at most "
            f"{self.with_one_more:.3g} with one more drafted token: {says}"
        )


def arithmetic_of(numbers: Numbers) -> Arithmetic | None:
    """Of a model; None where vLLM estimates nothing."""
    now, share, drafted = (numbers.value(one) for one in (intensity, coverage, draft_length))
    if not now or share is None or drafted is None:
        return None
    verified = 1 + min(share, 1.0) * drafted
    with_one_more = now * (verified + min(share, 1.0)) / verified
    bound = {card.name: with_one_more < _ATTAINED * card.ridge for card in cards()}
    return Arithmetic(
        intensity=now,
        with_one_more=with_one_more,
        bound_by_memory=tuple(name for name, is_bound in bound.items() if is_bound),
        unknown=tuple(name for name, is_bound in bound.items() if not is_bound),
    )
