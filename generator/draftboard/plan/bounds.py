"""Numbers that a plan takes: each must be one that somebody can have."""

from draftboard.errors import DraftboardError

_SHOWN = 20
"""Characters of a number that is told back."""


def within(name: str, value: float, least: float, most: float) -> float:
    """The value, which must be a number within both bounds.

    Raises:
        DraftboardError: it is not.
    """
    if not least <= value <= most:
        shown = str(value) if isinstance(value, int) else f"{value:g}"
        raise DraftboardError(f"{name} = {shown[:_SHOWN]} is out of range: a number from {least:g} to {most:g}")
    return value
