"""A comparison as typed objects. JSON is made of these same objects, and `docs/compare.schema.json` describes them.

Shares run from 0 to 1, times are in seconds, rates are per second. None says that something is not known.
"""

from dataclasses import dataclass
from typing import ClassVar

from pydantic import ConfigDict

from draftboard.report import Origin, Sampling

SCHEMA_VERSION = 1
"""Grows whenever a field is removed or means something else; new fields do not change it."""


class _Described:
    """Docstrings of fields become descriptions of the schema."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(use_attribute_docstrings=True)


@dataclass(frozen=True, kw_only=True)
class Arm(_Described):
    """One side of the comparison."""

    name: str
    """Model, method and labels in words."""
    model: str
    method: str | None
    """Of drafting, as given or labelled; vLLM does not export it."""
    labels: dict[str, str]
    """Further labels, as Prometheus keeps them."""
    state: str
    """What it was doing, in the words of the signal of that name."""
    origin: Origin
    sources: tuple[str, ...]
    taken_at: float | None
    """End of the time, in Unix seconds."""
    seconds: float | None
    """How long it was."""
    sampling: Sampling
    requests: float
    """Finished requests whose time per output token is known: what the measured speedup rests on."""
    drafts: float
    """What acceptance rests on; 0 without speculation."""


@dataclass(frozen=True, kw_only=True)
class Value(_Described):
    """What a side says of a number."""

    value: float | None
    """None where it is not known."""
    under: float | None = None
    """It is less than this, the histogram's first bound, and nobody knows by how much."""


@dataclass(frozen=True, kw_only=True)
class Row(_Described):
    """A number on both sides."""

    name: str
    """Of the signal, where there is one: `draftboard signals` describes it."""
    title: str
    unit: str
    better: str
    """Which way is good: higher, lower or neither."""
    baseline: Value
    candidate: Value
    ratio: float | None
    """Candidate over baseline; None where one of them is 0, not known, or below resolution."""
    difference: float | None
    """Candidate minus baseline: for shares this, times 100, is percentage points."""


@dataclass(frozen=True, kw_only=True)
class Group(_Described):
    """Numbers that rest on the same samples."""

    title: str
    counted: str
    """What a sample is: drafts, requests or steps."""
    baseline_samples: float | None
    candidate_samples: float | None
    rows: tuple[Row, ...]


@dataclass(frozen=True, kw_only=True)
class Measured(_Described):
    """What the two sides say of each other."""

    speedup: float | None
    """Mean time per output token of the baseline over that of the candidate: over 1, users wait less."""
    throughput: float | None
    """Generated tokens per second, candidate over baseline: no speedup where clients send at a fixed rate."""
    step_cost: float | None
    """Mean step latency, candidate over baseline."""
    speedup_by_steps: float | None
    """Tokens per decode step, candidate over baseline, over the step cost: what decoding alone makes of it."""
    implied_v: float | None
    """Step cost - mean draft length x c: the verify inflation that this run had. Only against plain decoding."""
    draft_cost: float | None
    """The c that it assumes."""
    saving: float | None
    """1 - 1 / speedup: share of the cost of a token on the same GPUs, while they are kept busy; negative is a loss."""


@dataclass(frozen=True, kw_only=True)
class Cost(_Described):
    """Of a million generated tokens at the throughput seen, in the currency of the price."""

    gpu_hour_price: float
    gpus: int
    """On each side."""
    baseline: float | None
    candidate: float | None


@dataclass(frozen=True, kw_only=True)
class Verdict(_Described):
    """Whether the candidate serves users better."""

    says: str | None
    """In the words of the measured speedup; None where too few requests finished."""
    reasons: tuple[str, ...]
    """In sentences, the weightiest first."""


@dataclass(frozen=True, kw_only=True)
class Tail(_Described):
    """Whether the slowest requests fared as the others did."""

    says: str | None
    """None where that cannot be told."""
    of: str | None
    """The time that it is told by."""
    reasons: tuple[str, ...]
    next: str | None
    """What to run to find out more."""
    confirmed: bool | None
    """Whether a third run, of homogeneous work, showed that mixed work is the reason; None without such a run."""


@dataclass(frozen=True, kw_only=True)
class Gate(_Described):
    """A limit that was asked for."""

    option: str
    limit: float
    measured: float | None
    """None where it cannot be judged, which fails."""
    met: bool
    says: str


@dataclass(frozen=True, kw_only=True)
class Comparison(_Described):
    """A candidate against a baseline."""

    schema_version: int
    baseline: Arm
    candidate: Arm
    unlike: tuple[str, ...]
    """How the two runs differ, so that they should not be compared; empty unless forced."""
    verdict: Verdict
    measured: Measured
    tail: Tail
    cost: Cost | None
    """None without a price."""
    groups: tuple[Group, ...]
    gates: tuple[Gate, ...]
    """Those that were asked for."""
    notes: tuple[str, ...]
    """What must be known to read the numbers."""

    @property
    def passed(self) -> bool:
        """Whether every gate is met."""
        return all(gate.met for gate in self.gates)
