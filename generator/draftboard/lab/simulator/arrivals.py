"""Requests, many in one array: when they arrive, what each needs, and how far it is."""

import math
from collections.abc import Sequence
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from draftboard.lab.simulator.scenario import Requests, Server

Batch = NDArray[np.void]  # rows of _REQUEST
Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

_TIMES = ("arrived", "scheduled", "first", "last")  # in simulated seconds; first and last token, NaN before the first
_TOKENS = ("prompt", "cached", "wanted", "made", "limit")  # "cached" is not computed, "made" is answered so far
DRAFTING = ("drafts", "drafted", "accepted")
"""Of each request by itself, counted where the lens runs."""
_FLAGS = ("cut", "left", "easy")  # ends at max_tokens, or by its client; whether its text is in an easy stretch
_REQUEST = np.dtype(
    [
        ("kind", "i8"),
        *((name, "f8") for name in _TIMES),
        ("temperature", "f8"),
        *((name, "i8") for name in (*_TOKENS, *DRAFTING, "preempted")),
        *((name, "?") for name in _FLAGS),
    ]
)
_STOCK = 256
_PROMPT_SPREAD, _ANSWER_SPREAD = 0.5, 0.7  # standard deviations of the logarithm of a length. Heuristic.


NO_REQUESTS: Batch = np.empty(0, _REQUEST)


def joined(*batches: Batch) -> Batch:
    """All of them, in this order. numpy's own concatenation compares the types of all fields each time."""
    parts = [batch for batch in batches if len(batch)]
    if len(parts) == 1:
        return parts[0]
    whole = np.empty(sum(map(len, parts)), _REQUEST)
    for part, end in zip(parts, accumulate(map(len, parts)), strict=True):
        whole[end - len(part) : end] = part
    return whole


def uncomputed(batch: Batch) -> Integers:
    """Tokens that each must compute before it goes on: of its prompt, and after a preemption of its answer too."""
    held: Integers = batch["prompt"] - batch["cached"] + batch["made"]
    return held


def blocks(batch: Batch, block_size: int) -> Integers:
    """KV-cache blocks that each holds or needs."""
    needed: Integers = -(-(batch["prompt"] + batch["made"]) // block_size)
    return needed


class Arrivals:
    """The requests that one engine receives."""

    def __init__(self, server: Server, chance: np.random.Generator) -> None:
        self._server = server
        self._chance = chance
        self.load = server.load
        self.take(server.requests)

    def take(self, kinds: Sequence[Requests]) -> None:
        """From now on requests are of these kinds."""
        shares = np.array([kind.share for kind in kinds])
        self._up_to = np.cumsum(shares / shares.sum())
        self._kinds = {
            name: np.array([getattr(kind, name) for kind in kinds], float)
            for name in ("prompt_tokens", "output_tokens", "max_tokens", "cached", "fully_cached", "abandoned")
        }
        self._kinds["temperature"] = np.array([np.nan if one.temperature is None else one.temperature for one in kinds])
        self._kinds["easy"] = np.array([kind.bursts.easy_share if kind.bursts else 1.0 for kind in kinds])
        self._stock = NO_REQUESTS

    def during(self, start: float, seconds: float, in_system: int) -> Batch:
        """Arrivals in a stretch of time, in order, while so many of the clients' requests are being served."""
        count = self._count(start, seconds, in_system)
        if not count:
            return NO_REQUESTS
        if len(self._stock) < count:
            self._stock = joined(self._stock, self._drawn(_STOCK + count))
        batch, self._stock = self._stock[:count], self._stock[count:]
        batch["arrived"] = start + np.sort(self._chance.random(count)) * seconds
        return batch

    def _count(self, start: float, seconds: float, in_system: int) -> int:
        if self.load.clients:
            thinking = max(0, self.load.clients - in_system)
            return int(self._chance.binomial(thinking, -math.expm1(-seconds / self.load.think_seconds)))
        mean = self.load.rate_at(start) * seconds
        return int(self._chance.poisson(mean)) if mean else 0

    def _drawn(self, count: int) -> Batch:
        """Future requests: many are drawn as fast as one."""
        batch = np.zeros(count, _REQUEST)
        kind = self._up_to[:-1].searchsorted(self._chance.random(count))
        of = {name: values[kind] for name, values in self._kinds.items()}
        answer = np.ceil(self._spread(of["output_tokens"], _ANSWER_SPREAD))
        room = self._server.max_model_len - of["max_tokens"]
        prompt = np.clip(np.rint(self._spread(of["prompt_tokens"], _PROMPT_SPREAD)), 2, room).astype(int)
        size = self._server.block_size
        fully = self._chance.random(count) < of["fully_cached"]
        # A whole number of blocks is found in the cache, and always one token is left to compute.
        prompt = np.where(fully, np.maximum((prompt - 1) // size, 1) * size + 1, prompt)
        hits = np.where(fully, prompt - 1, (prompt - 1) * of["cached"]).astype(int) // size * size
        batch["kind"], batch["temperature"] = kind, of["temperature"]
        batch["first"] = np.nan
        batch["prompt"] = prompt
        batch["cached"] = prompt - 1 if self._server.kv_transfer else hits
        batch["limit"] = of["max_tokens"]
        batch["wanted"] = np.minimum(answer, of["max_tokens"])
        batch["cut"] = answer > of["max_tokens"]
        # Drawn where it matters, so that no other scenario's numbers depend on it.
        if of["abandoned"].any():
            batch["left"] = self._chance.random(count) < of["abandoned"]
            batch["wanted"] = np.ceil(batch["wanted"] * np.where(batch["left"], 1 - self._chance.random(count), 1))
        if (of["easy"] < 1).any():
            batch["easy"] = self._chance.random(count) < of["easy"]
        return batch

    def _spread(self, mean: Floats, deviation: float) -> Floats:
        drawn: Floats = mean * np.exp(self._chance.normal(-(deviation**2) / 2, deviation, len(mean)))
        return drawn
