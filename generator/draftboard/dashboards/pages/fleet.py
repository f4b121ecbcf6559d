"""Thousands of engines: their counts, the worst in a table, those that needed somebody, and how much they differ."""

from draftboard.dashboards.page import Page, row
from draftboard.dashboards.panels import bar_chart, table, timeline, totals, trend, trends
from draftboard.dashboards.summary import summary
from draftboard.signals import (
    Edition,
    Level,
    acceptance,
    capacity,
    comparison,
    depth,
    fleet,
    health,
    latency,
    requests,
    states,
    steps,
    traffic,
)

_MOST = 50
"""Rows of the table, of which each is sent in nine answers: they bound what a browser receives."""

PAGE = Page(
    question="Which of many engines needs attention, and how much do the engines of a model differ?",
    lines=(5, 10, 25),
    # Raw series of hundreds of engines cost too much.
    editions=(Edition.RECORDS,),
    rows=(
        row(
            "",
            *summary(9, 8, 7),
            table(
                "Engines by health",
                *(health.health, acceptance.acceptance_length, fleet.length_margin),
                *(depth.first_position, depth.last_position),
                *(traffic.generation_tokens, capacity.kv_cache_usage, latency.per_token.mean),
                worst=(health.health, fleet.length_margin),
                filled=(health.health,),
                description=f"The current state of the {_MOST} worst engines; a figure links to the page that explains "
                "it for this engine.",
                action="Start at the top: the worst rows come first. Select the model or instance "
                "of another engine above to see it.",
                level=Level.ENGINE,
                most=_MOST,
                height=18,
            ),
        ),
        row(
            "Which engines needed somebody, and when?",
            totals(states.engines_by_state, width=24),
            timeline(health.unwell, lasting_first=True),
        ),
        row(
            "Which engines are worst?",
            # By the margin itself, its query would be too long to read.
            trend(fleet.length_margin, level=Level.ENGINE, worst=acceptance.acceptance_length, height=11),
            *trends(
                *(comparison.length_to_others, latency.per_token.mean),
                *(capacity.kv_cache_usage, requests.requests_waiting, steps.step_time_change),
                level=Level.ENGINE,
                height=11,
            ),
        ),
        row(
            "How much do the engines of a model differ?",
            *(bar_chart(spread) for spread in fleet.SPREADS.values()),
            collapsed=True,
        ),
    ),
)
