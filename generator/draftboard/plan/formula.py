"""The formulas that a plan was worked out with."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Formula:
    """One formula: what it gives, how, and who says so."""

    gives: str
    text: str
    source: str
