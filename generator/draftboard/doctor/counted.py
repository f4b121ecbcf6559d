"""What an engine counted since its start: the only place where the doctor reads computed figures of a page."""

from typing import NamedTuple

from draftboard import theory
from draftboard.report import Tally
from draftboard.report.judge import broken_identities
from draftboard.report.totals import totals
from draftboard.settings import Settings
from draftboard.signals.acceptance import acceptance
from draftboard.signals.signal import Step

LONGEST_DRAFT = theory.LONGEST_DRAFT


class Counted(NamedTuple):
    """Figures of speculation; all but `positions` keep their defaults where one of the four counters is missing."""

    positions: int
    drafts: float = 0
    draft_tokens: float = 0
    acceptance: float = 0
    """Accepted over drafted tokens, 0 to 1; `band` is its step."""
    band: Step | None = None
    broken: tuple[tuple[str, float], ...] = ()
    """Identities of the counters that do not hold: in words, and the error as a share."""


def counted(tally: Tally, settings: Settings) -> Counted:
    """What the engine counted in the time of the tally."""
    sums = totals([tally])
    if not (four := sums.counted):
        return Counted(len(sums.positions))
    band = acceptance.step_of(four.acceptance, settings)
    broken = tuple((one.says, one.error) for one in broken_identities(sums, "", settings))
    return Counted(len(sums.positions), four.drafts, four.draft_tokens, four.acceptance, band, broken)
