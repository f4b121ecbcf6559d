"""A range of a speedup in words."""

from draftboard.evidence.range import Range, Ruling, ruling

UNKNOWN_LOAD = "unknown at this load"
"""Where no published measurement had a batch so large."""
SETTLES = {
    "assumed": "run a server of this model without speculation beside it, labelled as baseline: its steps and its "
    "users' times measure what is assumed here",
    "curve": "run a server of this model without speculation beside it: a curve of step times holds the drafter's "
    "time and cannot show it",
}
"""By basis, the one action that would narrow the range."""


def headline(speedup: Range, tokens_per_step: float, basis: str) -> str:
    """The verdict in a line: what holds in all of the range, else on which cost of a step it depends."""
    says = ruling(speedup)
    if says is Ruling.UNCLEAR:
        return f"unclear: pays while a step costs under {tokens_per_step:.2f} plain ones ({basis} {speedup} times)"
    return f"{says} {speedup} ({basis})"
