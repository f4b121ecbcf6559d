"""Who needs somebody first, since when and what to do; then what users get, and what explains it."""

from draftboard.dashboards.page import Page, row
from draftboard.dashboards.panels import (
    bar_chart,
    firing_alerts,
    measured_or_expected,
    next_first,
    table,
    timeline,
    together,
    totals,
    trends,
    who_first,
    worst_first,
)
from draftboard.dashboards.summary import summary
from draftboard.signals import (
    acceptance,
    capacity,
    causes,
    comparison,
    costs,
    depth,
    drafting,
    economics,
    gains,
    health,
    latency,
    next_steps,
    overview,
    requests,
    states,
    traffic,
    users,
)
from draftboard.status import Status

_ALERTED = frozenset({Status.ODD})
"""Of the bands of acceptance only the one on which an alert fires: the others do not compare drafters."""
_MODELS, _, _ALERTS = summary(7, 0, 5)

PAGE = Page(
    question="Which model needs somebody first, since when, and what should change?",
    drafting=True,
    rows=(
        row(
            "",
            *(who_first(width=6), next_first(width=6)),
            *(_MODELS, _ALERTS),
            table(
                "Models, worst first",
                *(health.health, health.health_age, next_steps.next_step, causes.health_cause, overview.speedup),
                *(drafting.configured_k, acceptance.acceptance, acceptance.acceptance_length),
                *(latency.per_token.mean, latency.first_token.mean, capacity.kv_cache_usage),
                *(requests.requests_waiting, traffic.generation_tokens),
                worst=(traffic.generation_tokens,),
                by_rank=True,
                leading=(health.health, health.health_age),
                beside_name=(next_steps.next_step, causes.health_cause),
                filled=(health.health,),
                plain=(acceptance.acceptance,),  # Its bands do not compare drafters.
                height=11,
                description="Health of each model, since when, what to do first, and the figures behind it.",
                action=f"Start at the top; each cell opens the page that explains it. {next_steps.next_gain.action}",
            ),
            worst_first(health.health, width=12),
            totals(states.engines_by_state, width=4, height=9),
            firing_alerts(width=8),
        ),
        row(
            "What do users get, and what does it cost?",
            measured_or_expected(overview.speedup, users.measured_speedup, economics.expected_speedup_low, width=16),
            bar_chart(depth.survival, width=8),
            *(
                together(signal, width=6)
                for signal in (latency.per_token.mean, latency.first_token.mean, capacity.kv_cache_usage)
            ),
            together(acceptance.acceptance, width=6, zones=_ALERTED),
        ),
        row(
            "Does a decode step yield enough?",
            table(
                "Yield of a step by model",
                *(acceptance.tokens_per_step, economics.step_cost_low, economics.step_cost_high),
                *(economics.expected_speedup_low, economics.expected_speedup_high),
                *(acceptance.acceptance_length, traffic.drafts_in_window),
                *(gains.best_k, gains.best_speedup),
                worst=(economics.expected_speedup_low,),
                description="Tokens per decode step, what a step may cost, and the drafts behind them.",
                action="Where it yields less than the least cost, shorten K or change the drafter.",
            ),
            table(
                "Savings by model",
                *(overview.speedup, overview.verdict_basis, overview.gpus_saved, overview.money_saved),
                worst=(overview.speedup,),
                description="What speculation gains, what that rests on, and what it saves under load.",
                action="Run a baseline where the basis is assumed.",
                height=7,
            ),
            *trends(acceptance.tokens_per_step, costs.step_cost),
            *trends(economics.expected_speedup_low, economics.expected_speedup_high),
            *trends(acceptance.acceptance_length, acceptance.coverage),
            collapsed=True,
        ),
        row(
            "How much is drafted, accepted and wasted?",
            totals(
                traffic.accepted_tokens,
                traffic.wasted_tokens,
                description="Drafted tokens per second that the target model accepted, and that it rejected.",
                width=8,
            ),
            *trends(traffic.drafts, traffic.generation_tokens, width=8),
            collapsed=True,
        ),
        row(
            "What has changed?",
            timeline(states.state),
            *trends(comparison.acceptance_change, comparison.length_anomaly, width=6),
            collapsed=True,
        ),
    ),
)
