"""What servers counted in a stretch of time, engine by engine and class by class: what figures are computed from."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any, Self


@dataclass(frozen=True, kw_only=True)
class Counted:
    """Of one engine, or of several together."""

    drafts: float = 0.0
    """Drafts verified."""
    draft_tokens: float = 0.0
    """Tokens of these drafts."""
    accepted: tuple[float, ...] = ()
    """Accepted tokens by position."""
    drafted: tuple[float, ...] = ()
    """Draft tokens by position; empty where nothing exports them."""
    steps: float = 0.0
    """Decode steps, each counted for every request in it."""
    seconds: float = 0.0
    """Time of these steps, also counted for every request."""
    computed: float = 0.0
    """Prompt tokens, those of caches left out where they are known."""
    begun: float = 0.0
    """Requests that received their first token."""
    iterations: float = 0.0
    """Steps of the engine, each counted once."""

    @property
    def batch(self) -> float:
        """Mean number of requests that decode in a step."""
        return self.steps / self.iterations if self.iterations else 0.0

    @classmethod
    def of(cls, several: Iterable[Self]) -> Self:
        """All together."""
        sums: dict[str, Any] = {}
        for one in several:
            for name, value in vars(one).items():
                if isinstance(value, tuple):
                    sums[name] = tuple(map(sum, zip_longest(sums.get(name, ()), value, fillvalue=0.0)))
                else:
                    sums[name] = sums.get(name, 0.0) + value
        return cls(**sums)


def by_position(values: Iterable[tuple[int, float]]) -> tuple[float, ...]:
    """Each value at its position, from the first; 0 where a position in between has none."""
    known = dict(values)
    return tuple(known.get(position, 0.0) for position in range(max(known, default=-1) + 1))


LEAST = 3
"""Windows of a side: fewer do not show their scatter."""
Class = tuple[str, str]
"""A dimension, and a class of it."""


@dataclass(frozen=True, kw_only=True)
class Moment:
    """One window of a model."""

    at: float
    """Unix seconds: its end."""
    engines: Mapping[str, Counted]
    classes: Mapping[Class, tuple[float, float, float]] = field(default_factory=dict)
    """Drafts, draft tokens and accepted tokens by class of request; empty without the lens."""
    facts: Mapping[str, str] = field(default_factory=dict)
    """How its engines run: version, drafter, K ...; several values of one are joined."""
    restarted: frozenset[str] = frozenset()
    """Engines that restarted in it."""

    @property
    def whole(self) -> Counted:
        """All engines together."""
        return Counted.of(self.engines.values())
