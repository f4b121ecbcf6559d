"""Whether engines that choose follow their load: the draft lengths of their steps, or what they accept of a draft."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import ceil, log2
from operator import attrgetter

from draftboard.output import Block, Described, Sentence, Table, columns
from draftboard.report.own import Stretch
from draftboard.status import Status

_DIFFER = "differ"
_FEWEST = 100
"""Steps of a batch size, of fewer of which nothing is said. Heuristic."""
_LEVEL = 0.5
"""Tokens by which a mean draft must differ between loads. Heuristic."""
_FALL = 0.9
"""What is accepted of a draft in full batches / in small ones, from which on it does not fall. Heuristic."""


@dataclass(frozen=True)
class Chosen(Described):
    """Decode steps in batches of one size."""

    batch: float
    """At most so many requests share a step."""
    steps: float
    """How many there were; under adaptive verification, steps of single requests."""
    shares: dict[str, float]
    """Of the steps, by the tokens drafted for each request; `differ` where requests of a step have unlike drafts.
    Empty under adaptive verification, of which vLLM exports no length."""
    mean: float | None
    """Tokens drafted for a request, of the steps where they do not differ."""
    accepted: float | None = None
    """Accepted tokens of a draft, under adaptive verification."""


def chosen_of(steps: Sequence[Stretch], *, adaptive: bool = False) -> tuple[Chosen, ...]:
    """By batch size; empty where one length is all that is drafted, or nobody counts steps by length."""
    if adaptive:
        return _verified(steps)
    pure = sorted((one for one in steps if one.pure), key=attrgetter("batch"))
    if len({one.drafted for one in pure}) < 2:  # noqa: PLR2004
        return ()
    by_batch = (_of_batch(batch, list(same)) for batch, same in groupby(pure, attrgetter("batch")))
    return tuple(one for one in by_batch if one.steps >= _FEWEST)


def _verified(steps: Sequence[Stretch]) -> tuple[Chosen, ...]:
    """What is not verified cannot be accepted."""
    sums: dict[float, tuple[float, float]] = {}
    for one in steps:
        if not one.pure and one.accepted is not None:
            batch = 2.0 ** ceil(log2(one.batch))
            count, accepted = sums.get(batch, (0.0, 0.0))
            sums[batch] = count + one.steps, accepted + one.steps * one.accepted
    return tuple(
        Chosen(batch, count, {}, None, accepted / count)
        for batch, (count, accepted) in sorted(sums.items())
        if count >= _FEWEST
    )


def _of_batch(batch: float, same: Sequence[Stretch]) -> Chosen:
    counts: dict[str, float] = {}
    for one in sorted(same, key=lambda one: (one.drafted is None, one.drafted)):
        name = _DIFFER if one.drafted is None else f"{one.drafted:g}"
        counts[name] = counts.get(name, 0.0) + one.steps
    total = sum(counts.values())
    known = total - counts.get(_DIFFER, 0.0)
    mean = sum(one.steps * one.drafted for one in same if one.drafted is not None) / known if known else None
    return Chosen(batch, total, {name: count / total for name, count in counts.items()}, mean)


def choices(chosen: Sequence[Chosen]) -> Iterator[Block]:
    """The table, and whether engines choose less where steps are fuller; nothing where they do not choose."""
    if chosen and all(one.accepted is not None for one in chosen):
        rows = tuple((f"{one.batch:g}", f"{one.steps:,.0f}", f"{one.accepted:.2f}") for one in chosen)
        heads = columns("Batch, up to", numbers=("Steps of requests", "Accepted of a draft"))
        yield Table(heads, rows, title="Does adaptive verification follow the load?")
        yield from _followed(
            [(one.batch, one.accepted) for one in chosen if one.accepted is not None],
            "Fewer tokens of a draft are accepted as batches grow, as where verification follows the load",
            "No fewer tokens of a draft are accepted as batches grow, so verification does not follow the load",
            lambda low, high: high < low * _FALL,
        )
    elif chosen:
        lengths = tuple(
            (
                f"{one.batch:g}",
                *(f"{one.steps:,.0f}", "-" if one.mean is None else f"{one.mean:.2f}"),
                ", ".join(f"{name}: {share:.0%}" for name, share in one.shares.items()),
            )
            for one in chosen
        )
        heads = columns("Batch, up to", numbers=("Decode steps", "Mean k")) + columns("Share of steps by k")
        yield Table(heads, lengths, title="Does the draft length follow the load?")
        yield from _followed(
            [(one.batch, one.mean) for one in chosen if one.mean is not None],
            "Drafts shorten as batches grow",
            "Drafts do not shorten as batches grow",
            lambda low, high: low - high >= _LEVEL,
        )


def _followed(
    means: Sequence[tuple[float, float]], yes: str, no: str, falls: Callable[[float, float], bool]
) -> Iterator[Block]:
    if len(means) < 2:  # noqa: PLR2004
        return
    (small, low), (full, high) = means[0], means[-1]
    says, status = (yes, Status.NEUTRAL) if falls(low, high) else (no, Status.WARN)
    yield Sentence(f"{says}: a mean of {low:.2f} tokens in batches up to {small:g}, {high:.2f} up to {full:g}.", status)
