"""Latency and SLOs of users, then failed requests, then where the time goes."""

from draftboard.dashboards.page import Page, row
from draftboard.dashboards.panels import (
    distributions,
    failures,
    heatmap,
    percentiles,
    table,
    timeline,
    totals,
    trend,
    trends,
)
from draftboard.signals import Level, events, requests, responses, slo, stalls, states, steps, users
from draftboard.signals.latency import decode, end_to_end, first_token, inference, per_token, prefill, queue, step

_PARTS = (queue, prefill, decode, inference)

PAGE = Page(
    question="Do users wait, do requests fail, and are the SLOs met?",
    worst=per_token.p99,
    rows=(
        row(
            "Do users wait?",
            table(
                "Latency by model",
                *(requests.request_rate, requests.error_ratio, first_token.p99),
                *(per_token.p50, per_token.p99, per_token.tail, end_to_end.p99, users.measured_speedup),
                worst=(per_token.p99,),
                description="How long each model's requests take, and how many fail; percentiles are estimated within "
                "a bucket.",
                action="Where P99 is far above P50, look at the graphs of that latency.",
            ),
            *distributions(first_token, per_token, end_to_end),
        ),
        row(
            "Are the SLOs met?",
            table(
                "Attainment and error budget by SLO",
                *(slo.attainment, slo.budget_left, slo.burn_now),
                *(slo.burning_fast, slo.burning_slowly, slo.time_left),
                worst=(slo.budget_left,),
                description="Share of requests that met each SLO in its window, and what is left of its error budget.",
                action="Act now on a fast burn, today on a slow one.",
            ),
            *trends(slo.error_ratio_now, slo.budget_left),
        ),
        row("How fast do error budgets burn?", *trends(*slo.BURNS.values()), collapsed=True),
        row(
            "Are some requests much slower than others?",
            *trends(first_token.tail, per_token.tail, end_to_end.tail, users.tail_change),
        ),
        row(
            "Are requests answered?",
            *trends(requests.request_rate, requests.unfinished),
            *failures(requests.error_ratio, stalls.stuck, states.servers_down, width=8),
            totals(requests.requests_finished),
            totals(responses.http_requests),
            trend(requests.cut_off, width=24),
        ),
        row(
            "Which servers fail, and when?",
            *failures(responses.http_error_ratio, stalls.unanswered, events.interruptions, width=8),
            timeline(states.target_up),
            collapsed=True,
        ),
        row("How long is a step, and where does the time go?", *distributions(step), *percentiles(*_PARTS)),
        row(
            "Has an engine become slow?",
            *trends(steps.step_time_change, steps.step_time_by_batch, level=Level.ENGINE),
            collapsed=True,
        ),
        row(
            "Are the histogram buckets fine enough?",
            table(
                "Share of samples below the first bound",
                *(each.unresolved for each in (first_token, per_token, step, end_to_end, *_PARTS)),
                worst=(per_token.unresolved,),
                description="Share of samples under each histogram's first bound, where a percentile is unknown.",
                action="Where it is large, use finer buckets: vLLM's --custom-histogram-buckets (0.32 and newer).",
            ),
            collapsed=True,
        ),
        row(
            "How are the other times distributed?",
            *(heatmap(part.buckets) for part in _PARTS),
            *trends(*(part.tail for part in _PARTS)),
            trend(step.tail, width=24),
            collapsed=True,
        ),
    ),
)
