"""The numbers of a report, each bound to its signal or metric."""

from dataclasses import dataclass
from typing import Annotated

from draftboard.catalogue import Metric, latency, serving, speculation
from draftboard.evidence import LengthAdvice, Range
from draftboard.output import Described
from draftboard.report.arithmetic import Arithmetic
from draftboard.report.bound import LINE, LOAD, FromSignal, annotated, per
from draftboard.signals import acceptance, capacity, costs, depth, drafting, economics, gains, requests, traffic


@dataclass(frozen=True, kw_only=True)
class Sample(Described):
    """How much the judgement rests on."""

    drafts: float
    """Drafts verified. From Prometheus an estimate, as every increase is."""
    draft_tokens: float | None
    accepted_tokens: float | None
    accepted_per_position: tuple[float, ...]
    """Accepted tokens by position in the draft, from 0; empty where the counter is not exposed."""
    least: float
    """Drafts under which there is no verdict."""

    @property
    def acceptance(self) -> float | None:
        """Accepted / drafted tokens."""
        return per(self.accepted_tokens, self.draft_tokens)


@dataclass(frozen=True, kw_only=True)
class Expectation(Described):
    """What to expect where no baseline measured it: ranges from the server's own steps, else published measurements.

    One server in five is outside of the latter.
    """

    batch: float | None
    """Requests that share a decode step; None where it is unknown: the ranges then cover all that were measured."""
    step_cost: Range | None = None
    """Of a mean decode step, in plain steps of such a batch; None in a batch larger than any measured one."""
    speedup: Range | None = None
    """Tokens per decode step / step cost."""
    speedup_at: tuple[Range, ...] = ()
    """At each draft length up to K."""
    length: LengthAdvice | None = None
    """The change of K that every cost in the range supports; None where it depends on the cost."""
    wider: tuple[str, ...] = ()
    """Why the ranges are wider than published measurements of such a server are."""
    basis: str = "assumed"
    """What the ranges rest on: `assumed`, `own step times`, or `own steps without a draft`."""


@dataclass(frozen=True, kw_only=True)
class Speculation(Described):
    """What drafting yields, over the time of the report."""

    expected_speedup: Annotated[float | None, FromSignal(economics.expected_speedup, LINE, by_engine=True)]
    """Of the load: over all decode steps."""
    needed_per_step: Annotated[float | None, FromSignal(economics.needed_per_step, LINE)]
    affordable_inflation: Annotated[float | None, FromSignal(economics.affordable_inflation, LINE)]
    coverage: Annotated[float | None, FromSignal(acceptance.coverage, LINE)]
    step_speedup: Annotated[float | None, FromSignal(economics.step_speedup, LINE)]
    acceptance: Annotated[float | None, FromSignal(acceptance.acceptance, LINE, by_engine=True)]
    band: str | None
    """The acceptance in words, where the sample is large enough. A rule of thumb, not comparable across K."""
    acceptance_length: Annotated[float | None, FromSignal(acceptance.acceptance_length, LINE, by_engine=True)]
    break_even: Annotated[float | None, FromSignal(economics.break_even, LINE)]
    draft_length: Annotated[float | None, FromSignal(acceptance.draft_length, LINE)]
    configured_k: Annotated[int | None, FromSignal(drafting.configured_k, LINE)]
    best_k: Annotated[int | None, FromSignal(gains.best_k, LINE)]
    best_speedup: Annotated[float | None, FromSignal(gains.best_speedup, LINE)]
    longer_gain: Annotated[float | None, FromSignal(gains.longer_gain, LINE)]
    share_from_drafts: Annotated[float | None, FromSignal(acceptance.share_from_drafts, LINE)]
    wasted_tokens: Annotated[float | None, FromSignal(traffic.wasted_tokens, LINE)]
    step_cost: Annotated[float | None, FromSignal(costs.step_cost, LINE, if_known=True)] = None
    """Measured: a decode step over the baseline's in batches of the same size; only of a Prometheus with the rules."""
    slower_k: Annotated[int | None, FromSignal(gains.slower_k, LINE, if_known=True)] = None
    """A longer K with which tokens took longer at this load, by a change of K that rules have seen; no longer one is
    advised then."""
    lowest_k: Annotated[int | None, FromSignal(drafting.lowest_k)]
    """Under configured_k where K differs between engines or changed: then positions are not judged."""
    draft_cost: Annotated[float, FromSignal(economics.draft_cost)]
    verify_inflation: Annotated[float, FromSignal(economics.verify_inflation)]
    """v: time of a verify step over a plain one."""
    fastest_k: Annotated[int | None, FromSignal(gains.fastest_k)] = None
    """The best k; where no k pays, the one that loses least."""
    shorter_gain: Annotated[float | None, FromSignal(gains.shorter_gain)]
    draft_efficiency: Annotated[float | None, FromSignal(acceptance.draft_efficiency)]
    alpha_hat: Annotated[float | None, FromSignal(depth.alpha_hat)]
    first_position: Annotated[float | None, FromSignal(depth.first_position)]
    last_position: Annotated[float | None, FromSignal(depth.last_position)]
    survival: Annotated[tuple[float, ...], FromSignal(depth.survival)]
    conditional_acceptance: Annotated[tuple[float, ...], FromSignal(depth.conditional_acceptance)]
    accepted_length_share: Annotated[tuple[float, ...], FromSignal(depth.accepted_length_share)]
    tokens_per_step_at: Annotated[tuple[float, ...], FromSignal(depth.tokens_per_step_at)]
    speedup_at: Annotated[tuple[float, ...], FromSignal(gains.speedup_at)]
    arithmetic: Arithmetic | None = None
    """Whether memory bounds its steps; None where vLLM estimates none, as without --enable-mfu-metrics."""
    assumed: Expectation | None = None
    """Ranges in place of the numbers that rest on c and v, where no baseline measures and the settings hold nothing but
    assumed costs, or the server's own steps tell more."""


@dataclass(frozen=True, kw_only=True)
class Latency(Described):
    """A time as a distribution. Percentiles are estimates within a bucket: what is known are the bucket's bounds.

    A percentile of 0 stands for below resolution: less than `resolution`. An engine without histograms has the mean
    alone; there one sample is a token, or a step.
    """

    count: float
    """Samples: requests, or steps."""
    mean: float
    """Exact."""
    p50: float | None = None
    p95: float | None = None
    p99: float | None = None
    resolution: float | None = None
    """The histogram's first bound."""
    unresolved: float | None = None
    """Share of samples under it."""
    p50_from: float | None = None
    """Lower bound of the bucket that holds it."""
    p50_to: float | None = None
    """Upper bound of that bucket; equal to the lower one above the last bound."""
    p95_from: float | None = None
    """Lower bound of the bucket that holds P95."""
    p95_to: float | None = None
    """Upper bound of the bucket that holds P95."""
    p99_from: float | None = None
    """Lower bound of the bucket that holds P99."""
    p99_to: float | None = None
    """Upper bound of the bucket that holds P99."""


@dataclass(frozen=True, kw_only=True)
class Latencies(Described):
    """What users wait for, and how long steps take. None: not exposed, or nothing finished in the time."""

    first_token: Latency | None = None
    """Time to first token (TTFT)."""
    per_token: Latency | None = None
    """Time per output token (TPOT), one sample a finished request."""
    step: Latency | None = None
    """One sample a request and step: under speculation not what users feel."""
    end_to_end: Latency | None = None
    """Arrival to last token (E2E)."""


@dataclass(frozen=True, kw_only=True)
class Traffic(Described):
    """The load under which all this was measured: compare only what had the same."""

    generation_tokens: Annotated[float | None, FromSignal(traffic.generation_tokens, LOAD)]
    """Generated tokens per second."""
    prompt_tokens: Annotated[float | None, FromSignal(capacity.prompt_tokens)]
    """Prompt tokens per second."""
    request_rate: Annotated[float | None, FromSignal(requests.request_rate, LOAD)]
    """Finished requests per second."""
    tokens_per_step: Annotated[
        float | None, FromSignal(acceptance.tokens_per_step, LINE, after=economics.expected_speedup)
    ]
    """(Generated tokens - first tokens) / decode steps: over all steps, drafted or not; 1 without speculation."""
    prompt_length: float | None
    """Prompt tokens for each first token: the mean length of prompts, as far as they were answered."""
    answer_length: float | None
    """Generated tokens for each first token: the mean length of answers, as far as they were begun and ended here."""
    generated: float | None
    """Generated tokens in all the time."""
    requests: float | None
    """Finished requests in all the time."""
    unfinished: Annotated[float | None, FromSignal(requests.unfinished)]
    """Share of started requests that neither finished nor still run; None with too few requests."""
    requests_running: Annotated[float | None, FromSignal(requests.requests_running, LOAD)]
    """At the end, engines together."""
    requests_waiting: Annotated[float | None, FromSignal(requests.requests_waiting, LOAD)]
    kv_cache_usage: Annotated[float | None, FromSignal(capacity.kv_cache_usage, LOAD)]
    """At the end, of the fullest engine."""
    prefix_cache_hits: Annotated[float | None, FromSignal(capacity.prefix_cache_hits, LOAD, value="local")]
    """Prompt tokens found in the engines' own prefix caches over those looked up. Full hits lower acceptance a little:
    they enter speculation with placeholder drafts (vLLM 0.28 and newer)."""
    batch: Annotated[float | None, FromSignal(capacity.batch)] = None
    """Running requests per engine: from Prometheus the mean over the time, else at the end."""
    engines: Annotated[float | None, FromSignal(capacity.engines)] = None


@dataclass(frozen=True, kw_only=True)
class Part(Described):
    """What was counted in a part of the time: intervals rest on the scatter of parts."""

    requests: Annotated[float, latency.TIME_PER_OUTPUT_TOKEN.count]
    """Finished, with a known time per output token."""
    seconds_per_token: Annotated[float, latency.TIME_PER_OUTPUT_TOKEN.sum]
    """Their times per output token, summed."""
    drafts: Annotated[float, speculation.DRAFTS]
    """Drafts verified."""
    draft_tokens: Annotated[float, speculation.DRAFT_TOKENS]
    accepted_tokens: Annotated[float, speculation.ACCEPTED_TOKENS]
    step_seconds: Annotated[float, latency.STEP_LATENCY.sum] = 0.0
    """Time of decode steps, summed over the requests in them."""
    generated: Annotated[float, serving.GENERATION_TOKENS] = 0.0
    """Generated tokens."""
    first_tokens: Annotated[float, latency.TIME_TO_FIRST_TOKEN.count] = 0.0
    """Requests that received their first token."""
    prompts: Annotated[float, serving.PROMPT_TOKENS] = 0.0
    """Prompt tokens."""


COUNTED = annotated(Part, Metric)
"""The metric of each number of a part."""
