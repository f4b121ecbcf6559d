"""The speedup that users feel, against the one that a report expects: on a shared CPU, so with its noise."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from draftboard.settings import Settings
from support.vllm_interval import Interval, interval
from support.vllm_server import Vllm
from support.vllm_traffic import REQUESTS

REPEATS = 3


@dataclass(frozen=True)
class Measured:
    """The same load on a server that speculates and on one that does not, in turns."""

    drafting: Sequence[Interval]
    plain: Sequence[Interval]

    def __str__(self) -> str:
        """Both speedups, with what they rest on."""
        ours, theirs = ([one.time_per_token for one in side] for side in (self.drafting, self.plain))
        (k,) = {one.speculation.configured_k for one in self.drafting}
        expected = [one.speculation.expected_speedup or 0 for one in self.drafting]
        drafts = sum(one.sample.drafts for one in self.drafting)
        return (
            f"K = {k}: measured {fmean(theirs) / fmean(ours):.2f} (runs: {min(theirs) / max(ours):.2f} to "
            f"{max(theirs) / min(ours):.2f}), expected {fmean(expected):.2f}; ms per output token "
            f"{_milliseconds(theirs)} plain, {_milliseconds(ours)} drafting; {len(ours)} runs of {REQUESTS} requests "
            f"on each side, {drafts:,.0f} drafts"
        )


Measure = Callable[[Vllm, str], Measured]
"""Of a server that drafts by a method."""


def measured(drafting: Vllm, plain: Vllm, folder: Path, settings: Settings, method: str) -> Measured:
    """Send the load to both in turns, so that what else the machine does slows both."""
    pairs = [
        (
            interval(plain, folder / f"plain-{repeat}", settings),
            interval(drafting, folder / f"drafting-{repeat}", settings, method),
        )
        for repeat in range(REPEATS)
    ]
    return Measured([ours for _, ours in pairs], [theirs for theirs, _ in pairs])


def _milliseconds(times: Sequence[float]) -> str:
    return " ".join(f"{1000 * time:.1f}" for time in times)
