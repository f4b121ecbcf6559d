"""Why a model's figures changed: parts by what they are computed from, then the causes that these have."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import fsum, sqrt
from typing import NamedTuple

from draftboard.attribution.causes import (
    COST,
    COVERAGE,
    DEEPER,
    FEW,
    FIRST,
    LENGTHS,
    LIKE,
    LOAD,
    MIX,
    PHANTOMS,
    PROMPTS,
    Cause,
    Causes,
)
from draftboard.attribution.counted import LEAST, Counted, Moment
from draftboard.attribution.mix import Mix, mix_of
from draftboard.attribution.result import LENGTH, TIME, Explanation, Figure, Part
from draftboard.attribution.shapley import parts_of
from draftboard.attribution.state import State, accepted_per_draft, alike
from draftboard.attribution.steps import Parts, step_parts

Side = Sequence[Moment]


@dataclass(frozen=True)
class _Model:
    """The figures as functions of what has changed."""

    states: tuple[State, State]
    lengths: tuple[tuple[float, ...], tuple[float, ...]]
    passes: tuple[tuple[float, ...], tuple[float, ...]]
    mix: Mix | None
    step: Parts

    @classmethod
    def of(cls, before: Side, after: Side, like: Mix | None = None) -> "_Model | None":
        step = step_parts(before, after)
        if step is None:
            return None
        states = State.of(Counted.of(one.whole for one in before)), State.of(Counted.of(one.whole for one in after))
        old_lengths, new_lengths, old_passes, new_passes = alike(*states)
        return cls(states, (old_lengths, new_lengths), (old_passes, new_passes), mix_of(before, after, like), step)

    def accepted(self, changed: Collection[str]) -> float:
        """Tokens of a draft that is no phantom."""
        old, new = self.passes
        if self.mix is not None:
            # Of like requests they changed by what the mix, and the few classes, leave over.
            ratio = self.mix.ratio(moved=MIX in changed, changed=FEW in changed)
            ratio /= self.mix.ratio(moved=True, changed=True) if LIKE in changed else 1.0
            passes = new if LIKE in changed else old
        else:
            ratio, passes = 1.0, (*(new if FIRST in changed else old)[:1], *(new if DEEPER in changed else old)[1:])
        return ratio * accepted_per_draft(self.lengths[LENGTHS in changed], passes)

    def length(self, changed: Collection[str]) -> float:
        """Mean acceptance length, in tokens."""
        return 1 + (1 - self.states[PHANTOMS in changed].phantoms) * self.accepted(changed)

    def time(self, changed: Collection[str]) -> float:
        """Milliseconds per output token of a request's decoding."""
        step = self.step
        added = ((LOAD, step.load), (PROMPTS, step.prompts), (COST, step.rest))
        seconds = step.before + fsum(time for name, time in added if name in changed)
        return 1000 * seconds / (1 + self.states[COVERAGE in changed].covered * self.accepted(changed))

    @property
    def of_drafts(self) -> tuple[str, ...]:
        """What acceptance follows from."""
        return (LENGTHS, MIX, FEW, LIKE) if self.mix is not None else (LENGTHS, FIRST, DEEPER)

    def changes(self) -> "Iterator[_Change]":
        """Each figure with its parts."""
        if all(state.covered for state in self.states):
            yield _Change.of(LENGTH, self.length, (PHANTOMS, *self.of_drafts))
        drafts = (COVERAGE, *self.of_drafts) if any(state.covered for state in self.states) else ()
        yield _Change.of(TIME, self.time, (*drafts, LOAD, PROMPTS, COST))


class _Change(NamedTuple):
    title: str
    before: float
    after: float
    parts: Mapping[str, float]

    @classmethod
    def of(cls, title: str, figure: Callable[[Collection[str]], float], factors: Sequence[str]) -> "_Change":
        return cls(title, figure(()), figure(factors), parts_of(figure, factors))


def explain(before: Side, after: Side) -> Explanation | None:
    """Why figures differ between two stretches of one model; None where no decode step was counted on a side."""
    whole = _Model.of(before, after)
    if whole is None:
        return None
    causes = Causes.of(before, after, whole.mix)
    errors = _errors(before, after, causes, whole.mix)
    return Explanation(
        at=after[0].at,
        seen_before=before[-1].at,
        windows=(len(before), len(after)),
        figures=tuple(_figure(change, causes, errors) for change in whole.changes()),
    )


_Amounts = dict[tuple[str, Cause | None], float]
"""By title of the figure, and cause; None: the whole change."""


def _amounts(model: _Model, causes: Causes) -> _Amounts:
    amounts: _Amounts = {}
    for change in model.changes():
        amounts[change.title, None] = change.after - change.before
        amounts |= {(change.title, cause): amount for cause, amount in causes.merged(change.parts).items()}
    return amounts


def _errors(before: Side, after: Side, causes: Causes, mix: Mix | None) -> _Amounts:
    """Standard errors, from what each window changes when it is left out (the jackknife)."""
    squares: _Amounts = {}
    for side in (before, after):
        count = len(side)
        if count < LEAST:
            return {}
        each = []
        for out in range(count):
            fewer = [moment for number, moment in enumerate(side) if number != out]
            old, new = (fewer, after) if side is before else (before, fewer)
            model = _Model.of(old, new, mix)
            each.append(_amounts(model, causes) if model else {})
        for key in each[0]:
            own = [one.get(key, 0.0) for one in each]
            mean = fsum(own) / count
            squares[key] = squares.get(key, 0.0) + (count - 1) / count * fsum((value - mean) ** 2 for value in own)
    return {key: sqrt(square) for key, square in squares.items()}


def _figure(change: _Change, causes: Causes, errors: _Amounts) -> Figure:
    parts = [
        Part(cause=cause.name, detail=cause.detail, amount=amount, error=errors.get((change.title, cause)))
        for cause, amount in causes.merged(change.parts).items()
        if amount
    ]
    return Figure(
        title=change.title,
        before=change.before,
        after=change.after,
        error=errors.get((change.title, None)),
        parts=tuple(sorted(parts, key=lambda part: -abs(part.amount))),
    )
