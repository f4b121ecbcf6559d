"""A server's counters before and after our requests, and the traffic of others in between."""

from collections.abc import Iterator

from draftboard.catalogue import Metric, serving, speculation
from draftboard.reading import Growth, Page, Since, growth
from draftboard.reading.fetch import scrape
from draftboard.settings import Settings
from draftboard.sweep.client import Api, Batch
from draftboard.sweep.plan import Plan
from draftboard.sweep.result import Foreign

_PAUSE, _TRIES = 0.2, 15


def page_of(api: Api) -> Page:
    """The server's page now."""
    return scrape([str(api.base)], api.access)[0]


def settled_page(api: Api, since: Page, batch: Batch) -> Page:
    """The server's page once it is idle and has counted its responses, which takes a moment."""
    for _ in range(_TRIES):
        page = page_of(api)
        counted = total(growth(since, page), serving.GENERATION_TOKENS)
        if (counted is None or counted >= batch.tokens) and not running_on(page):
            return page
        api.sleep(_PAUSE)
    return page_of(api)


def total(grown: Growth, metric: Metric) -> float | None:
    """Growth of a counter over all engines; None where no engine exposes it."""
    totals = [growth for tally in grown.tallies if (growth := tally.total(metric)) is not None]
    return sum(totals) if totals else None


def running_on(page: Page) -> float:
    """Requests running or waiting on the server."""
    return sum(sum(page.of(metric).values()) for metric in (serving.REQUESTS_RUNNING, serving.REQUESTS_WAITING))


def foreign(plan: Plan, settings: Settings, before: Page, after: Page, batch: Batch) -> Foreign | None:
    """Traffic beyond our requests; None without the counters for it, or after a restart."""
    grown = growth(before, after)
    generated, finished = total(grown, serving.GENERATION_TOKENS), total(grown, serving.REQUESTS_FINISHED)
    if generated is None or any(tally.since is Since.RESTART for tally in grown.tallies):
        return None
    lost, tokens = batch.begun - len(batch.answers), generated - batch.tokens
    if tokens > 0:
        # A request without a response may have generated up to max_tokens, and may be running still.
        tokens = max(tokens - lost * plan.max_tokens, 0.0)
    requests = None if finished is None else max(finished - batch.begun, 0.0)
    running = running_on(before) + (0.0 if lost else running_on(after))
    tolerance, counted, drafts = settings.thresholds.foreign, total(grown, speculation.DRAFTS), None
    reported = [answer.drafts.num_spec_steps for answer in batch.answers if answer.drafts]
    if counted is not None and reported and len(reported) == batch.begun:
        drafts = max(counted - sum(reported), 0.0)
    many = tokens > tolerance * generated or (drafts or 0.0) > tolerance * (counted or 0.0) + batch.begun
    return Foreign(generated, tokens, requests, drafts, running, tolerance, found=bool(requests or running) or many)


def foreign_notes(traffic: Foreign | None) -> Iterator[str]:
    """Notes on traffic of others, and on counts below ours."""
    if traffic and traffic.unexplained_tokens < -traffic.tolerance * traffic.generated:
        yield (
            f"the server counted {-traffic.unexplained_tokens:,.0f} tokens fewer than it returned: is this a load "
            "balancer? Use the address of a single server"
        )
    elif traffic and traffic.found:
        counts = {"requests": traffic.unexplained_requests, "tokens": traffic.unexplained_tokens}
        counts |= {"drafts": traffic.unexplained_drafts, "running requests": traffic.running}
        parts = [f"{count:,.0f} {what}" for what, count in counts.items() if count and count > 0]
        yield (
            f"foreign traffic: {', '.join(parts)} besides ours (tolerance: {traffic.tolerance:.0%} of tokens); these "
            "numbers are not of our requests alone"
        )
