"""What a sweep is to do."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle, islice

from draftboard.access import Access
from draftboard.sweep.prompts import BUILT_IN, Prompt, Prompts

TEMPERATURES = (0.0, 0.4, 0.8, 1.0)
REQUESTS = 20
CONCURRENCY = 4
MAX_TOKENS = 200
WARM_UP = 2
_NOBODY = Access()


@dataclass(frozen=True)
class RequestLimits:
    """How much of an answer is taken, and how long it is waited for."""

    bytes: int = 8_000_000
    """An answer of 200 tokens has 1 kB; with the arrays of every step a few more."""
    seconds: float = 120.0
    """From the connection to the last byte."""


_USUAL = RequestLimits()


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Which server, what is asked of it, and how often."""

    server: str
    """`host:port` or a base address."""
    model: str = ""
    """As the server names it; empty: the first that it serves."""
    temperatures: tuple[float, ...] = TEMPERATURES
    """In this order."""
    requests: int = REQUESTS
    """At each temperature."""
    prompts: Prompts = BUILT_IN
    concurrency: int = CONCURRENCY
    """Requests at a time."""
    max_tokens: int = MAX_TOKENS
    """Of each completion."""
    warm_up: int = WARM_UP
    """Requests before each temperature that no number counts: the first ones compile, and fill caches."""
    production_temperature: float | None = None
    """The one that the verdict is for."""
    method: str = ""
    """How tokens are drafted, which vLLM does not say."""
    access: Access = _NOBODY
    limits: RequestLimits = _USUAL

    @property
    def steps(self) -> int:
        """Requests in all."""
        return len(self.temperatures) * (self.warm_up + self.requests)

    def asked(self, requests: int) -> Iterator[Prompt]:
        """The prompts in turn, the same at each temperature."""
        return islice(cycle(self.prompts.all), requests)
