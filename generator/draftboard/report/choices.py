"""Which draft length engines choose at which load, as the plugin counts their decode steps, and whether it follows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

from draftboard.output import Block, Described, Sentence, Table, columns
from draftboard.report.own import Stretch
from draftboard.status import Status

_DIFFER = "differ"
_FEWEST = 100
"""Steps of a batch size, of fewer of which nothing is said. Heuristic."""
_LEVEL = 0.5
"""Tokens by which a mean draft must differ between loads. Heuristic."""


@dataclass(frozen=True)
class Chosen(Described):
    """Decode steps in batches of one size."""

    batch: float
    """At most so many requests share a step."""
    steps: float
    """How many there were."""
    shares: dict[str, float]
    """Of the steps, by the tokens drafted for each request; `differ` where requests of a step have unlike drafts, or
    verification is adaptive, of which vLLM exports no length."""
    mean: float | None
    """Tokens drafted for a request, of the steps where they do not differ."""


def chosen_of(steps: Sequence[Stretch]) -> tuple[Chosen, ...]:
    """By batch size; empty where one length is all that is drafted, or nobody counts steps by length."""
    pure = sorted((one for one in steps if one.pure), key=attrgetter("batch"))
    if len({one.drafted for one in pure}) < 2:  # noqa: PLR2004
        return ()
    by_batch = (_of_batch(batch, list(same)) for batch, same in groupby(pure, attrgetter("batch")))
    return tuple(one for one in by_batch if one.steps >= _FEWEST)


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
    """The table, and whether drafts are shorter where steps are fuller."""
    rows = tuple(
        (
            f"{one.batch:g}",
            *(f"{one.steps:,.0f}", "-" if one.mean is None else f"{one.mean:.2f}"),
            ", ".join(f"{name}: {share:.0%}" for name, share in one.shares.items()),
        )
        for one in chosen
    )
    heads = columns("Batch, up to", numbers=("Decode steps", "Mean k")) + columns("Share of steps by k")
    yield Table(heads, rows, title="Which draft length do engines choose?")
    means = [one for one in chosen if one.mean is not None]
    if len(means) > 1 and (low := means[0].mean) is not None and (high := means[-1].mean) is not None:
        span = f"a mean of {low:.2f} tokens in batches up to {means[0].batch:g}, {high:.2f} up to {means[-1].batch:g}"
        if low - high >= _LEVEL:
            yield Sentence(f"Drafts shorten as batches grow: {span}.")
        else:
            yield Sentence(f"Drafts do not shorten as batches grow: {span}.", Status.WARN)
