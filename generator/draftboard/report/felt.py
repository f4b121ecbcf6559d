"""What users gain: they wait for whole answers, not only for the next token."""

from collections.abc import Iterator
from dataclasses import dataclass

from draftboard.reading import Numbers
from draftboard.report.numbers import Latency
from draftboard.settings import Settings
from draftboard.signals import traffic
from draftboard.signals.latency import FELT
from draftboard.signals.signal import Code, worded
from draftboard.status import Status

SOONER = Code(-4, "tokens come sooner, answers do not", Status.WARN)
"""In place of the gain that time per output token alone would show."""


@dataclass(frozen=True, kw_only=True)
class Felt:
    """Mean times of a baseline and of a variant, in seconds; None where they are unknown."""

    end_to_end: tuple[float | None, float | None]
    first_token: tuple[float | None, float | None]

    @property
    def withheld(self) -> bool:
        """Whether whole answers come no sooner, whatever tokens do."""
        before, after = self.end_to_end
        return before is not None and after is not None and 0 < before <= after

    def reasons(self, settings: Settings) -> Iterator[str]:
        """Sentences on whole answers that come no sooner, and on first tokens that come later by more than noise."""
        before, after = self.end_to_end
        if self.withheld and before and after:
            family = FELT["end_to_end"]
            yield f"{family.title}: mean {worded(family.mean, after)} against {worded(family.mean, before)}"
        before, after = self.first_token
        if before and after and before < settings.thresholds.slower * after:
            family = FELT["first_token"]
            yield f"First tokens come later: mean {worded(family.mean, after)} against {worded(family.mean, before)}"


def latency_of(numbers: Numbers, name: str) -> Latency | None:
    """The distribution of a time; None where nothing was counted."""
    family = FELT[name]
    mean, buckets = numbers.value(family.mean), numbers.by(family.buckets)
    if not family.buckets.exists(numbers.settings):  # Only the sum and its number are counted.
        count = numbers.value(traffic.generation_tokens if name == "per_token" else traffic.decode_steps)
        return Latency(count=count, mean=mean) if count and mean is not None else None
    count = max(buckets.values(), default=0.0)
    p50, p95, p99 = (numbers.value(signal) for signal in (family.p50, family.p95, family.p99))
    if not count or mean is None or p50 is None or p95 is None or p99 is None:
        return None
    unresolved, first = numbers.value(family.unresolved) or 0.0, float(next(iter(buckets)))
    bounds = {
        f"p{percent}_{end}": numbers.value(bound)
        for percent, *both in family.ranges
        for end, bound in zip(("from", "to"), both, strict=True)
    }
    return Latency(count=count, mean=mean, p50=p50, p95=p95, p99=p99, resolution=first, unresolved=unresolved, **bounds)
