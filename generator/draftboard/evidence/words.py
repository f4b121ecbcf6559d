"""A range of a speedup in words."""

from draftboard.evidence.range import Range, Ruling

UNKNOWN_LOAD = "unknown at this load"
"""Where no published measurement had a batch so large."""
SETTLES = (
    "run a server of this model without speculation, labelled as baseline: its steps and its users' times measure what "
    "is assumed here"
)
"""The one action that narrows an assumed range."""


_RULED = {Ruling.PAYS: "pays", Ruling.COSTS: "costs more than it saves", Ruling.UNCLEAR: "unclear"}


def headline(says: Ruling, speedup: Range, basis: str) -> str:
    """The verdict in a line, with the range that it holds for."""
    return f"{_RULED[says]}: {speedup} times plain decoding ({basis})"
