"""How far a change of acceptance is one of the mix of requests, or of few classes, as the lens counts them.

Where classes have the shares t of tokens and the mean acceptance lengths l, all together have 1 / sum(t / l).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import fsum
from operator import mul

from draftboard.attribution.counted import Class, Moment

_MOST = 3
"""Classes that are named: of more, none stands out."""
ALONE = 0.8
"""Share of a change that one engine, or few classes, must account for to be what changed."""
_STILL = 0.25
"""Of their relative change: what the other classes together may have changed beside them."""
_LIKE_DRAFTS = 0.05
"""Relative change of the draft length from which drafts are not alike."""


@dataclass(frozen=True)
class Own:
    """What was counted of a class on one side."""

    share: float = 0.0
    """Of all tokens: by what requests ask for, since a class that is accepted worse makes more drafts."""
    steps: float = 0.0
    """For a token of speculative steps; 0 without drafts."""
    draft_tokens: float = 0.0
    """Of a draft."""


_Sides = tuple[Own, Own]


@dataclass(frozen=True)
class Mix:
    """How tokens moved between the classes of a dimension, and which few of them are accepted otherwise."""

    dimension: str
    classes: Mapping[str, _Sides]
    """Before and after."""
    few: tuple[str, ...] = ()
    """The classes that changed while the others did not; empty if that is not so."""

    def ratio(self, *, moved: bool = False, changed: bool = False) -> float:
        """Accepted tokens of a draft after / before, had only tokens moved, only the few classes changed, or both."""
        return (1 / self._needed(moved, changed) - 1) / (1 / self._needed(False, False) - 1)

    @property
    def sound(self) -> bool:
        """Whether drafts are accepted on both sides of either change."""
        ways = ((moved, changed) for moved in (False, True) for changed in (False, True))
        return all(0 < self._needed(*way) < 1 for way in ways)

    @property
    def weight(self) -> tuple[float, float, int]:
        """By how much it accounts for: of equals, by how far its few classes changed, and then the fewest classes."""
        accounts = abs(self.ratio(moved=True) - 1) + abs(self.ratio(changed=True) - 1)
        return round(accounts, 2), round(abs(_relative(*self._lengths)), 1), -len(self.classes)

    @property
    def shift(self) -> str:
        """The class that moved the figure most, with its shares of tokens."""
        middle = fsum(self._needed(moved, False) for moved in (False, True)) / 2
        more = self._needed(True, False) - self._needed(False, False)

        def adds(name: str) -> float:
            old, new = self.classes[name]
            return (new.share - old.share) * (self._steps[name] - middle) * more

        most = max(self.classes, key=lambda name: (adds(name), name))
        old, new = self.classes[most]
        return f"{self.dimension} {most}: {old.share:.0%} -> {new.share:.0%} of tokens"

    @property
    def change(self) -> str:
        """Of the few classes, in words."""
        old, new = self._lengths
        return f"{self.dimension} {' and '.join(self.few)}: acceptance length {old:.2f} -> {new:.2f}"

    @property
    def _lengths(self) -> tuple[float, float]:
        """Of the few classes."""
        return _lengths([self.classes[name] for name in self.few])

    @cached_property
    def _steps(self) -> Mapping[str, float]:
        """For a token of each class, both sides alike; a class without drafts on one side is taken as on the other."""
        return {name: _mean([own.steps for own in sides if own.steps]) for name, sides in self.classes.items()}

    def _needed(self, moved: bool, changed: bool) -> float:
        """Steps for a token of all classes together."""
        return fsum(
            sides[moved].share * (sides[changed].steps if name in self.few else self._steps[name])
            for name, sides in self.classes.items()
        )


def mix_of(before: Iterable[Moment], after: Iterable[Moment], like: Mix | None = None) -> Mix | None:
    """The dimension that accounts for most, or that of another mix; None where no class was accepted on a side."""
    sides = _together(before), _together(after)
    dimensions = {like.dimension} if like else {of for of, _ in sides[0]} & {of for of, _ in sides[1]}
    found = (_of(dimension, *sides, like) for dimension in sorted(dimensions))
    return max(filter(None, found), key=lambda one: one.weight, default=None)


_Sums = Mapping[Class, tuple[float, ...]]


def _together(side: Iterable[Moment]) -> _Sums:
    sums: dict[Class, tuple[float, ...]] = {}
    for moment in side:
        for key, counts in moment.classes.items():
            sums[key] = tuple(map(sum, zip(sums.get(key, (0.0,) * len(counts)), counts, strict=True)))
    return sums


def _of(dimension: str, before: _Sums, after: _Sums, like: Mix | None) -> Mix | None:
    names = sorted({name for of, name in (*before, *after) if of == dimension})
    sides = [{name: side.get((dimension, name), (0.0, 0.0, 0.0)) for name in names} for side in (before, after)]
    tokens = [fsum(drafts + accepted for drafts, _, accepted in side.values()) for side in sides]
    if not all(tokens):
        return None
    classes = {name: (_own(sides[0][name], tokens[0]), _own(sides[1][name], tokens[1])) for name in names}
    found = Mix(dimension, classes, like.few if like else _few(classes))
    found = found if found.sound else Mix(dimension, classes)
    return found if found.sound else None


def _own(counts: tuple[float, ...], tokens: float) -> Own:
    drafts, draft_tokens, accepted = counts
    share = (drafts + accepted) / tokens
    return Own(share, drafts / (drafts + accepted), draft_tokens / drafts) if drafts else Own(share)


def _few(classes: Mapping[str, _Sides]) -> tuple[str, ...]:
    """The classes, as few as possible, whose equally long drafts are accepted otherwise while others hardly are."""
    both = {name: sides for name, sides in classes.items() if all(own.steps for own in sides)}
    within = {name: abs(_share(sides) * (sides[1].steps - sides[0].steps)) for name, sides in both.items()}
    names = sorted(both, key=lambda name: (-within[name], name))
    for count in range(1, min(_MOST, len(names) - 1) + 1):
        few, others = ([both[name] for name in some] for some in (names[:count], names[count:]))
        if fsum(within[name] for name in names[:count]) <= ALONE * fsum(within.values()):
            continue
        own, rest = (abs(_relative(*(length - 1 for length in _lengths(some)))) for some in (few, others))
        alike = all(abs(_relative(old.draft_tokens, new.draft_tokens)) <= _LIKE_DRAFTS for old, new in few)
        # Classes that make up most of the tokens account for most of a change that all share.
        return tuple(names[:count]) if alike and rest < _STILL * own else ()
    return ()


def _lengths(several: Sequence[_Sides]) -> tuple[float, float]:
    """Acceptance lengths of classes together, before and after, in the mean mix of both; 1 of none."""
    weights = [_share(sides) for sides in several]
    steps = ([sides[number].steps for sides in several] for number in (0, 1))
    old, new = (fsum(weights) / fsum(map(mul, weights, side)) if several else 1.0 for side in steps)
    return old, new


def _share(sides: _Sides) -> float:
    return _mean([own.share for own in sides])


def _relative(old: float, new: float) -> float:
    """Change of a number, as part of the greater."""
    return (new - old) / max(old, new) if old != new else 0.0


def _mean(values: Sequence[float]) -> float:
    return fsum(values) / len(values) if values else 0.0
