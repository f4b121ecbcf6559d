"""Which cause each part of a change has: what else changed at that time, which engine, or none that is known."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum
from typing import NamedTuple, Self

from draftboard.attribution.counted import Counted, Moment
from draftboard.attribution.mix import Mix
from draftboard.attribution.result import UNEXPLAINED

PHANTOMS, COVERAGE, LENGTHS, MIX = "phantoms", "coverage", "lengths", "mix"
FIRST, DEEPER, LIKE = "first", "deeper", "like"
LOAD, PROMPTS, COST = "load", "prompts", "cost"
"""What figures are computed from: a change of each is a part."""
K = "K"
_ALONE = 0.8
"""Share of a change that one engine must account for to be the one that changed."""
_MOST = 0.5
"""Of the engines must have restarted for a restart to be the cause for all."""
_LOADED = 0.2
"""Change of the mean batch from which draft lengths may follow the load."""
_PLAIN = {MIX: "mix of requests", PHANTOMS: "phantom drafts", COVERAGE: "coverage", LOAD: "load", PROMPTS: "prompts"}


class Cause(NamedTuple):
    """A name, and what is known of it."""

    name: str
    detail: str


@dataclass(frozen=True)
class Causes:
    """The cause of each part."""

    of_part: Mapping[str, Cause] = field(default_factory=dict)

    @classmethod
    def of(cls, before: Sequence[Moment], after: Sequence[Moment], mix: Mix | None) -> Self:
        """From what differs between two stretches."""
        return cls(dict(_found(before, after, mix)))

    def merged(self, parts: Mapping[str, float]) -> Mapping[Cause, float]:
        """Amounts by cause."""
        amounts: dict[Cause, list[float]] = {}
        for name, amount in parts.items():
            amounts.setdefault(self.of_part[name], []).append(amount)
        return {cause: fsum(several) for cause, several in amounts.items()}


def _found(before: Sequence[Moment], after: Sequence[Moment], mix: Mix | None) -> Iterator[tuple[str, Cause]]:
    old, new = (Counted.of(moment.whole for moment in side) for side in (before, after))
    facts = changed_facts(before[-1].facts, after[0].facts)
    restarted = frozenset[str]().union(*(moment.restarted for moment in (before[-1], after[0])))
    everywhere = len(restarted) > _MOST * len(after[0].engines)
    batches = [side.batch for side in (old, new)]
    for name, cause in _PLAIN.items():
        detail = {
            MIX: mix.moved if mix else "",
            LOAD: f"batch {batches[0]:.1f} -> {batches[1]:.1f}",
            PHANTOMS: "placeholders of cached prompts: they slow nobody",
            PROMPTS: "computed beside decoding",
            COVERAGE: "share of steps that find a draft",
        }[name]
        yield name, Cause(cause, detail)

    def event(*left_out: str) -> Cause | None:
        relevant = {name: words for name, words in facts.items() if name not in left_out}
        if relevant:
            together = "; not separable" if len(relevant) > 1 else ""
            return Cause(" and ".join(relevant), ", ".join(relevant.values()) + together)
        return Cause("restart", "no change of what the engines export") if everywhere else None

    def alone(figure: Callable[[Counted], tuple[float, float]]) -> Cause | None:
        engine = _alone(before, after, figure)
        if engine is None:
            return None
        return Cause("one engine", f"{engine} alone" + (", which restarted" if engine in restarted else ""))

    if bool(old.drafts) != bool(new.drafts):
        switched = event() or Cause("speculation", "on" if new.drafts else "off")
        yield from ((name, switched) for name in (COVERAGE, LENGTHS, FIRST, DEEPER, LIKE, COST))
        return
    if K in facts:
        yield LENGTHS, Cause(K, facts[K])
    elif abs(batches[1] - batches[0]) > _LOADED * batches[0]:
        yield LENGTHS, Cause(_PLAIN[LOAD], "drafts are shorter or longer under it")
    else:
        yield LENGTHS, event(K) or Cause(UNEXPLAINED, "draft length")
    places = {FIRST: "acceptance at the first position", DEEPER: "acceptance at deeper positions"}
    accepted = alone(_accepted) or event(K)
    for name in (FIRST, DEEPER, LIKE):
        yield name, accepted or Cause(UNEXPLAINED, places.get(name, "acceptance of like requests"))
    yield COST, alone(_seconds) or event() or Cause(UNEXPLAINED, "time of a step at like load")


def changed_facts(before: Mapping[str, str], after: Mapping[str, str]) -> Mapping[str, str]:
    """What differs of what both sides export, in words, by name."""
    return {name: f"{name} {old} -> {after[name]}" for name, old in before.items() if after.get(name, old) != old}


def _accepted(counted: Counted) -> tuple[float, float]:
    return fsum(counted.accepted), min(counted.drafts, counted.steps)


def _seconds(counted: Counted) -> tuple[float, float]:
    return counted.seconds, counted.steps


def _alone(
    before: Sequence[Moment], after: Sequence[Moment], figure: Callable[[Counted], tuple[float, float]]
) -> str | None:
    """The engine that accounts for nearly all of a change of a ratio, of several that are there all the time."""
    sides = [{name: figure(counted) for name, counted in _by_engine(side).items()} for side in (before, after)]
    both = [name for name in sides[0] if name in sides[1] and sides[0][name][1] and sides[1][name][1]]
    if len(both) < 2:  # noqa: PLR2004
        return None
    weights = [fsum(side[name][1] for name in both) for side in sides]

    def adds(name: str) -> float:
        own = [side[name] for side in sides]
        share = fsum(below / weight for (_, below), weight in zip(own, weights, strict=True)) / 2
        return share * (own[1][0] / own[1][1] - own[0][0] / own[0][1])

    most = max(both, key=lambda name: abs(adds(name)))
    others = fsum(abs(adds(name)) for name in both if name != most)
    return most if abs(adds(most)) > _ALONE * (abs(adds(most)) + others) else None


def _by_engine(side: Collection[Moment]) -> Mapping[str, Counted]:
    names = {name for moment in side for name in moment.engines}
    return {name: Counted.of(one.engines[name] for one in side if name in one.engines) for name in names}
