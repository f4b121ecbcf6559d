"""Whom speculation helps: a model's classes of requests, as the lens counts them, and which of them lose."""

from dataclasses import dataclass

from draftboard.evidence import Range, Ruling, expected_speedup, ruling
from draftboard.output import Described
from draftboard.report.numbers import Speculation


@dataclass(frozen=True, kw_only=True)
class RequestClass(Described):
    """What the lens measured of the requests of a class."""

    dimension: str
    """What it is a class by: temperature, prompt, both together, name or header."""
    name: str
    """As the lens names it."""
    share: float
    """Of the requests, in its dimension."""
    acceptance: float | None = None
    """None with too few drafts."""
    length: float | None = None
    """Mean acceptance length; None with too few drafts."""
    speedup: Range | None = None
    """Expected of its speculative steps: length / cost of such a step; None where no cost is known."""

    def __str__(self) -> str:
        """In words."""
        return f"{self.dimension} {self.name}"

    @property
    def loses(self) -> bool:
        """Whether its speculative steps cost more than they yield at every cost in the range."""
        return self.speedup is not None and ruling(self.speedup) is Ruling.COSTS


Figures = dict[tuple[str, str], float]
"""By dimension and class."""


def classes_of(
    shares: Figures, acceptance: Figures, length: Figures, speculation: Speculation | None
) -> tuple[RequestClass, ...]:
    """The classes of a model, the most frequent of each dimension first."""
    cost = _cost(speculation) if speculation else None
    found = [
        RequestClass(
            dimension=dimension,
            name=name,
            share=share,
            acceptance=acceptance.get((dimension, name)),
            length=(tokens := length.get((dimension, name))),
            speedup=expected_speedup(tokens, cost) if tokens and cost else None,
        )
        for (dimension, name), share in shares.items()
    ]
    return tuple(sorted(found, key=lambda one: (one.dimension, -one.share, one.name)))


def _cost(speculation: Speculation) -> Range | None:
    """Of a step with a draft, in plain steps."""
    if speculation.assumed is None:
        cost = speculation.break_even
        return Range(cost, cost) if cost else None
    mean, coverage = speculation.assumed.step_cost, speculation.coverage
    if mean is None or not coverage:
        return None
    # Of all decode steps only the covered ones cost more than a plain one.
    share = min(coverage, 1.0)
    return Range(*((bound - (1 - share)) / share for bound in (mean.low, mean.high))).at_least(1.0)


def worst_of(classes: tuple[RequestClass, ...]) -> RequestClass | None:
    """The class of the least length, of those with enough drafts; None where there is but one in each dimension."""
    judged = [one for one in classes if one.length is not None and one.share < 1]
    return min(judged, key=lambda one: (one.length or 0.0, str(one)), default=None)
