"""A sweep as typed objects; JSON is made of these same objects.

Shares run from 0 to 1, times are in seconds. None says that something is not known.
"""

from dataclasses import dataclass

from draftboard.report import ModelReport, Sample, Verdict
from draftboard.sweep.spread import Spread

SCHEMA_VERSION = 1
"""Grows whenever a field is removed or means something else; new fields do not change it."""


@dataclass(frozen=True, kw_only=True)
class PerRequest:
    """What responses say of their own drafts, where the server is told to say it."""

    requests: int
    """Responses that say it."""
    undrafted: int
    """Those of them without a single draft: they have no acceptance."""
    sample: Sample | None
    """Their drafts together."""
    histogram: tuple[int, ...]
    """Drafts with exactly 0, 1, 2, ... accepted tokens."""
    acceptance: Spread | None
    """Of requests, each counted once however long it is."""
    acceptance_length: Spread | None
    """1 + accepted tokens / drafts, of the same requests."""
    step_acceptance: Spread | None
    """Of drafts, each counted once: not the acceptance of them together where drafts differ in length. Known where the
    server tells in detail."""


@dataclass(frozen=True, kw_only=True)
class Tagged:
    """The requests of one tag."""

    tag: str
    requests: int
    """Sent and ended."""
    answered: int
    time_per_token: Spread | None
    drafts: PerRequest | None
    verdict: Verdict | None
    """None where responses do not tell of drafts."""


@dataclass(frozen=True, kw_only=True)
class Foreign:
    """What the server did in the meantime that no response of ours explains."""

    generated: float
    """Tokens that the server counted."""
    unexplained_tokens: float
    """Those beyond our responses, and beyond what requests without a response may have had; negative: it counted less
    than it answered with."""
    unexplained_requests: float | None
    """Finished requests beyond ours."""
    unexplained_drafts: float | None
    """Drafts beyond those that our responses tell of; known where all of them tell. One a request is let pass."""
    running: float
    """Requests that the server had running before ours began or after they had ended."""
    tolerance: float
    """Share of tokens above which this counts as foreign traffic."""
    found: bool
    """Whether there is foreign traffic in the numbers."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One temperature."""

    temperature: float
    requests: int
    """To be sent."""
    answered: int
    """With a completion."""
    failures: dict[str, int]
    """Requests without one, by HTTP status or reason."""
    given_up: int
    """Requests broken off by an interruption."""
    tokens: int
    """Of all completions."""
    seconds: float
    """From the first request to the last answer."""
    tokens_per_second: float | None
    """Of all requests together."""
    time_per_token: Spread | None
    """Of requests, as the client saw it: from sending to the last byte, over tokens; queue and prompt included."""
    server: ModelReport
    """What the server's counters grew by, and the verdict on it, in the words of `draftboard report`."""
    rule_of_thumb: str | None
    """What acceptance alone would say; None where there is no verdict. Knows neither draft length nor cost."""
    by_request: PerRequest | None
    """None where responses do not tell of drafts."""
    by_tag: tuple[Tagged, ...]
    """Empty where prompts carry no tag."""
    foreign: Foreign | None
    """None where the counters do not tell: after a restart, or where they are not exposed."""
    notes: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Production:
    """The verdict at the temperature of production."""

    temperature: float
    measured_at: float
    """The nearest temperature that was swept."""
    verdict: Verdict
    rule_of_thumb: str | None
    warnings: tuple[str, ...]
    """Why it may be otherwise in production."""


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """A sweep as far as it came."""

    schema_version: int
    server: str
    """Its address; credentials are left out."""
    model: str
    """As it was asked for."""
    prompts: int
    prompts_source: str
    concurrency: int
    max_tokens: int
    warm_up: int
    """Requests before each temperature that no number counts."""
    rows: tuple[Row, ...]
    """By temperature, in the order of the sweep."""
    production: Production | None
    """None where no production temperature was named, or nothing was measured."""
    interrupted: bool
    """Whether it was ended before its time."""
    failure: str | None
    """What ended it, where that was no person."""
    notes: tuple[str, ...]
