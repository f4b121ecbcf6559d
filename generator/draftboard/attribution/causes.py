"""Which cause each part of a change has: what else changed at that time, which engine, or none that is known."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import fsum
from typing import NamedTuple, Self

from draftboard.attribution.counted import Counted, Moment
from draftboard.attribution.mix import ALONE, Mix
from draftboard.attribution.result import UNEXPLAINED

PHANTOMS, COVERAGE, LENGTHS, MIX = "phantoms", "coverage", "lengths", "mix"
FIRST, DEEPER, LIKE, FEW = "first", "deeper", "like", "few"
LOAD, PROMPTS, COST = "load", "prompts", "cost"
"""What figures are computed from: a change of each is a part."""
K, VERIFICATION = "K", "verification"
_ACCEPTANCE = {
    FIRST: "acceptance at the first position",
    DEEPER: "acceptance at deeper positions",
    LIKE: "acceptance of like requests",
}
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
    between = _Between(before, after)
    batches = between.batches
    details = {
        MIX: mix.shift if mix else "",
        LOAD: f"batch {batches[0]:.1f} -> {batches[1]:.1f}",
        PHANTOMS: "placeholders of cached prompts: they slow nobody",
        PROMPTS: "computed beside decoding",
        COVERAGE: "share of steps that find a draft",
    }
    yield from ((name, Cause(cause, details[name])) for name, cause in _PLAIN.items())
    switched = between.switched
    yield LENGTHS, switched or between.of_lengths
    for name, place in _ACCEPTANCE.items():
        yield name, switched or between.of_acceptance or Cause(UNEXPLAINED, place)
    own = Cause("class of requests", mix.change) if mix and mix.few else Cause(UNEXPLAINED, _ACCEPTANCE[LIKE])
    yield FEW, switched or between.of_acceptance or own
    if switched:
        yield COVERAGE, switched
    yield COST, switched or between.of_steps


@dataclass(frozen=True)
class _Between:
    """What else differs between two stretches."""

    before: Sequence[Moment]
    after: Sequence[Moment]

    @cached_property
    def sides(self) -> tuple[Counted, ...]:
        """All that was counted, before and after."""
        return tuple(Counted.of(moment.whole for moment in side) for side in (self.before, self.after))

    @property
    def batches(self) -> tuple[float, ...]:
        """Mean requests in a step."""
        return tuple(side.batch for side in self.sides)

    @property
    def loaded(self) -> bool:
        """Whether the batch changed far enough that what follows the load may have."""
        old, new = self.batches
        return abs(new - old) > _LOADED * old

    @property
    def facts(self) -> Mapping[str, str]:
        """What engines export of themselves and changed, in words."""
        return changed_facts(self.before[-1].facts, self.after[0].facts)

    @property
    def restarted(self) -> frozenset[str]:
        """Engines."""
        return self.before[-1].restarted | self.after[0].restarted

    @property
    def switched(self) -> Cause | None:
        """Speculation on or off, by whatever else changed with it."""
        old, new = (bool(side.drafts) for side in self.sides)
        return None if old == new else self.event() or Cause("speculation", "on" if new else "off")

    @property
    def of_lengths(self) -> Cause:
        """Why drafts are longer or shorter."""
        if K in self.facts:
            return Cause(K, self.facts[K])
        if self.loaded:
            return Cause(_PLAIN[LOAD], "drafts are shorter or longer under it")
        return self.event(K) or Cause(UNEXPLAINED, "draft length")

    @property
    def of_acceptance(self) -> Cause | None:
        """Why like requests are accepted otherwise."""
        if self.after[0].facts.get(VERIFICATION) and self.loaded:
            # Fewer tokens are verified in larger batches: positions cannot tell that from worse drafts.
            return Cause(_PLAIN[LOAD], "by which verification adapts")
        return self.alone(_accepted) or self.event(K)

    @property
    def of_steps(self) -> Cause:
        """Why steps take longer or shorter at like load."""
        return self.alone(_seconds) or self.event() or Cause(UNEXPLAINED, "time of a step at like load")

    def event(self, *left_out: str) -> Cause | None:
        """What changed at that time, however much it did; a restart of most engines where nothing else is known."""
        relevant = {name: words for name, words in self.facts.items() if name not in left_out}
        if relevant:
            together = "; not separable" if len(relevant) > 1 else ""
            return Cause(" and ".join(relevant), ", ".join(relevant.values()) + together)
        everywhere = len(self.restarted) > _MOST * len(self.after[0].engines)
        return Cause("restart", "no change of what the engines export") if everywhere else None

    def alone(self, figure: Callable[[Counted], tuple[float, float]]) -> Cause | None:
        """The one engine that changed, if it is one."""
        engine = _alone(self.before, self.after, figure)
        if engine is None:
            return None
        return Cause("one engine", f"{engine} alone" + (", which restarted" if engine in self.restarted else ""))


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
    return most if abs(adds(most)) > ALONE * (abs(adds(most)) + others) else None


def _by_engine(side: Collection[Moment]) -> Mapping[str, Counted]:
    names = {name for moment in side for name in moment.engines}
    return {name: Counted.of(one.engines[name] for one in side if name in one.engines) for name in names}
