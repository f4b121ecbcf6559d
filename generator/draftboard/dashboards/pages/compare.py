"""Variants of one model beside each other and their baseline: who wins, is it certain, is the load alike."""

from draftboard.dashboards.page import Page, row
from draftboard.dashboards.panels import bars, table, tiles, timeline, trends, variant_bars
from draftboard.signals import Edition, acceptance, alike, capacity, requests, steps, users, versus
from draftboard.signals.latency import end_to_end, first_token, per_token

_USERS_WAIT = (per_token.mean, end_to_end.mean)
"""Every variant has them, the baseline too. Where each has a speedup as well, a variant has one colour on the page."""

PAGE = Page(
    question="Which variant of a model is best, by how much, and how certain is that?",
    worst=per_token.mean,
    one_model=True,
    with_baseline=True,
    # Intervals reach back for days, which raw series cannot afford.
    editions=(Edition.RECORDS,),
    rows=(
        row(
            "",
            tiles(
                versus.best_variant.title,
                *(versus.best_variant, versus.best_low, versus.best_high),
                level=None,
                else_why=True,
                width=9,
                description=versus.best_variant.description,
                action=versus.best_variant.action,
            ),
            tiles(
                versus.lead.title,
                *(versus.lead, versus.lead_low, versus.intervals_apart),
                level=None,
                width=7,
                description=versus.lead.description,
                action=versus.lead.action,
            ),
            tiles(
                "Likeness of the load",
                *(versus.load_spread, versus.most_waiting),
                level=None,
                width=8,
                description=versus.load_spread.description,
                action=versus.load_spread.action,
            ),
            *map(variant_bars, (versus.ranked_speedup, *_USERS_WAIT)),
            table(
                "Variants by measured speedup",
                *(versus.ranked_speedup, users.speedup_low, users.speedup_high, versus.expected),
                *(first_token.mean, per_token.mean, end_to_end.mean),
                *(acceptance.tokens_per_step, capacity.batch, versus.cost_of_tokens),
                worst=(versus.ranked_speedup,),
                best_first=True,
                height=7,
                description="What each variant gains, with its 95 % interval, and how long users wait. Tokens have a "
                "cost only while requests wait.",
                action="Choose the first one if its interval lies above the next one's; else measure longer.",
            ),
        ),
        row("Has that been so all the time?", *trends(versus.speedup_over_time, *_USERS_WAIT, width=8)),
        row(
            "What does a step cost at each batch?",
            *bars(steps.step_time_by_batch, versus.step_cost_by_batch),
            collapsed=True,
        ),
        row(
            "Are load and requests alike, and how much capacity is left?",
            *trends(capacity.batch, requests.request_rate, capacity.kv_cache_usage, width=8),
            timeline(alike.objection),
            *trends(capacity.answer_length),
        ),
    ),
)
