"""Drafts and their verification: many requests through many steps at once."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from draftboard.lab.simulator.arrivals import Batch, Integers
from draftboard.lab.simulator.scenario import Requests, Server


@dataclass(frozen=True)
class Steps:
    """What requests (rows) did in steps (columns)."""

    active: NDArray[np.bool_]
    """Whether the request took part in the step."""
    drafted: Integers
    """Tokens drafted."""
    accepted: Integers
    """Tokens accepted, those that the end of the answer cuts off included."""
    emitted: Integers
    """Tokens that were given to the user."""


class Drafter:
    """How one engine drafts and what of it is accepted, by kind of request."""

    def __init__(self, server: Server, chance: np.random.Generator) -> None:
        self.longest = server.k or 0
        self._chance = chance
        self._lookup = server.looks_up
        self._up_to_length = np.cumsum(server.draft_lengths)[:-1]
        self.cover(server.coverage)
        self.take(server.requests)

    def cover(self, coverage: float) -> None:
        """From now on such a share of steps finds a draft."""
        self._coverage = coverage if self.longest else 0.0
        self.drafted_per_step = float(self._coverage * (self.longest - self._up_to_length.sum()))
        """Mean tokens that a request drafts in a step."""

    def take(self, kinds: Sequence[Requests]) -> None:
        """From now on the kinds of request are these."""
        # A uniform draw is compared with the shares rejected up to each position. Kind by kind they lie in one rising
        # list, at kind + share, so that one search serves rows of every kind.
        rejected = [
            number + 1 - share
            for number, kind in enumerate(kinds)
            for share in kind.survival(self.longest, lookup=self._lookup)
        ]
        self._rejected = np.array(rejected)

    def decode(self, batch: Batch, begin: Integers, steps: int) -> Steps:
        """Requests decode, each after its step `begin`, until its answer is complete or the steps are over."""
        shape = (len(batch), steps)
        drafted = self._drafted(shape)
        accepted = np.minimum(self._accepted(batch["kind"], shape), drafted)
        gained = (accepted + 1) * (np.arange(steps) > begin[:, None])
        missing = (batch["wanted"] - batch["made"])[:, None] - (gained.cumsum(axis=1) - gained)
        emitted = np.clip(missing, 0, gained)
        active = emitted > 0
        return Steps(active=active, drafted=drafted * active, accepted=accepted * active, emitted=emitted)

    def _drafted(self, shape: tuple[int, int]) -> Integers:
        lengths = np.full(shape, self.longest)
        if len(self._up_to_length):
            lengths = 1 + self._up_to_length.searchsorted(self._chance.random(shape), side="right")
        if self._coverage < 1:
            lengths = np.where(self._chance.random(shape) < self._coverage, lengths, 0)
        return lengths

    def _accepted(self, kind: Integers, shape: tuple[int, int]) -> Integers:
        """Positions that a full-length draft would be accepted to."""
        if not self.longest:
            return np.zeros(shape, int)
        drawn = kind[:, None] + self._chance.random(shape)
        return self._rejected.searchsorted(drawn, side="right") - kind[:, None] * self.longest
