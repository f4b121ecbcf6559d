"""Requests that arrive: when, how many, and what they want."""

import math
from collections.abc import Sequence

import numpy as np

from draftboard.lab.simulator.request import REQUEST, Batch, Floats, joined, no_requests
from draftboard.lab.simulator.scenario import Load, Requests, Server

_DAY_SECONDS = 86_400
_STOCK = 256
_PROMPT_SPREAD = 0.5
_ANSWER_SPREAD = 0.7
"""Standard deviations of the logarithm of a length. HEUR."""


class Arrivals:
    """The requests that one engine is sent."""

    def __init__(self, server: Server, chance: np.random.Generator) -> None:
        self._server = server
        self._chance = chance
        self.load = server.load
        self.take(server.requests)

    def take(self, kinds: Sequence[Requests]) -> None:
        """From now on requests are of these kinds."""
        shares = np.array([kind.share for kind in kinds])
        self._up_to = np.cumsum(shares / shares.sum())
        self._prompt, self._answer, self._most = (
            np.array([getattr(kind, name) for kind in kinds], float)
            for name in ("prompt_tokens", "output_tokens", "max_tokens")
        )
        self._cached = np.array([kind.cached for kind in kinds])
        self._fully = np.array([kind.fully_cached for kind in kinds])
        self._stock = no_requests()

    def during(self, start: float, seconds: float, in_system: int) -> Batch:
        """Those that arrive in a stretch of time, in their order, when so many of the clients' are being served."""
        count = self._count(start, seconds, in_system)
        if not count:
            return no_requests()
        if len(self._stock) < count:
            self._stock = joined(self._stock, self._drawn(_STOCK + count))
        batch, self._stock = self._stock[:count], self._stock[count:]
        batch["arrived"] = start + np.sort(self._chance.random(count)) * seconds
        return batch

    def _count(self, start: float, seconds: float, in_system: int) -> int:
        if self.load.clients:
            thinking = max(0, self.load.clients - in_system)
            return int(self._chance.binomial(thinking, -math.expm1(-seconds / self.load.think_seconds)))
        mean = rate_at(self.load, start) * seconds
        return int(self._chance.poisson(mean)) if mean else 0

    def _drawn(self, count: int) -> Batch:
        """Requests that will arrive some time: many are drawn as fast as one."""
        batch = np.zeros(count, REQUEST)
        kind = self._up_to[:-1].searchsorted(self._chance.random(count))
        batch["kind"] = kind
        batch["first"] = np.nan
        most = self._most[kind]
        answer = np.ceil(self._spread(self._answer[kind], _ANSWER_SPREAD))
        room = self._server.max_model_len - most
        prompt = np.clip(np.rint(self._spread(self._prompt[kind], _PROMPT_SPREAD)), 2, room).astype(int)
        size = self._server.block_size
        fully = self._chance.random(len(kind)) < self._fully[kind]
        # A whole number of blocks is found in the cache, and always one token is left to compute.
        prompt = np.where(fully, np.maximum((prompt - 1) // size, 1) * size + 1, prompt)
        found = np.where(fully, prompt - 1, (prompt - 1) * self._cached[kind]).astype(int) // size * size
        batch["prompt"] = prompt
        batch["cached"] = prompt - 1 if self._server.kv_transfer else found
        batch["most"] = most
        batch["wanted"] = np.minimum(answer, most)
        batch["cut"] = answer > most
        return batch

    def _spread(self, mean: Floats, deviation: float) -> Floats:
        """Log-normal draws with these means."""
        drawn: Floats = mean * np.exp(self._chance.normal(-(deviation**2) / 2, deviation, len(mean)))
        return drawn


def rate_at(load: Load, time: float) -> float:
    """Requests a second that arrive at a time, by the day's curve and the bursts."""
    rate = load.rate * (1 + load.daily_swing * math.sin(2 * math.pi * time / _DAY_SECONDS))
    if load.burst_every is not None and time % load.burst_every.seconds < load.burst_for.seconds:
        rate *= load.burst_factor
    return rate
