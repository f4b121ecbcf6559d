"""What some engines counted together over a time: the few sums that everything in a report is made of."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from draftboard.catalogue import Histogram, Metric, latency, serving, speculation
from draftboard.reading.growth import Tally
from draftboard.report.histogram import Distribution
from draftboard.signals.latency import Latency, end_to_end, first_token, per_token, step
from draftboard.theory import Counted

LATENCIES: Mapping[str, tuple[Latency, Histogram]] = {
    "first_token": (first_token, latency.TIME_TO_FIRST_TOKEN),
    "per_token": (per_token, latency.TIME_PER_OUTPUT_TOKEN),
    "step": (step, latency.STEP_LATENCY),
    "end_to_end": (end_to_end, latency.END_TO_END_LATENCY),
}
"""What is reported of time: the signals that say it, and the histogram it is counted in."""


@dataclass(frozen=True, kw_only=True)
class Totals:
    """Sums over engines. None: not exposed."""

    drafts: float | None = None
    draft_tokens: float | None = None
    accepted_tokens: float | None = None
    accepted_by_position: Mapping[int, float] = field(default_factory=dict)
    configured_k: float | None = None
    """Mean number of positions over engines."""
    generation_tokens: float | None = None
    prompt_tokens: float | None = None
    decode_steps: float | None = None
    first_tokens: float | None = None
    requests: float | None = None
    """Finished."""
    latencies: Mapping[str, Distribution] = field(default_factory=dict)
    requests_running: float | None = None
    requests_waiting: float | None = None
    kv_cache_usage: float | None = None
    """Of the fullest engine."""
    prefix_cache_hits: float | None = None
    """Share of what was looked up."""

    @property
    def counted(self) -> Counted | None:
        """The four counters, where anything was drafted; None, too, where one of them is missing."""
        if not self.drafts or self.draft_tokens is None or self.accepted_tokens is None or not self.positions:
            return None
        return Counted(self.drafts, self.draft_tokens, self.accepted_tokens, self.positions)

    @property
    def missing_positions(self) -> tuple[int, ...]:
        """Positions that are not there, though deeper ones are: vLLM exposes all from 0 on."""
        return tuple(sorted(set(range(max(self.accepted_by_position, default=0))) - self.accepted_by_position.keys()))

    @property
    def positions(self) -> tuple[float, ...]:
        """Accepted tokens from position 0 on."""
        return tuple(self.accepted_by_position[position] for position in sorted(self.accepted_by_position))


def totals(tallies: Sequence[Tally]) -> Totals:
    """Sums over engines: a ratio of them is never a mean of ratios."""

    def total(metric: Metric) -> float | None:
        return _sum(tally.total(metric) for tally in tallies)

    positions = [tally.by(speculation.ACCEPTED_TOKENS_PER_POS, "position") for tally in tallies]
    lengths = [len(each) for each in positions if each]
    queries = total(serving.PREFIX_CACHE_QUERIES)
    usages = [usage for tally in tallies if (usage := tally.now(serving.KV_CACHE_USAGE)) is not None]
    return Totals(
        drafts=total(speculation.DRAFTS),
        draft_tokens=total(speculation.DRAFT_TOKENS),
        accepted_tokens=total(speculation.ACCEPTED_TOKENS),
        accepted_by_position=_added(positions),
        configured_k=sum(lengths) / len(lengths) if lengths else None,
        generation_tokens=total(serving.GENERATION_TOKENS),
        prompt_tokens=total(serving.PROMPT_TOKENS),
        decode_steps=total(latency.STEP_LATENCY.count),
        first_tokens=total(latency.TIME_TO_FIRST_TOKEN.count),
        requests=total(serving.REQUESTS_FINISHED),
        latencies={
            name: Distribution.of((tally.by(metric.bucket, "le") for tally in tallies), total(metric.sum) or 0.0)
            for name, (_, metric) in LATENCIES.items()
            if total(metric.count) is not None
        },
        requests_running=_sum(tally.now(serving.REQUESTS_RUNNING) for tally in tallies),
        requests_waiting=_sum(tally.now(serving.REQUESTS_WAITING) for tally in tallies),
        kv_cache_usage=max(usages, default=None),
        prefix_cache_hits=(total(serving.PREFIX_CACHE_HITS) or 0.0) / queries if queries else None,
    )


def _sum(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _added(positions: Sequence[Mapping[str, float]]) -> dict[int, float]:
    added: dict[int, float] = {}
    for each in positions:
        for position, accepted in each.items():
            added[int(position)] = added.get(int(position), 0.0) + accepted
    return added
