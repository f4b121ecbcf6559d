"""Whether the slowest requests fared as the others did: a mean hides who lost.

The median better and the slowest worse is the mark of mixed work in one model: some requests draft well and gain,
others do not and wait for steps that grew longer.
"""

from draftboard.comparison.objects import Tail
from draftboard.comparison.sides import Side, over
from draftboard.live.objects import Latency
from draftboard.live.totals import LATENCIES
from draftboard.settings import Settings
from draftboard.signals.latency import end_to_end, per_token
from draftboard.signals.signal import Code, Status, within
from draftboard.signals.wording import worded

MIXED = Code(3, "mixed workload: most gain, the slowest lose", Status.WARN)
APART = Code(2, "the slowest have grown apart", Status.WARN)
LESS = Code(1, "the slowest gain, too, but less", Status.GOOD)
TOGETHER = Code(0, "the slowest fare as the others do", Status.GOOD)
CODES = (TOGETHER, LESS, APART, MIXED)
_TOLD_BY = ("per_token", "end_to_end")
"""The first of them that both sides resolve."""
_NEXT = (
    "Run the same load on the candidate with homogeneous prompts at a low temperature, save its report, and compare "
    "again with --confirm REPORT: if its tail tightens, mixed work is the reason."
)


def tail(baseline: Side, candidate: Side, settings: Settings, confirmation: Side | None = None) -> Tail:
    """Judge the tail; `confirmation` is the candidate again, under the same load of homogeneous work."""
    least = settings.traffic.requests_to_compare_tails
    fewest = min(baseline.requests, candidate.requests)
    if fewest < least:
        return _untold(f"too few: {fewest:,.0f} requests on a side, and their slowest hundredth takes {least:,.0f}")
    name = next((name for name in _TOLD_BY if _resolved(name, baseline) and _resolved(name, candidate)), None)
    if name is None:
        titles = " or ".join(within(title) for title in (per_token.title, end_to_end.title))
        return _untold(
            f"P50 and P99 of {titles} are below the histogram's resolution: finer buckets cure it (vLLM's "
            "--custom-histogram-buckets, 0.32 and newer)"
        )
    before, after = _time(name, baseline), _time(name, candidate)
    verdict = _verdict(before, after, settings)
    reasons = (_in_words(name, before, after),)
    if verdict in {TOGETHER, LESS}:
        return Tail(says=verdict.says, of=name, reasons=reasons, next=None, confirmed=None)
    if confirmation is None:
        return Tail(says=verdict.says, of=name, reasons=reasons, next=_NEXT, confirmed=None)
    confirmed, said = _confirmed(name, after, confirmation, settings)
    return Tail(says=verdict.says, of=name, reasons=(*reasons, said), next=None, confirmed=confirmed)


def _verdict(before: Latency, after: Latency, settings: Settings) -> Code:
    """What differs by less than the noise of a measured speedup is neither better nor worse."""
    noise = settings.thresholds.slower
    if after.p50 < noise * before.p50 and before.p99 < noise * after.p99:
        return MIXED
    if _gap(after) <= settings.thresholds.tail * _gap(before):
        return TOGETHER
    return LESS if after.p99 < noise * before.p99 else APART


def _confirmed(name: str, after: Latency, third: Side, settings: Settings) -> tuple[bool | None, str]:
    """Whether the tail tightens once all requests are of one kind."""
    if third.requests < settings.traffic.requests_to_compare_tails or not _resolved(name, third):
        return None, "The third run cannot say: too few requests, or a percentile below the histogram's resolution"
    alone = _time(name, third)
    told = f"P99 is {_gap(alone):.2f} times the median with homogeneous work, {_gap(after):.2f} times without"
    if _gap(alone) < settings.thresholds.slower * _gap(after):
        return True, f"Confirmed: {told}: mixed work is the reason"
    return False, f"Not confirmed: {told}: look for another reason, such as load or preemptions"


def _gap(time: Latency) -> float:
    return over(time.p99, time.p50) or 0.0


def _time(name: str, side: Side) -> Latency:
    time: Latency = getattr(side.model.latency, name)
    return time


def _resolved(name: str, side: Side) -> bool:
    time: Latency | None = getattr(side.model.latency, name)
    return time is not None and time.p50 > 0 and time.p99 > 0


def _in_words(name: str, before: Latency, after: Latency) -> str:
    said, _ = LATENCIES[name]

    def moved(title: str, first: float, second: float) -> str:
        return f"{title} {worded(said.p50, first)} to {worded(said.p50, second)}"

    of = (moved("P50", before.p50, after.p50), moved("P99", before.p99, after.p99))
    return f"{said.title}: {', '.join(of)}; P99 is {_gap(after):.2f} times the median, was {_gap(before):.2f}"


def _untold(reason: str) -> Tail:
    return Tail(says=None, of=None, reasons=(reason,), next=None, confirmed=None)
