"""Somebody else's traffic: what a server counted against what our responses explain."""

from collections.abc import Sequence

from draftboard.catalogue import Metric, serving
from draftboard.reading.growth import Growth, Since, Tally
from draftboard.reading.page import Page
from draftboard.report.totals import totals
from draftboard.settings import Settings
from draftboard.sweep.client import Batch
from draftboard.sweep.objects import Foreign


def foreign(before: Page, grown: Growth, batch: Batch, max_tokens: int, settings: Settings) -> Foreign | None:
    """Compare the growth of all a server's engines with a batch of ours; None where the counters do not tell.

    A request without a response may have generated up to max_tokens before it ended, and may be running still.
    """
    sums = totals(grown.tallies)
    if sums.generation_tokens is None or any(tally.since is Since.RESTART for tally in grown.tallies):
        return None
    answers = [outcome.completion for outcome in batch.outcomes if outcome.completion]
    lost = batch.begun - len(answers)
    beyond = sums.generation_tokens - sum(answer.tokens for answer in answers)
    unexplained = max(beyond - lost * max_tokens, 0.0) if beyond > 0 else beyond
    requests = None if sums.requests is None else max(sums.requests - batch.begun, 0.0)
    told = [answer.drafts for answer in answers if answer.drafts]
    drafts = None
    if sums.drafts is not None and answers and len(told) == batch.begun:
        drafts = max(sums.drafts - sum(one.num_spec_steps for one in told), 0.0)
    running = running_on(before) + (0.0 if lost else sums.requests_running or 0.0)
    tolerance = settings.thresholds.foreign
    too_many_tokens = unexplained > tolerance * sums.generation_tokens
    too_many_drafts = (drafts or 0.0) > tolerance * (sums.drafts or 0.0) + batch.begun
    return Foreign(
        generated=sums.generation_tokens,
        unexplained_tokens=unexplained,
        unexplained_requests=requests,
        unexplained_drafts=drafts,
        running=running,
        tolerance=tolerance,
        found=bool(requests or running) or too_many_tokens or too_many_drafts,
    )


def generated(tallies: Sequence[Tally]) -> float | None:
    """Tokens that engines counted; None where they do not tell."""
    return totals(tallies).generation_tokens


def running_on(page: Page) -> float:
    """Requests that a server has running or waiting."""

    def now(metric: Metric) -> float:
        return sum(page.of(metric).values())

    return now(serving.REQUESTS_RUNNING) + now(serving.REQUESTS_WAITING)


def in_words(found: Foreign) -> str | None:
    """What must be known of it to read the numbers; None where the sweep was alone."""
    if found.unexplained_tokens < -found.tolerance * found.generated:
        return (
            f"the server counted {-found.unexplained_tokens:,.0f} tokens fewer than it answered with: is the address "
            "a load balancer's, with several servers behind? Name one of them"
        )
    if not found.found:
        return None
    told = [
        f"{value:,.0f} {what}"
        for value, what in (
            (found.unexplained_requests or 0.0, "requests"),
            (found.unexplained_tokens, "tokens"),
            (found.unexplained_drafts or 0.0, "drafts"),
        )
        if value > 0
    ]
    told += [f"{found.running:,.0f} requests running beside ours"] if found.running else []
    return (
        f"foreign traffic: {', '.join(told)} that no response explains (up to {found.tolerance:.0%} of tokens are let "
        "pass): these numbers are not of this temperature alone"
    )
