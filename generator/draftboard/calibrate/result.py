"""A calibration as typed objects, which are also its JSON; docs/commands/calibrate.md describes the fields."""

from dataclasses import dataclass
from typing import Literal

from draftboard.intervals import Estimate
from draftboard.output import Described


@dataclass(frozen=True, kw_only=True)
class Row(Described):
    """A candidate against the baseline at one load."""

    candidate: str
    load: int
    """Requests in flight; of history, the upper bound of the batch."""
    batch: float
    """Mean requests in a step, over baseline and candidates."""
    baseline_windows: int
    candidate_windows: int
    baseline_steps: float
    """Decode steps, each counted for every request in it."""
    candidate_steps: float
    plain_step_seconds: Estimate
    step_cost: Estimate
    """Mean step of the candidate over that of the baseline, steps without a draft included."""
    tokens_per_step: Estimate
    speedup: Estimate
    """Tokens per second of decoding over the baseline's."""
    coverage: float
    draft_length: float


@dataclass(frozen=True)
class Stop(Described):
    """Where speculation stops paying as batches grow, on lines between the batches measured."""

    candidate: str
    batch: float | None
    """At which the speedup falls to 1; None where it does not within the batches measured."""
    low: float | None
    """At which the interval's lower end falls to 1: from here on it may not pay."""
    high: float | None
    """At which its upper end falls to 1: from here on it does not pay; None where it may, up to the largest batch."""
    says: str


@dataclass(frozen=True)
class Point(Described):
    """The cost of a step with a draft at one load, in plain steps."""

    batch: float
    draft_length: float
    together: Estimate
    """v + draft_length * c, which break-even at this draft length needs."""
    verify_inflation: Estimate | None
    """v alone; None where it cannot be separated from c."""


@dataclass(frozen=True)
class Costs(Described):
    """The cost of steps with a draft, v(batch) + L * c."""

    draft_cost: Estimate | None
    """c; None where it cannot be separated from v."""
    not_told_apart: str | None
    """Why not."""
    points: tuple[Point, ...]
    misfit: float | None
    """Largest relative difference between the step cost that c and v give and the one measured."""


@dataclass(frozen=True)
class Fragment(Described):
    """The keys of `[draft_cost]` that --write puts into a file."""

    method: str
    draft_cost: float
    """c: fitted, or that of the settings, lowered where v would be under 1."""
    draft_cost_source: Literal["fitted", "settings", "lowered"]
    verify_inflation: dict[int, float]
    """v by batch size."""


@dataclass(frozen=True)
class AtContext(Described):
    """What was measured with requests of up to so many tokens, prompt and half of the response."""

    context: int
    rows: tuple[Row, ...]
    verify_inflation: dict[int, float]
    """v by batch size, at the c of the settings; empty without a method, or where nothing was drafted."""


@dataclass(frozen=True)
class Reach(Described):
    """Loads up to which a variant holds the declared objectives of time, by requests in flight."""

    held: int | None
    """The largest load of which every window holds them, as all smaller ones do."""
    missed: int | None
    """The least load of which every window misses one."""
    least: float | None
    """Tokens per second of decoding at the one, in its slowest window."""
    most: float | None
    """The most of any window up to the other."""


@dataclass(frozen=True)
class Saving(Described):
    """GPUs that a candidate saves at the declared objectives of time, for as many tokens per second."""

    candidate: str
    baseline: Reach
    own: Reach
    low: float | None
    """Share of GPUs at the unfavourable ends of both; None where one is not known."""
    high: float | None
    """At the favourable ends."""
    says: str


@dataclass(frozen=True, kw_only=True)
class Calibration(Described):
    """Costs of speculation against a baseline."""

    schema_version: int = 1
    """Raised when a field is removed or changes its meaning; new fields do not change it."""
    origin: Literal["load", "history"]
    model: str
    method: str | None
    sources: tuple[str, ...]
    """Addresses: the baseline and the candidates, or the Prometheus."""
    taken_at: float
    """Unix seconds of the end."""
    windows: int
    steps: float
    rows: tuple[Row, ...]
    stops: tuple[Stop, ...]
    costs: Costs
    settings: Fragment | None
    """None without a method, or where nothing was drafted."""
    notes: tuple[str, ...]
    contexts: tuple[AtContext, ...] = ()
    """Where several were measured, the shortest first. All else is of all contexts together."""
    savings: tuple[Saving, ...] = ()
    """From servers, where an objective of time is declared."""
