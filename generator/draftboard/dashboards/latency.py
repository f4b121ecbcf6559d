"""Do users wait, do requests fail, and are the promises kept?"""

from draftboard.grafana import Dashboard, Page
from draftboard.settings import Settings
from draftboard.signals import Edition, Level
from draftboard.signals.events import restarts
from draftboard.signals.latency import decode, end_to_end, first_token, inference, per_token, prefill, queue, step
from draftboard.signals.requests import error_ratio, http_error_ratio, http_requests, request_rate, requests_finished
from draftboard.signals.slo import BURNS, attainment, budget_left, burning_fast, burning_slowly, error_ratio_now
from draftboard.signals.state import target_up
from draftboard.signals.users import measured_speedup, tail_change


def latency(settings: Settings, edition: Edition) -> Dashboard:
    """What users feel first, then the promises, then where the time goes."""
    page = Page(
        settings=settings,
        edition=edition,
        subject="latency",
        title="Draftboard / Latency",
        description="Do users wait, do requests fail, and are the promises kept?",
        by_engine=True,
    )
    page.row(
        "Do users wait?",
        page.table(
            "Each model: what its users feel",
            request_rate,
            error_ratio,
            first_token.mean,
            first_token.p50,
            first_token.p99,
            per_token.mean,
            per_token.p50,
            per_token.p99,
            per_token.tail,
            end_to_end.p99,
            queue.mean,
            measured_speedup,
        ),
        page.percentiles(first_token),
        page.heatmap(first_token.buckets),
        page.percentiles(per_token),
        page.heatmap(per_token.buckets),
        page.percentiles(end_to_end),
        page.heatmap(end_to_end.buckets),
    )
    page.row(
        "Are the promises kept?",
        page.table(
            "Each promise: kept, and what is left of its budget", attainment, budget_left, burning_fast, burning_slowly
        ),
        page.trend(error_ratio_now),
        page.trend(budget_left),
        page.trend(BURNS["1h"]),
        page.trend(BURNS["6h"]),
        page.trend(BURNS["1d"]),
        page.trend(BURNS["3d"]),
    )
    page.row(
        "Are some served much worse than others?",
        page.trend(first_token.tail),
        page.trend(per_token.tail),
        page.trend(step.tail),
        page.trend(end_to_end.tail),
        page.stat(tail_change, width=24),
    )
    page.row(
        "Are requests answered?",
        page.trend(request_rate),
        page.trend(error_ratio),
        page.trend(requests_finished, stacked=True),
        page.trend(http_requests, stacked=True),
        page.trend(http_error_ratio),
        page.timeline(target_up),
        page.trend(restarts, level=Level.TARGET, width=24),
    )
    page.row(
        "How long is a step, and where does the time go?",
        page.percentiles(step),
        page.heatmap(step.buckets),
        page.percentiles(queue),
        page.percentiles(prefill),
        page.percentiles(decode),
        page.percentiles(inference),
    )
    page.row(
        "Is time measured finely enough?",
        page.table(
            "Each model: share of samples below the first bound",
            *(one.unresolved for one in (first_token, per_token, step, end_to_end)),
            *(one.unresolved for one in (queue, prefill, decode, inference)),
        ),
        collapsed=True,
    )
    page.row(
        "How are the other times distributed?",
        *(page.heatmap(one.buckets) for one in (queue, prefill, decode, inference)),
        page.trend(queue.tail),
        page.trend(prefill.tail),
        page.trend(decode.tail),
        page.trend(inference.tail),
        collapsed=True,
    )
    return page.build()
