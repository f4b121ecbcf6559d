"""Gates: limits of what a candidate may lose, judged on the measured value or on its whole interval."""

from dataclasses import dataclass

from draftboard.compare.objects import Gate, Measured
from draftboard.compare.sides import Sides
from draftboard.durations import Duration
from draftboard.errors import DraftboardError
from draftboard.intervals import SESSIONS, Estimate
from draftboard.settings import Settings
from draftboard.signals.acceptance import acceptance
from draftboard.signals.signal import within, worded
from draftboard.signals.users import measured_speedup

_TOLERANCE = 1e-9  # 0.76 - 0.71 is a little more than 0.05.


def interval_in_words(interval: Estimate | None, digits: int = 2) -> str:
    """The interval in brackets; empty without one."""
    return f" (95 %: {interval.low:.{digits}f} to {interval.high:.{digits}f})" if interval else ""


def too_few(sides: Sides, what: str, least: float, *, known: bool = False) -> str:
    """Names the sides whose sample is too small; with `known`, only of those that have one. Empty if there are none."""
    counts = {name: getattr(side, what) for name, side in zip(("baseline", "candidate"), sides, strict=True)}
    small = [f"{name} {count:,.0f}" for name, count in counts.items() if count < least and (count or not known)]
    return f"too few {what}: {', '.join(small)} (minimum {least:,.0f} on each side)" if small else ""


def too_few_samples(sides: Sides, settings: Settings) -> str:
    """Names the sides with too few times per output token to compare; empty if there are none."""
    of = sides[0].sample
    return too_few(sides, "samples", settings.traffic.to_compare(of)).replace("samples", of)


def too_few_windows(sides: Sides, sessions: Duration | None) -> str:
    """Why sessions that stay with a server for so long leave too little of a side to chance; empty if they do not."""
    spans = [side.report.seconds or 0.0 for side in sides]
    if sessions is None or min(spans) >= SESSIONS * sessions.seconds:
        return ""
    span = f"{min(spans):,.0f} s" if min(spans) else "unknown length"
    return f"too few independent windows: sessions of {sessions} in a run of {span} (minimum {sessions * SESSIONS})"


@dataclass(frozen=True)
class Limit:
    """The limit of a gate."""

    option: str
    value: float
    sign: int  # 1 of a highest value, -1 of a lowest.
    whole: bool  # Whether the worse end of the 95 % interval is held to it.

    def gate(self, measured: float, interval: Estimate | None, words: str) -> Gate:
        """The gate of a measured value, which `words` describe."""
        if self.whole and interval is None:
            return self.unjudged(f"{words}, without an interval")
        worst = measured if not self.whole or interval is None else interval.high if self.sign > 0 else interval.low
        met = self.sign * worst <= self.sign * self.value + _TOLERANCE
        result = "met" if met else "missed, as the interval is not within the limit" if worst != measured else "missed"
        says = f"{result}: {words}{interval_in_words(interval, 3)}"
        return Gate(option=self.option, limit=self.value, measured=measured, interval=interval, met=met, says=says)

    def unjudged(self, why: str) -> Gate:
        """A gate that is missed because nothing was measured."""
        return Gate(option=self.option, limit=self.value, measured=None, met=False, says=f"cannot be judged: {why}")


def drop_gate(sides: Sides, highest: float, settings: Settings, *, whole: bool, few: str) -> Gate:
    """Gate on the acceptance drop, in percentage points. DraftboardError where the baseline has no acceptance.

    `few`: why the runs cannot be judged; empty if they can.
    """
    limit = Limit("--max-drop-pp", highest, 1, whole)
    before, after = (side.model.speculation for side in sides)
    if before is None:
        raise DraftboardError(
            f"{limit.option} is not applicable: the baseline has no drafts ({sides[0].model.state}), hence no "
            "acceptance; use --min-speedup instead"
        )
    small = few or too_few(sides, "drafts", settings.traffic.drafts_to_judge)
    if small or after is None or before.acceptance is None or after.acceptance is None:
        return limit.unjudged(small)
    drop = (before.acceptance - after.acceptance) * 100
    moved = f"from {worded(acceptance, before.acceptance)} to {worded(acceptance, after.acceptance)}"
    points = f"{'down' if drop > 0 else 'up'} {abs(drop):.3g} points" if drop else "no change"
    old, new = (side.ratios.get(acceptance.name) for side in sides)
    change = old.less(new) if old and new else None
    interval = Estimate(100 * change.value, 100 * change.low, 100 * change.high) if change else None
    return limit.gate(drop, interval, f"{within(acceptance.title)} {moved}, {points}")


def speedup_gate(sides: Sides, measured: Measured, lowest: float, settings: Settings, *, whole: bool, few: str) -> Gate:
    """Gate on the measured speedup; `few`: why the runs cannot be judged."""
    limit = Limit("--min-speedup", lowest, -1, whole)
    small = few or too_few_samples(sides, settings)
    if small or measured.speedup is None:
        return limit.unjudged(small or "no time per output token")
    words = f"{within(measured_speedup.title)} {measured.speedup:.3f}"
    return limit.gate(measured.speedup, measured.speedup_interval, words)
