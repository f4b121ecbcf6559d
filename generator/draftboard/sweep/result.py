"""A sweep as typed objects, which are also its JSON; docs/commands/sweep.md describes the fields."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from draftboard.intervals import Estimate
from draftboard.output import Described
from draftboard.report import ModelReport, Sample, Verdict


@dataclass(frozen=True)
class Spread(Described):
    """Distribution of a sample: exact values, not estimates from buckets."""

    count: int
    mean: float
    std: float
    minimum: float
    p10: float
    p50: float
    p90: float
    p95: float
    maximum: float
    variation: float | None

    @classmethod
    def of(cls, values: Sequence[float]) -> Self | None:
        """Spread of values, with interpolated percentiles; None without values."""
        if not values:
            return None
        mean, std = statistics.fmean(values), statistics.pstdev(values)
        # One value is every percentile of itself.
        at = statistics.quantiles(values if len(values) > 1 else [*values, *values], n=100, method="inclusive")
        percentiles, variation = (at[9], at[49], at[89], at[94]), std / mean if mean else None
        return cls(len(values), mean, std, min(values), *percentiles, max(values), variation)


@dataclass(frozen=True, kw_only=True)
class PerRequest(Described):
    """Drafts as the responses report them; requires vLLM's per-request metrics."""

    requests: int
    undrafted: int
    sample: Sample | None
    histogram: tuple[int, ...]
    acceptance: Spread | None
    acceptance_length: Spread | None
    step_acceptance: Spread | None


@dataclass(frozen=True)
class Tagged(Described):
    """The requests of one tag."""

    tag: str
    requests: int
    answered: int
    time_per_token: Spread | None
    drafts: PerRequest | None
    verdict: Verdict | None


@dataclass(frozen=True)
class Foreign(Described):
    """What the server counted beyond our responses."""

    generated: float
    unexplained_tokens: float
    unexplained_requests: float | None
    unexplained_drafts: float | None
    running: float
    tolerance: float
    found: bool


@dataclass(frozen=True, kw_only=True)
class Intervals(Described):
    """95 % intervals; None where too little was counted."""

    acceptance: Estimate | None
    """Of the server's counters, by their scatter between parts of the time."""
    acceptance_length: Estimate | None
    time_per_token: Estimate | None
    """Of the mean over requests, by their scatter."""


@dataclass(frozen=True, kw_only=True)
class Row(Described):
    """One temperature."""

    temperature: float
    requests: int
    answered: int
    failures: dict[str, int]
    given_up: int
    tokens: int
    seconds: float
    tokens_per_second: float | None
    time_per_token: Spread | None
    intervals: Intervals
    server: ModelReport
    rule_of_thumb: str | None
    by_request: PerRequest | None
    by_tag: tuple[Tagged, ...]
    foreign: Foreign | None
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Production(Described):
    """The verdict at the temperature of production."""

    temperature: float
    measured_at: float
    verdict: Verdict
    rule_of_thumb: str | None
    warnings: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Sweep(Described):
    """A sweep, complete or interrupted."""

    schema_version: int = 1
    """Raised when a field is removed or changes its meaning; new fields do not change it."""
    server: str
    model: str
    prompts: int
    prompts_source: str
    concurrency: int
    max_tokens: int
    warm_up: int
    rows: tuple[Row, ...]
    production: Production | None
    interrupted: bool
    failure: str | None
    notes: tuple[str, ...]
