"""What an alert is: which signal, beyond which of its thresholds, under which traffic, and what explains it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from draftboard.expr.promql import binary, number
from draftboard.settings import Settings
from draftboard.signals import Level, Scope, Signal
from draftboard.signals.requests import request_rate
from draftboard.signals.traffic import drafts, generation_tokens


def more_than(rate: str, least: float) -> str:
    """Where a rate is over a minimum."""
    return binary(rate, ">", number(least))


def enough_drafts(s: Scope) -> str:
    """Drafts enough for a ratio of them."""
    return more_than(s(drafts), s.settings.traffic.drafts_per_second)


def enough_tokens(s: Scope) -> str:
    """Tokens enough to call it traffic."""
    return more_than(s(generation_tokens), s.settings.traffic.tokens_per_second)


def enough_requests(s: Scope) -> str:
    """Finished requests enough for a ratio of them."""
    return more_than(s(request_rate), s.settings.traffic.requests_per_second)


@dataclass(frozen=True, kw_only=True)
class Alert:
    """Fires while `signal operator limit` holds under the guard's traffic."""

    name: str
    signal: Signal
    operator: Literal["<", ">", "=="]
    limit: Callable[[Settings], float]
    level: Level = Level.MODEL
    guard: Callable[[Scope], str] | None = enough_drafts
    """Least traffic worth a judgement; None where silence is the very thing to report."""
    watched: Callable[[Scope, Signal], str] = lambda s, signal: s(signal)
    summary: str
    description: str
    """What is told of {who}; {value} is what the signal measures, humanised for its unit."""
    dashboard: str
    explained_by: tuple[str, ...] = ()
    """Alerts that say why: while one of them fires on the same labels, this one need not reach anybody."""
