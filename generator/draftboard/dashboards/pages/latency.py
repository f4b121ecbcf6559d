"""Latency and SLOs of users, then failed requests, then where the time goes."""

from draftboard.dashboards.page import Page, row
from draftboard.dashboards.panels import (
    failures,
    needs_first,
    percentile_table,
    ranges,
    table,
    timeline,
    totals,
    trends,
)
from draftboard.signals import Level, capacity, events, lengths, requests, responses, slo, stalls, states, steps, users
from draftboard.signals.latency import (
    PARTS,
    end_to_end,
    end_to_end_tail,
    first_token,
    first_token_tail,
    per_token,
    per_token_tail,
    step,
)

_WAITS = (first_token, per_token, end_to_end)

PAGE = Page(
    question="Do users wait, do requests fail, and are the SLOs met?",
    worst=per_token.mean,
    rows=(
        row("", needs_first(width=24)),
        row(
            "Do users wait?",
            table(
                "Latency by model",
                requests.error_ratio,
                *(first_token.mean, *first_token.bounds(99), per_token.mean, *per_token.bounds(99)),
                *(end_to_end.mean, users.measured_speedup),
                worst=(per_token.mean,),
                description="How long each model's requests take, and how many fail: exact means, and P99 between the "
                "bounds of its bucket.",
                action="Where P99 is far above the mean, look at the charts of that latency.",
            ),
            *trends(*(wait.mean for wait in _WAITS), width=8),
            percentile_table(*_WAITS),
            # Of the median the mean beside it says nearly all, and each percentile reads all buckets twice.
            *(ranges(wait, least=95) for wait in _WAITS),
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
            "Are requests answered?",
            *trends(requests.request_rate, requests.unfinished),
            *failures(requests.error_ratio, stalls.stuck, states.servers_down, width=8),
            totals(requests.requests_finished),
            totals(responses.http_requests),
            *trends(requests.cut_off, capacity.prompt_length, capacity.answer_length, width=8),
        ),
        row(
            "Which servers fail, and when?",
            *failures(responses.http_error_ratio, stalls.unanswered, events.interruptions, width=8),
            timeline(states.target_up),
            collapsed=True,
        ),
        row(
            "How long are prompts and answers, the longest too?",
            *trends(lengths.longest_prompts, lengths.longest_answers),
            collapsed=True,
        ),
        row("How long is a step, and where does the time go?", *trends(step.mean, *PARTS)),
        row(
            "Are some requests much slower than others?",
            *trends(first_token_tail, per_token_tail, end_to_end_tail, users.tail_change),
            collapsed=True,
        ),
        row(
            "Has an engine become slow?",
            *trends(steps.step_time_change, steps.step_time_by_batch, level=Level.ENGINE),
            collapsed=True,
        ),
    ),
)
