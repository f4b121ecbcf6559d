"""A comparison as typed objects, which `docs/schemas/compare.schema.json` describes.

Shares run from 0 to 1, times are in seconds, rates are per second. None: unknown.
"""

from dataclasses import dataclass

from draftboard.intervals import Estimate
from draftboard.output import Described
from draftboard.report import Origin, Sampling


@dataclass(frozen=True, kw_only=True)
class Variant(Described):
    """One side of the comparison."""

    name: str
    """Model, method and labels in words."""
    model: str
    method: str | None
    """Drafting method, as given or labelled; vLLM does not export it."""
    labels: dict[str, str]
    state: str
    origin: Origin
    sources: tuple[str, ...]
    taken_at: float | None
    """End of the time range, in Unix seconds."""
    seconds: float | None
    sampling: Sampling
    engines: int | None
    """Seen within the time; None where a saved report does not tell."""
    requests: float | None
    """Finished requests with a known time per output token: the sample of the measured speedup; None where the engine
    does not count requests."""
    tokens: float | None = None
    """Tokens with a known time, which are the sample in its place."""
    drafts: float
    """The sample of acceptance; 0 without speculation."""


@dataclass(frozen=True, kw_only=True)
class Value(Described):
    """A number on one side."""

    value: float | None
    """None where it is unknown."""
    under: float | None = None
    """Set where the value is below resolution: it is less than this, the histogram's first bound."""
    least: float | None = None
    """Of a percentile: the lower bound of the bucket that holds it."""
    most: float | None = None
    """Of a percentile: the upper bound of that bucket."""
    low: float | None = None
    """Of the 95 % interval, or where `rests_on` is set of the range; None where there is neither."""
    high: float | None = None
    rests_on: str | None = None
    """What a range in place of a value rests on, as in a report: `assumed`, `own step times` or `own steps without a
    draft`."""


@dataclass(frozen=True, kw_only=True)
class Row(Described):
    """A number on both sides."""

    name: str
    """Of the signal, where there is one: `draftboard signals` describes it."""
    title: str
    unit: str
    better: str
    """Which direction is good: higher, lower or neither."""
    baseline: Value
    candidate: Value
    ratio: float | None
    """Candidate / baseline; None where one of them is 0 or unknown, or both are percentiles in one bucket."""
    difference: float | None
    """Candidate - baseline: for shares, times 100 it is percentage points."""
    interval: Estimate | None = None
    """With its 95 % interval: of shares the difference, else the ratio. The value is that of the parts together."""


@dataclass(frozen=True, kw_only=True)
class Group(Described):
    """Numbers that rest on the same samples."""

    title: str
    counted: str
    """What a sample is: drafts, requests or steps."""
    baseline_samples: float | None
    candidate_samples: float | None
    rows: tuple[Row, ...]


@dataclass(frozen=True, kw_only=True)
class Measured(Described):
    """Ratios of both sides."""

    speedup: float | None
    """Mean time per output token, baseline / candidate: over 1, users wait less."""
    speedup_interval: Estimate | None = None
    """With its 95 % interval; None where a side has too few parts of its time. The value is that of the
    parts together."""
    standardised: Estimate | None = None
    """The speedup at equal lengths of prompts and answers: parts of the runs reweighted; None where lengths are alike,
    or where the parts do not allow it."""
    throughput: float | None
    """Generated tokens/s per engine, candidate / baseline: not a speedup where clients send at a fixed rate."""
    step_cost: float | None
    """Mean step latency, candidate / baseline."""
    speedup_by_steps: float | None
    """Tokens per decode step, candidate / baseline, / step cost: the speedup of decoding alone."""
    implied_v: float | None
    """Step cost - mean draft length x c: the verify inflation of this run. Only against plain decoding."""
    draft_cost: float | None
    """The c that implied_v assumes."""
    saving: float | None
    """1 - 1 / throughput: share of a token's cost on the same GPUs; negative is a loss. None where engines or GPUs per
    engine differ, or where requests did not wait on both sides: throughput is then what clients asked for."""


@dataclass(frozen=True, kw_only=True)
class Cost(Described):
    """Price of a million generated tokens at the measured throughput, on as many engines and GPUs.

    None unless requests waited on both sides.
    """

    gpu_hour_price: float
    gpus: int
    """Of each engine."""
    baseline: float | None
    candidate: float | None


@dataclass(frozen=True, kw_only=True)
class Verdict(Described):
    """Whether the candidate serves users better."""

    says: str | None
    """In the words of the measured speedup, or that only tokens come sooner; None where too few requests finished."""
    reasons: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Tail(Described):
    """Whether the slowest requests gained or lost as the others did."""

    says: str | None
    """None where it cannot be judged."""
    of: str | None
    """The latency that it is judged by."""
    reasons: tuple[str, ...]
    next: str | None
    """The test to run next."""
    confirmed: bool | None
    """Whether a third run, of homogeneous work, confirmed mixed work as the reason; None without such a run."""


@dataclass(frozen=True, kw_only=True)
class Gate(Described):
    """A requested limit."""

    option: str
    limit: float
    measured: float | None
    """None where it cannot be judged, which fails the gate."""
    interval: Estimate | None = None
    """Of what is measured, in the unit of the limit."""
    met: bool
    says: str


@dataclass(frozen=True, kw_only=True)
class Comparison(Described):
    """A candidate against a baseline."""

    schema_version: int = 1
    """Raised when a field is removed or changes its meaning; new fields do not change it."""
    baseline: Variant
    candidate: Variant
    unlike: tuple[str, ...]
    """Differences that forbid a comparison; empty unless forced."""
    verdict: Verdict
    measured: Measured
    tail: Tail
    cost: Cost | None
    groups: tuple[Group, ...]
    gates: tuple[Gate, ...]
    notes: tuple[str, ...]
    """What limits the numbers."""

    @property
    def passed(self) -> bool:
        """Whether every gate is met."""
        return all(gate.met for gate in self.gates)
