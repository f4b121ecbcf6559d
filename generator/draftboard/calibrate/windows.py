"""Windows of a measurement: time and tokens of decode steps at a steady load."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby
from operator import attrgetter
from typing import Literal

Cell = tuple[int, str]  # Load and variant.
BASELINE = ""
"""The variant without speculation; the others are named by their candidates."""


@dataclass(frozen=True)
class Window:
    """Counts of one variant's decode steps at one load. Sums of windows are windows."""

    variant: str
    load: int  # Its group: requests in flight, or the upper bound of the batch.
    batch: float  # Mean requests in a step.
    steps: float  # Decode steps, each counted for every request in it.
    seconds: float  # All of them together.
    tokens: float  # That they yielded.
    drafts: float = 0.0
    drafted: float = 0.0  # Tokens.
    context: int = 0  # Tokens of a request that it had at most: its class. 0: unknown.
    within: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Requests within the time of each declared objective, and all of them; of servers only."""
    block: int = 0  # Of history: windows of one block share prompts and disturbances.

    @property
    def cell(self) -> Cell:
        """Load and variant."""
        return self.load, self.variant

    @property
    def is_baseline(self) -> bool:
        """Whether speculation is off."""
        return self.variant == BASELINE

    @property
    def step_seconds(self) -> float:
        """Mean seconds of a step."""
        return self.seconds / self.steps

    @property
    def tokens_per_step(self) -> float:
        """Mean tokens of a step."""
        return self.tokens / self.steps

    @property
    def coverage(self) -> float:
        """Share of steps with a draft: at most all, though a draft on a first step belongs to no decode step."""
        return min(1.0, self.drafts / self.steps)

    @property
    def draft_length(self) -> float:
        """Mean tokens of a draft."""
        return self.drafted / self.drafts if self.drafts else 0.0


def pooled(windows: Iterable[Window]) -> tuple[Window, ...]:
    """One window for each variant, load, context and block: what happens at one time is no independent sample."""
    key = attrgetter("variant", "load", "context", "block")
    return tuple(_sum(tuple(group)) for _, group in groupby(sorted(windows, key=key), key))


def _sum(windows: tuple[Window, ...]) -> Window:
    steps = sum(one.steps for one in windows)
    return replace(
        windows[0],
        batch=sum(one.batch * one.steps for one in windows) / steps,
        steps=steps,
        seconds=sum(one.seconds for one in windows),
        tokens=sum(one.tokens for one in windows),
        drafts=sum(one.drafts for one in windows),
        drafted=sum(one.drafted for one in windows),
    )


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Windows of a baseline and its candidates, and where they come from."""

    origin: Literal["load", "history"]
    model: str
    method: str
    sources: tuple[str, ...]
    taken_at: float
    windows: tuple[Window, ...]
    notes: tuple[str, ...] = ()
