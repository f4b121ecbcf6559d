"""Whether the slowest requests fared as the others did: a mean hides who lost.

The median better and the slowest worse is the mark of mixed work in one model: some requests draft well and gain,
others do not and wait for steps that grew longer.
"""

from dataclasses import replace
from enum import Enum

from draftboard.compare.objects import Tail
from draftboard.compare.sides import Side, over
from draftboard.report import Latency
from draftboard.report.totals import LATENCIES
from draftboard.settings import Settings
from draftboard.signals.latency import end_to_end, per_token
from draftboard.signals.signal import Code, within
from draftboard.signals.wording import worded
from draftboard.status import Status

MIXED = Code(3, "mixed workload: most gain, the slowest lose", Status.WARN)
APART = Code(2, "the slowest have grown apart", Status.WARN)
LESS = Code(1, "the slowest gain, too, but less", Status.GOOD)
TOGETHER = Code(0, "the slowest fare as the others do", Status.GOOD)
CODES = (TOGETHER, LESS, APART, MIXED)
_TOLD_BY = ("per_token", "end_to_end")
"""The first of them that tells."""
_NEXT = (
    "Run the same load on the candidate with homogeneous prompts at a low temperature, save its report, and compare "
    "again with --confirm REPORT: if its P99 tightens, mixed work is the reason."
)


class _Moved(Enum):
    """Where a percentile went, by more than the noise of a measured speedup."""

    BETTER = "better"
    WORSE = "worse"
    EVEN = "even"


def tail(baseline: Side, candidate: Side, settings: Settings, confirmation: Side | None = None) -> Tail:
    """Judge the tail; `confirmation` is the candidate again, under the same load of homogeneous work."""
    least = settings.traffic.requests_to_compare_tails
    fewest = min(baseline.requests, candidate.requests)
    if fewest < least:
        return _untold(f"too few: {fewest:,.0f} requests on a side, and their slowest hundredth takes {least:,.0f}")
    for name in _TOLD_BY:
        before, after = _time(name, baseline), _time(name, candidate)
        verdict = _verdict(before, after, settings) if before and after else None
        if before and after and verdict:
            told = Tail(
                says=verdict.says, of=name, reasons=(_in_words(name, before, after),), next=None, confirmed=None
            )
            if verdict not in {MIXED, APART}:
                return told
            return _confirmed(told, after, confirmation, settings) if confirmation else replace(told, next=_NEXT)
    titles = " and ".join(within(title) for title in (per_token.title, end_to_end.title))
    return _untold(
        f"P50 or P99 of {titles} cannot be compared below the histogram's resolution: finer buckets cure it (vLLM's "
        "--custom-histogram-buckets, 0.32 and newer)"
    )


def _verdict(before: Latency, after: Latency, settings: Settings) -> Code | None:
    """None where resolution does not tell."""
    noise = settings.thresholds.slower
    most, slowest = _moved(before, after, "p50", noise), _moved(before, after, "p99", noise)
    if most is None or slowest is None:
        return None
    if most is _Moved.BETTER and slowest is _Moved.WORSE:
        return MIXED
    if not _widened(before, after, settings.thresholds.tail):
        return TOGETHER
    return LESS if slowest is _Moved.BETTER else APART


def _moved(before: Latency, after: Latency, part: str, noise: float) -> _Moved | None:
    """What is below resolution is still known to be less than it."""
    first, second = getattr(before, part), getattr(after, part)
    if _most(after, part) < noise * first:
        return _Moved.BETTER
    if _most(before, part) < noise * second:
        return _Moved.WORSE
    return _Moved.EVEN if first > 0 and second > 0 else None


def _most(time: Latency, part: str) -> float:
    """The percentile, or what it is less than."""
    value: float = getattr(time, part)
    return value if value > 0 else time.resolution


def _widened(before: Latency, after: Latency, limit: float) -> bool:
    """Whether P99 over P50 grew beyond the limit, even where a median is only known to be less than something."""
    gap, was = over(after.p99, _most(after, "p50")), over(_most(before, "p99"), before.p50)
    return gap is not None and was is not None and gap > limit * was


def _confirmed(told: Tail, after: Latency, confirmation: Side, settings: Settings) -> Tail:
    """Whether P99 tightens once all requests are of one kind."""
    name = told.of or ""
    alone = _time(name, confirmation)
    enough = confirmation.requests >= settings.traffic.requests_to_compare_tails
    moved = _moved(after, alone, "p99", settings.thresholds.slower) if alone and enough else None
    if alone is None or moved is None:
        said = "The third run cannot say: too few requests, or P99 below the histogram's resolution"
        return replace(told, reasons=(*told.reasons, said))
    p99 = f"P99 {_percentile(name, alone, 'p99')} with homogeneous work, {_percentile(name, after, 'p99')} without"
    if moved is _Moved.BETTER:
        said = f"Confirmed: {p99}: mixed work is the reason"
    else:
        said = f"Not confirmed: {p99}: look for another reason, such as load or preemptions"
    return replace(told, reasons=(*told.reasons, said), confirmed=moved is _Moved.BETTER)


def _time(name: str, side: Side) -> Latency | None:
    time: Latency | None = getattr(side.model.latency, name)
    return time


def _in_words(name: str, before: Latency, after: Latency) -> str:
    moved = (
        f"{part.upper()} {_percentile(name, before, part)} to {_percentile(name, after, part)}"
        for part in ("p50", "p99")
    )
    gaps = over(before.p99, before.p50), over(after.p99, after.p50)
    told = f"; P99 is {gaps[1]:.2f} times the median, was {gaps[0]:.2f}" if gaps[0] and gaps[1] else ""
    return f"{LATENCIES[name][0].title}: {', '.join(moved)}{told}"


def _percentile(name: str, time: Latency, part: str) -> str:
    said, value = LATENCIES[name][0], _most(time, part)
    return f"{'' if getattr(time, part) > 0 else '< '}{worded(said.mean, value)}"


def _untold(reason: str) -> Tail:
    return Tail(says=None, of=None, reasons=(reason,), next=None, confirmed=None)
