"""What an alert is: which signal, beyond which of its thresholds, under which traffic, and what explains it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from draftboard.expr.tree import Expr, setting
from draftboard.settings import Settings
from draftboard.signals import Level, Signal
from draftboard.signals.requests import request_rate
from draftboard.signals.traffic import drafts, generation_tokens

LEAST_DRAFTS = setting(lambda settings: settings.traffic.drafts_per_second)
LEAST_REQUESTS = setting(lambda settings: settings.traffic.requests_per_second)

enough_drafts = drafts > LEAST_DRAFTS
"""Drafts enough for a ratio of them."""
enough_tokens = generation_tokens > setting(lambda settings: settings.traffic.tokens_per_second)
"""Tokens enough to call it traffic."""
enough_requests = request_rate > LEAST_REQUESTS
"""Finished requests enough for a ratio of them."""


@dataclass(frozen=True, kw_only=True)
class Alert:
    """Fires while `signal operator limit` holds under the guard's traffic."""

    name: str
    signal: Signal
    operator: Literal["<", ">", "=="]
    limit: Callable[[Settings], float]
    level: Level = Level.MODEL
    guard: Expr | None = enough_drafts
    """Least traffic worth a judgement; None where silence is the very thing to report."""
    watched: Expr | None = None
    """What of the signal is watched, where not all."""
    summary: str
    description: str
    """What is told of {who}; {value} is what the signal measures, humanised for its unit."""
    dashboard: str
    explained_by: tuple[str, ...] = ()
    """Alerts that say why: while one of them fires on the same labels, this one need not reach anybody."""
