"""The cost of a step from a server's own steps: of those without a draft, and of all at different loads."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

from draftboard.catalogue import latency, probe, speculation
from draftboard.errors import DraftboardError
from draftboard.evidence import Load, Own, Range, Steps, TooLittle, curves
from draftboard.intervals import Ratio
from draftboard.reading import Growth, Tally

_ALIKE = 0.25  # Relative difference of tokens drafted.
STEPS, SECONDS, DRAFTS, DRAFTED, ACCEPTED, BATCH = "steps", "seconds", "drafts", "drafted", "accepted", "batch"
PURE_STEPS, PURE_SECONDS = "pure steps", "pure seconds"
"""What a Prometheus counts of steps."""
_FEWEST = 20
"""Steps of a stretch of time: the mean of fewer is that of a few."""


@dataclass(frozen=True)
class Stretch:
    """Steps of one kind in a stretch of time, such as between two scrapes."""

    at: int
    """Its place in the order of time."""
    batch: float
    """Requests that share a step; of the plugin's steps, the most that do."""
    drafted: float | None
    """Tokens drafted for each of them; None where requests differ."""
    steps: float
    seconds: float
    pure: bool
    """Whether the steps are the plugin's, without prefills."""
    accepted: float | None = None
    """Tokens of a draft that are accepted; None where that is not known."""


def of_growth(parts: Sequence[Growth], tallies: Sequence[Tally]) -> tuple[Stretch, ...]:
    """The steps of some engines in each part of the time."""
    engines = {(one.source, one.model, one.engine) for one in tallies}
    return tuple(
        stretch
        for at, part in enumerate(parts)
        for tally in part.tallies
        if (tally.source, tally.model, tally.engine) in engines
        for stretch in (*_pure(at, tally), *_mixed(at, tally))
    )


def stretches(at: int, batch: str, k: str, counted: Mapping[str, float], seconds: float) -> Iterator[Stretch]:
    """The steps that a Prometheus counted in so many seconds, by the plugin's labels or altogether."""
    if steps := counted.get(PURE_STEPS):
        yield pure(at, batch, k, steps, counted.get(PURE_SECONDS, 0.0))
    elif counted.keys() >= {STEPS, SECONDS, DRAFTED, BATCH} and (steps := counted[STEPS]):
        running = counted[BATCH] / seconds  # A mean, and no rate.
        accepted = _of_draft(counted.get(ACCEPTED), counted.get(DRAFTS))
        drafted = counted[DRAFTED] / steps
        yield Stretch(at, max(1.0, running), drafted, steps, counted[SECONDS], pure=False, accepted=accepted)


def _pure(at: int, tally: Tally) -> Iterable[Stretch]:
    for (name, labels), steps in tally.counted.items():
        if name == probe.DECODE_STEPS.name:
            of = dict(labels)
            seconds = tally.counted.get((probe.DECODE_STEP_SECONDS.name, labels), 0.0)
            yield pure(at, of.get("batch", ""), of.get("k", ""), steps, seconds)


def pure(at: int, batch: str, k: str, steps: float, seconds: float) -> Stretch:
    """Steps of the plugin's counters with these labels."""
    return Stretch(at, float(batch), float(k) if k.isdecimal() else None, steps, seconds, pure=True)


def _mixed(at: int, tally: Tally) -> Iterable[Stretch]:
    steps, seconds = tally.total(latency.STEP_LATENCY.count), tally.total(latency.STEP_LATENCY.sum)
    engine_steps, drafted = tally.total(latency.STEP_TOKENS.count), tally.total(speculation.DRAFT_TOKENS)
    if steps and seconds and engine_steps and drafted is not None:
        accepted = _of_draft(tally.total(speculation.ACCEPTED_TOKENS), tally.total(speculation.DRAFTS))
        running = max(1.0, steps / engine_steps)
        yield Stretch(at, running, drafted / steps, steps, seconds, pure=False, accepted=accepted)


def _of_draft(accepted: float | None, drafts: float | None) -> float | None:
    return None if accepted is None or not drafts else accepted / drafts


def own_of(stretches: Sequence[Stretch], now: Load) -> Own | None:
    """What they tell of the cost of a step at the present load; None where that is nothing."""
    known = [one for one in stretches if one.steps >= _FEWEST and one.seconds > 0]
    # Steps with prefills in them tell less; both kinds together would compare one with the other.
    told = sorted([one for one in known if one.pure] or known, key=attrgetter("at"))
    cost = _against_plain([one for one in told if one.pure], now)
    try:
        found = curves(
            [Steps(one.batch * (drafted + 1), one.seconds / one.steps) for one, drafted in _drafting_alike(told, now)]
        )
    except (TooLittle, DraftboardError):  # Without the package that it needs, ranges are wider.
        found = ()
    return Own(now, found, cost) if found or cost else None


def _drafting_alike(told: Sequence[Stretch], now: Load) -> list[tuple[Stretch, float]]:
    """Those in which as much was drafted: others have more, less or none of the drafter's time."""
    steps = Counter[float]()
    for one in told:
        if one.pure and one.drafted:
            steps[one.drafted] += round(one.steps)
    usual = steps.most_common(1)[0][0] if steps else now.drafted
    return [(one, one.drafted) for one in told if one.drafted and math.isclose(one.drafted, usual, rel_tol=_ALIKE)]


def _against_plain(steps: Sequence[Stretch], now: Load) -> Range | None:
    """A mean step over one without a draft, in batches of the present size; None where the server has too few."""
    batches = sorted({one.batch for one in steps})
    batch = next((one for one in batches if one >= now.batch), None)
    own = sorted((one for one in steps if one.batch == batch), key=attrgetter("at"))
    every, plain = (
        Ratio.of([(sum(one.seconds for one in part), sum(one.steps for one in part)) for part in parts])
        for parts in (_in_time(own), _in_time([one for one in own if one.drafted == 0]))
    )
    if not every or not plain or all(one.drafted == 0 for one in own):
        return None
    interval = every.over(plain)
    return Range(interval.low, interval.high).at_least(1.0)


def _in_time(steps: Sequence[Stretch]) -> list[list[Stretch]]:
    return [list(part) for _, part in groupby(steps, key=attrgetter("at"))]
