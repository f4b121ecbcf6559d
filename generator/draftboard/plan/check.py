"""One check of a plan: what it found, why, and who holds that it matters."""

from dataclasses import dataclass
from enum import StrEnum


class Outcome(StrEnum):
    """How a check ended."""

    PASS = "pass"  # noqa: S105  (no password)
    WARN = "warn"
    FAIL = "fail"
    UNKNOWN = "unknown"
    SKIPPED = "skipped"
    """It does not apply to the method."""


@dataclass(frozen=True)
class Check:
    """One question that is answered before speculation is tried."""

    name: str
    outcome: Outcome
    reason: str
    """What was found; of an unknown, what to find out."""
    source: str
    rule_of_thumb: bool = True
    """False where vLLM itself refuses otherwise, or arithmetic decides."""
    forbids: bool = False
    """Whether failing it alone means: leave speculation off."""
