"""Where each model stands and what to do, then trends, then what explains them."""

from draftboard.dashboards.page import Page, row
from draftboard.dashboards.panels import firing_alerts, percentile, table, timeline, totals, trend, trends, worst_first
from draftboard.dashboards.summary import summary
from draftboard.signals import (
    acceptance,
    comparison,
    costs,
    drafting,
    economics,
    health,
    latency,
    overview,
    requests,
    states,
    traffic,
    users,
)
from draftboard.status import Status

_ALERTED = frozenset({Status.ODD})
"""Of the bands of acceptance only the one on which an alert fires: the others do not compare drafters."""

PAGE = Page(
    question="Is speculative decoding paying off, for which model, and what should change?",
    drafting=True,
    rows=(
        row(
            "",
            *summary(9, 8, 7),
            worst_first(health.health),
            firing_alerts(),
            table(
                "Health and next step by model",
                *(health.health, overview.next_step, users.measured_speedup, economics.expected_speedup),
                *(overview.verdict_basis, overview.gpus_saved, overview.money_saved),
                worst=(health.health, economics.expected_speedup),
                filled=(health.health,),
                gauges=(economics.expected_speedup,),
                description="Health of each model, next step, speedup by speculation, and savings.",
                action="Start at the top: the worst rows come first.",
            ),
        ),
        row(
            "How do speedup and load develop?",
            *trends(economics.expected_speedup, traffic.generation_tokens),
            trend(acceptance.acceptance, zones=_ALERTED),
            trend(traffic.wasted_tokens),
            percentile(latency.per_token),
            trend(requests.requests_waiting),
        ),
        row(
            "Does a decode step yield enough?",
            table(
                "Yield of a step by model",
                *(acceptance.tokens_per_step, economics.needed_per_step),
                *(costs.verify_inflation, economics.affordable_inflation),
                *(acceptance.acceptance_length, traffic.drafts_in_window),
                *(drafting.configured_k, economics.best_k, economics.best_speedup),
                worst=(economics.affordable_inflation,),
                description="Tokens per decode step, the break-even, and the drafts behind them.",
                action="Where it yields less, shorten K or change the drafter.",
            ),
            *trends(acceptance.tokens_per_step, costs.step_cost, acceptance.acceptance_length),
            *trends(costs.verify_inflation, economics.affordable_inflation),
            *trends(economics.step_speedup, acceptance.coverage, acceptance.share_from_drafts),
            collapsed=True,
        ),
        row(
            "How much is drafted, accepted and wasted?",
            totals(
                traffic.accepted_tokens,
                traffic.wasted_tokens,
                description="Drafted tokens per second that the target model accepted, and that it rejected.",
            ),
            *trends(traffic.drafts, acceptance.draft_efficiency, acceptance.draft_length),
            collapsed=True,
        ),
        row(
            "What has changed?",
            timeline(states.state),
            totals(states.engines_by_state),
            *trends(comparison.acceptance_change, comparison.length_anomaly),
            collapsed=True,
        ),
    ),
)
