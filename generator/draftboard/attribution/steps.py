"""What a decode step's time follows from: its batch, the prompts computed in it, and the rest.

The slopes are those within each engine and side, where configuration is the same, so that a change of the step's cost
does not pass for one of load (an analysis of covariance). Neither slope is below 0.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import fsum, inf, sqrt
from typing import NamedTuple

from draftboard.attribution.counted import Counted, Moment

_SURE = 2.0  # Standard errors.
_APART = 1e-6  # Of the greatest determinant.
_CHANGED = 0.2  # Of the load: less explains no time that its slope does not.


class Parts(NamedTuple):
    """Seconds of a step before, and what changes add to them."""

    before: float
    load: float
    prompts: float
    rest: float


class _Row(NamedTuple):
    """An engine in a window: deviations from its mean on this side, and decode steps as the weight."""

    weight: float
    load: float
    prompts: float
    seconds: float


@dataclass(frozen=True)
class _Per:
    """Of a step, on average."""

    load: float
    prompts: float
    seconds: float
    begun: float

    @classmethod
    def step(cls, counted: Counted) -> "_Per":
        iterations = counted.iterations or counted.steps
        computed, begun = counted.computed / iterations, counted.begun / iterations
        return cls(counted.batch, computed, counted.seconds / counted.steps, begun)

    @property
    def prompt(self) -> float:
        """Tokens that a prompt leaves to compute."""
        return self.prompts / self.begun if self.begun else 0.0


def step_parts(before: Sequence[Moment], after: Sequence[Moment]) -> Parts | None:
    """The change of the mean step; None where no step was timed on a side."""
    sides = [Counted.of(moment.whole for moment in side) for side in (before, after)]
    if not all(side.steps and side.seconds for side in sides):
        return None
    old, new = map(_Per.step, sides)
    rows = [row for side in (before, after) for row in _rows(side)]
    by_load, error, by_prompts = _slopes(rows)
    change, more = new.seconds - old.seconds, new.load - old.load
    # More prompts in a step are load; longer ones are not.
    prompts = by_prompts * (new.prompt - old.prompt) * (new.begun + old.begun) / 2
    load = by_load * more + by_prompts * (new.prompts - old.prompts) - prompts
    # Neither can have taken, or take, more than the whole step.
    prompts, load = (min(max(part, -old.seconds), new.seconds) for part in (prompts, load))
    if abs(more) > _CHANGED * old.load and _SURE * error * abs(more) > abs(change - prompts - load):
        # The load hardly varied on either side. Alone it adds no more time than in proportion, and takes none away.
        most = old.seconds * more / old.load if old.load else 0.0
        load = min(max(change - prompts, min(most, 0.0)), max(most, 0.0))
    return Parts(old.seconds, load, prompts, change - load - prompts)


def _rows(side: Sequence[Moment]) -> Iterator[_Row]:
    for engine in {engine for moment in side for engine in moment.engines}:
        counted = [own for moment in side if (own := moment.engines.get(engine)) and own.steps]
        mean = _Per.step(Counted.of(counted)) if counted else None
        for one in counted:
            if mean:
                per = _Per.step(one)
                deviations = (per.load - mean.load, per.prompts - mean.prompts, per.seconds - mean.seconds)
                yield _Row(one.steps, *deviations)


def _slopes(rows: Sequence[_Row]) -> tuple[float, float, float]:
    """Seconds per running request with its standard error, and per prompt token: by weighted least squares."""

    def product(one: str, other: str) -> float:
        return fsum(row.weight * getattr(row, one) * getattr(row, other) for row in rows)

    loads, prompts, both = product("load", "load"), product("prompts", "prompts"), product("load", "prompts")
    to_load, to_prompts = product("load", "seconds"), product("prompts", "seconds")
    by_load, by_prompts, known = (to_load / loads if loads else 0.0), 0.0, loads
    # Near 0 one of them never varied, or both always together.
    if (rest := loads * prompts - both**2) > _APART * loads * prompts:
        joint = (to_load * prompts - to_prompts * both) / rest, (to_prompts * loads - to_load * both) / rest
        if joint[0] < 0:
            by_load, by_prompts = 0.0, max(0.0, to_prompts / prompts)
        elif joint[1] > 0:
            (by_load, by_prompts), known = joint, rest / prompts
    by_load = max(0.0, by_load)
    left = fsum(row.weight * (row.seconds - by_load * row.load - by_prompts * row.prompts) ** 2 for row in rows)
    return by_load, (sqrt(left / max(1, len(rows) - 2) / known) if known > 0 else inf), by_prompts
