"""Which draft length is best, where the cost of a step is a range: what holds in every case of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from operator import itemgetter

from draftboard.evidence.assumed import Assumed, Costs
from draftboard.evidence.law import METHODS, Kind, Load
from draftboard.evidence.range import BREAK_EVEN, Range
from draftboard.output import Described


@dataclass(frozen=True)
class Depth:
    """A draft length."""

    k: int
    drafted: float
    """Mean tokens of a draft of up to k: fewer than k where drafts end by themselves."""
    tokens: float
    """Tokens that a step with such a draft yields."""


@dataclass(frozen=True)
class Drafting:
    """How an engine drafts now, over its mean decode step."""

    method: str
    batch: float
    coverage: float
    """Share of decode steps that have a draft."""
    tokens_per_step: float
    depths: Sequence[Depth]
    """Those up to K, which is the last."""
    longer: Depth | None = None
    """One more than K, if the next token is accepted as often as the last one; None where nobody knows."""

    def speedup(self, depth: Depth, costs: Costs) -> float:
        """Of the load with drafts of that length: the same share of tokens from drafts, in more or fewer steps."""
        with_draft = self.coverage * self.depths[-1].tokens / depth.tokens
        steps = with_draft + 1 - self.coverage
        share = with_draft / steps
        load = Load(batch=self.batch, drafted=share * depth.drafted, coverage=share)
        return self.tokens_per_step / (steps * costs.of(load))

    def speedups(self, depth: Depth, assumed: Assumed) -> Range:
        """In all cases of the costs."""
        found = [self.speedup(depth, costs) for costs in assumed.cases]
        return Range(min(found), max(found))


class Change(StrEnum):
    """What to do about K."""

    OFF = "off"
    SHORTER = "shorter"
    LONGER = "longer"
    KEEP = "keep"


@dataclass(frozen=True)
class LengthAdvice(Described):
    """A change that every case of the costs supports."""

    change: Change
    """`shorter`, `longer`, `keep`, or `off`: no length pays."""
    k: int
    """The draft length that it leads to; the present one for `off` and `keep`."""
    gain: Range
    """Speedup with that length over the present one."""


def length_advice(drafting: Drafting, assumed: Assumed, least_gain: float) -> LengthAdvice | None:
    """The change of K that pays in every case; None where that depends on the costs.

    `least_gain`: a speedup over the present one, from which a change is worth it, such as 1.02. Drafters of blocks take
    no other length than that of their block.
    """
    *shorter, now = drafting.depths
    if METHODS.get(drafting.method) is Kind.BLOCK:
        shorter, longer = [], None
    else:
        longer = drafting.longer
    speedups = [drafting.speedups(depth, assumed) for depth in drafting.depths]
    # What nearly breaks even is noise where it was measured, and memory for nothing.
    bound = least_gain if assumed.measured else BREAK_EVEN
    if all((one.middle if assumed.measured else one.high) < bound for one in speedups):
        return LengthAdvice(Change.OFF, now.k, Range(1.0, 1.0))
    gains = {depth.k: _gains(drafting, depth, assumed) for depth in (*shorter, *([longer] if longer else []))}
    if gains:
        k, sure = max(((k, _sure(gain, assumed)) for k, gain in gains.items()), key=itemgetter(1))
        if sure > least_gain:
            return LengthAdvice(Change.SHORTER if k < now.k else Change.LONGER, k, gains[k])
    if assumed.measured or all(gain.high <= least_gain for gain in gains.values()):
        return LengthAdvice(Change.KEEP, now.k, Range(1.0, 1.0))
    return None


def _sure(gain: Range, assumed: Assumed) -> float:
    """The least gain; where a step's cost was measured the middle, as that of a length is nearly known."""
    return gain.middle if assumed.measured else gain.low


def _gains(drafting: Drafting, depth: Depth, assumed: Assumed) -> Range:
    now = drafting.depths[-1]
    gains = [drafting.speedup(depth, costs) / drafting.speedup(now, costs) for costs in assumed.cases]
    return Range(min(gains), max(gains))
