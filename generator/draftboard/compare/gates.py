"""Limits for CI: judged on numbers as they are, not as they are printed; what cannot be judged is not met."""

from dataclasses import dataclass

from draftboard.compare.objects import Gate
from draftboard.compare.sides import Side
from draftboard.errors import DraftboardError
from draftboard.settings import Settings
from draftboard.signals.acceptance import acceptance
from draftboard.signals.signal import within
from draftboard.signals.users import measured_speedup
from draftboard.signals.wording import worded

MAX_DROP, MIN_SPEEDUP = "--max-drop-pp", "--min-speedup"
_TOLERANCE = 1e-9
"""0.76 - 0.71 is a little more than 0.05 to a computer."""


@dataclass(frozen=True)
class Limits:
    """What is asked for; None: nothing."""

    max_drop_pp: float | None = None
    """Percentage points that acceptance may fall by; exactly as many are allowed."""
    min_speedup: float | None = None
    """Measured speedup that must be reached."""


def gates(
    baseline: Side, candidate: Side, speedup: float | None, limits: Limits, settings: Settings
) -> tuple[Gate, ...]:
    """Judge what is asked for. `speedup` is None where too few requests finished.

    Raises:
        DraftboardError: a gate makes no sense of this baseline.
    """
    found = []
    if limits.max_drop_pp is not None:
        found.append(_of_drop(baseline, candidate, limits.max_drop_pp, settings))
    if limits.min_speedup is not None:
        found.append(_of_speedup(baseline, candidate, speedup, limits.min_speedup, settings))
    return tuple(found)


def _of_drop(baseline: Side, candidate: Side, limit: float, settings: Settings) -> Gate:
    before, after = baseline.model.speculation, candidate.model.speculation
    if before is None:
        raise DraftboardError(
            f"{MAX_DROP} is not applicable: the baseline drafted nothing ({baseline.model.state}), so there is no "
            f"acceptance to drop from; leave it out, or use {MIN_SPEEDUP}"
        )
    least = settings.traffic.drafts_to_judge
    few = [f"{side} {of.drafts:,.0f}" for side, of in _named(baseline, candidate) if of.drafts < least]
    if after is None or few:
        reason = f"too few drafts ({' and '.join(few)}; it takes {least:,.0f} each)"
        return Gate(option=MAX_DROP, limit=limit, measured=None, met=False, says=f"cannot be judged: {reason}")
    drop = (before.acceptance - after.acceptance) * 100
    met = drop <= limit + _TOLERANCE
    moved = f"from {worded(acceptance, before.acceptance)} to {worded(acceptance, after.acceptance)}"
    points = f"{'fallen' if drop > 0 else 'risen'} by {abs(drop):.3g} points" if drop else "no change"
    says = f"{'met' if met else 'missed'}: {within(acceptance.title)} {moved}, {points}"
    return Gate(option=MAX_DROP, limit=limit, measured=drop, met=met, says=says)


def _of_speedup(baseline: Side, candidate: Side, speedup: float | None, limit: float, settings: Settings) -> Gate:
    if speedup is None:
        least = settings.traffic.requests_to_compare
        few = [f"{side} {of.requests:,.0f}" for side, of in _named(baseline, candidate) if of.requests < least]
        reason = f"too few requests ({' and '.join(few)}; it takes {least:,.0f} each)" if few else "no time per token"
        return Gate(option=MIN_SPEEDUP, limit=limit, measured=None, met=False, says=f"cannot be judged: {reason}")
    met = speedup >= limit - _TOLERANCE
    says = f"{'met' if met else 'missed'}: {within(measured_speedup.title)} {speedup:.3f}"
    return Gate(option=MIN_SPEEDUP, limit=limit, measured=speedup, met=met, says=says)


def _named(baseline: Side, candidate: Side) -> tuple[tuple[str, Side], ...]:
    return ("baseline", baseline), ("candidate", candidate)
