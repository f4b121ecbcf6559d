"""Servers whose steps cost what a test says, as windows of a fit and as pages of a server that answers completions."""

import json
import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from draftboard.calibrate.windows import Window
from draftboard.catalogue import latency, serving, speculation
from support import loopback

C = 0.06
PLAIN = 0.02  # Seconds of a plain step.
ACCEPTED = 0.6  # Share of drafted tokens.
STEPS = 5000


def v(batch: float) -> float:
    """The truth."""
    return 1 + 0.02 * batch


def plain_seconds(load: float) -> float:
    """The truth of a plain step."""
    return PLAIN * (1 + load / 400)


def windows(
    seed: int,
    *,
    ks: Sequence[int] = (5,),
    loads: Sequence[int] = (1, 2, 4, 8),
    rounds: int = 5,
    noise: float = 0.02,
    coverage: float = 1.0,
    spread: float = 0.0,
    inflation: Callable[[float], float] = v,
) -> list[Window]:
    """Of a baseline and a candidate for each K: their lengths spread about K."""
    chance, found = random.Random(seed), []
    for load in loads:
        seconds = STEPS * plain_seconds(load)
        for _ in range(rounds):
            found.append(Window("", load, load, STEPS, seconds * math.exp(chance.gauss(0, noise)), STEPS))
            for k in ks:
                length = k + chance.gauss(0, spread)
                cost = 1 - coverage + coverage * (inflation(load) + length * C)
                tokens, drafts = STEPS * (1 + coverage * ACCEPTED * length), STEPS * coverage
                took = seconds * cost * math.exp(chance.gauss(0, noise))
                found.append(Window(f"K = {k}", load, load, STEPS, took, tokens, drafts, drafts * length))
    return found


@dataclass
class Costed:
    """A vLLM that answers completions at once and counts for each the steps that its costs give."""

    k: int = 0  # 0: it does not speculate.
    loads: Sequence[int] = (1, 2)  # The concurrencies in their order.
    requests: int = 2  # For each one in flight.
    rounds: int = 4  # With that to warm up.
    model: str = "m"
    noise: float = 0.01
    inflation: Callable[[float], float] = v
    prompt_tokens: Sequence[int] = ()  # Of each request, in as many equal parts; none are counted without.
    instead: Callable[["Costed", BaseHTTPRequestHandler], bool] = lambda *_: False
    asked: list[Mapping[str, Any]] = field(default_factory=list)
    counts: dict[str, float] = field(default_factory=dict)

    def __call__(self, request: BaseHTTPRequestHandler) -> None:
        if request.path.partition("?")[0] == "/metrics":
            loopback.page(self.page())(request)
            return
        body = json.loads(request.rfile.read(int(request.headers["Content-Length"])))
        self.asked.append(body)
        if not self.instead(self, request):
            tokens = self._count()
            loopback.page(json.dumps({"choices": [{"text": ""}], "usage": {"completion_tokens": tokens}}))(request)

    def _load(self) -> int:
        """The concurrency that the last request belongs to."""
        left = len(self.asked)
        for load in self.loads:
            left -= load * self.requests * self.rounds
            if left <= 0:
                return load
        return self.loads[-1]

    def _count(self) -> int:
        load, steps = self._load(), 100
        chance = random.Random(f"{self.k} {len(self.asked)}")
        cost = self.inflation(load) + self.k * C if self.k else 1.0
        seconds = steps * PLAIN * cost * math.exp(chance.gauss(0, self.noise))
        accepted = round(steps * self.k * ACCEPTED)
        grown = {
            latency.STEP_LATENCY.count.name: steps,
            latency.STEP_LATENCY.sum.name: seconds,
            latency.STEP_TOKENS.count.name: steps / load,
            latency.TIME_TO_FIRST_TOKEN.count.name: 1,
            serving.GENERATION_TOKENS.name: 1 + steps + accepted,
        }
        if self.prompt_tokens:
            whole = sum(self.loads) * self.requests * self.rounds
            grown[serving.PROMPT_TOKENS.name] = self.prompt_tokens[
                (len(self.asked) - 1) * len(self.prompt_tokens) // whole
            ]
        if self.k:
            grown |= {speculation.DRAFTS.name: steps, speculation.DRAFT_TOKENS.name: steps * self.k}
        for name, growth in grown.items():
            self.counts[name] = self.counts.get(name, 0) + growth
        return 1 + steps + accepted

    def page(self) -> str:
        """Its counters."""
        of_drafts = (speculation.DRAFTS, speculation.DRAFT_TOKENS) if self.k else ()
        names = (latency.STEP_LATENCY.count, latency.STEP_LATENCY.sum, latency.STEP_TOKENS.count)
        metrics = (*names, latency.TIME_TO_FIRST_TOKEN.count, serving.GENERATION_TOKENS, *of_drafts)
        metrics += (serving.PROMPT_TOKENS,) if self.prompt_tokens else ()
        lines = [f'{m.name}{{engine="0",model_name="{self.model}"}} {self.counts.get(m.name, 0)}' for m in metrics]
        lines.append(f'{serving.REQUESTS_RUNNING.name}{{engine="0",model_name="{self.model}"}} 0')
        return "\n".join(lines) + "\n"
