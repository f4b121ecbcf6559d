"""How far a change of acceptance is one of the mix of requests, as the lens counts it by class.

Where classes have the shares t of tokens and the mean acceptance lengths l, all together have 1 / sum(t / l).
"""

from collections.abc import Iterable, Mapping
from math import fsum
from typing import NamedTuple

from draftboard.attribution.counted import Class, Moment


class Mix(NamedTuple):
    """The shift of tokens between the classes of the dimension that explains most."""

    ratio: float
    """Accepted tokens of a draft after / before, had only the mix changed."""
    moved: str
    """The class that changed the figure most, with its shares of tokens."""


_Sums = Mapping[Class, tuple[float, ...]]


def mix_of(before: Iterable[Moment], after: Iterable[Moment]) -> Mix | None:
    """The mix; None where no class was accepted anything on a side."""
    old, new = _together(before), _together(after)
    dimensions = {dimension for dimension, _ in old} & {dimension for dimension, _ in new}
    found = [one for dimension in sorted(dimensions) if (one := _of(dimension, old, new))]
    return max(found, key=lambda one: abs(one.ratio - 1), default=None)


def _together(side: Iterable[Moment]) -> _Sums:
    sums: dict[Class, tuple[float, ...]] = {}
    for moment in side:
        for key, counts in moment.classes.items():
            sums[key] = tuple(map(sum, zip(sums.get(key, (0.0,) * len(counts)), counts, strict=True)))
    return sums


def _of(dimension: str, before: _Sums, after: _Sums) -> Mix | None:
    names = sorted({name for of, name in (*before, *after) if of == dimension})
    sides = [{name: side.get((dimension, name), (0.0, 0.0, 0.0)) for name in names} for side in (before, after)]
    # By tokens, which requests ask for: of drafts, a class that is accepted worse makes more.
    tokens = [{name: drafts + accepted for name, (drafts, _, accepted) in side.items()} for side in sides]
    if not all(sum(side.values()) for side in tokens):
        return None
    shares = [{name: count / sum(side.values()) for name, count in side.items()} for side in tokens]
    # Steps for a token of each class, both sides alike; a class without drafts on one side is taken as on the other.
    steps = {name: _mean(*(side[name] for side in sides)) for name in names}
    needed = [fsum(share[name] * steps[name] for name in names) for share in shares]
    if not all(0 < one < 1 for one in needed):
        return None
    middle = fsum(needed) / 2

    def adds(name: str) -> float:
        return (shares[1][name] - shares[0][name]) * (steps[name] - middle) * (needed[1] - needed[0])

    most = max(names, key=lambda name: (adds(name), name))
    moved = f"{dimension} {most}: {shares[0][most]:.0%} -> {shares[1][most]:.0%} of tokens"
    return Mix((1 / needed[1] - 1) / (1 / needed[0] - 1), moved)


def _mean(*sides: tuple[float, ...]) -> float:
    """Steps for a token of speculative steps."""
    of = [drafts / (drafts + accepted) for drafts, _, accepted in sides if drafts]
    return fsum(of) / len(of) if of else 0.0
