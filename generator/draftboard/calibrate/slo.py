"""What each variant generates at most while it holds the declared objectives of time, and which GPUs that saves.

A load holds the objectives where each of its windows does, and misses one where each of them does: what holds in some
windows alone is neither. What a server can generate lies between the largest load that holds, as all smaller ones do,
and the first one that misses.
"""

from collections.abc import Mapping, Sequence
from itertools import takewhile

from draftboard.calibrate.result import Reach, Saving
from draftboard.calibrate.windows import BASELINE, Window
from draftboard.settings import Settings
from draftboard.settings.objectives import TimeObjective

_Objectives = Mapping[str, TimeObjective]


def savings(windows: Sequence[Window], settings: Settings) -> tuple[Saving, ...]:
    """Of each candidate; empty where no objective of time is declared.

    GPUs for as many tokens per second, over those without speculation: 1 - baseline / candidate.
    """
    objectives: _Objectives = {
        name: each for name, each in settings.slo.declared.items() if isinstance(each, TimeObjective)
    }
    if not objectives:
        return ()
    plain = _reach([one for one in windows if one.is_baseline], objectives)
    candidates = sorted({one.variant for one in windows} - {BASELINE})
    return tuple(
        _saving(name, plain, _reach([one for one in windows if one.variant == name], objectives)) for name in candidates
    )


def _reach(windows: Sequence[Window], objectives: _Objectives) -> Reach:
    """The loads of one variant up to which the objectives hold."""
    holds = {
        load: _holds([one for one in windows if one.load == load], objectives)
        for load in sorted({one.load for one in windows})
    }
    held = max(takewhile(holds.__getitem__, holds), default=None)
    missed = next((load for load, holding in holds.items() if holding is False), None)
    at_held = [_tokens_per_second(one) for one in windows if one.load == held]
    up_to_missed = [_tokens_per_second(one) for one in windows if missed is not None and one.load <= missed]
    return Reach(held, missed, min(at_held, default=None), max(up_to_missed, default=None))


def _tokens_per_second(window: Window) -> float:
    return window.batch * window.tokens / window.seconds


def _holds(windows: Sequence[Window], objectives: _Objectives) -> bool | None:
    """None where some windows hold the objectives, or requests are too few to miss one as rarely as that."""
    found = [_holds_each(windows, name, each) for name, each in objectives.items()]
    if False in found:
        return False
    return None if None in found else True


def _holds_each(windows: Sequence[Window], name: str, objective: TimeObjective) -> bool | None:
    counts = [one.within.get(name, (0.0, 0.0)) for one in windows]
    held = [bool(requests) and good >= objective.objective * requests for good, requests in counts]
    if not any(held) and all(requests for _, requests in counts):
        return False
    return True if all(held) and sum(requests for _, requests in counts) * objective.allowed >= 1 else None


def _saving(candidate: str, plain: Reach, own: Reach) -> Saving:
    why = _why_none("The baseline", plain) or _why_none(candidate, own)
    if why or not (plain.least and plain.most and own.least and own.most):
        return Saving(candidate, plain, own, None, None, f"no saving at the SLO is known: {why}")
    low, high = 1 - plain.most / own.least, 1 - plain.least / own.most
    return Saving(
        *(candidate, plain, own, low, high),
        f"at the SLO {low:+.0%} to {high:+.0%} of GPUs saved for as many tokens: {_in_words(own)} against "
        f"{_in_words(plain)} without speculation",
    )


def _why_none(who: str, reach: Reach) -> str:
    if reach.held is None:
        return f"{who} is not known to hold it at the least load: measure smaller ones, or more requests"
    return "" if reach.missed else f"{who} is not known to miss it up to the largest load: measure larger ones"


def _in_words(reach: Reach) -> str:
    limits = f"held with {reach.held} requests in flight, missed with {reach.missed}"
    return f"{reach.least:,.0f} to {reach.most:,.0f} tokens/s ({limits})"
