"""A range of a speedup in words."""

from draftboard.evidence.range import Range, Ruling

UNKNOWN_LOAD = "unknown at this load"
"""Where no published measurement had a batch so large."""
SETTLES = (
    "run a server of this model without speculation, labelled as baseline: its steps and its users' times measure what "
    "is assumed here"
)
"""The one action that narrows an assumed range."""


def headline(says: Ruling, speedup: Range, tokens_per_step: float, basis: str) -> str:
    """The verdict in a line: what holds in all of the range, else on which cost of a step it depends."""
    if says is Ruling.UNCLEAR:
        return f"unclear: pays while a step costs under {tokens_per_step:.2f} plain ones ({basis} {speedup} times)"
    return f"{'pays' if says is Ruling.PAYS else 'costs more than it saves:'} {speedup} ({basis})"
