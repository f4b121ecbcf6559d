"""Hundreds of engines: each in a table, those that were not well, the ten worst, and how far they are apart."""

from draftboard.dashboards.page import Page, row
from draftboard.dashboards.panels import bar_chart, table, timeline, totals, trend, trends
from draftboard.dashboards.summary import summary
from draftboard.signals import (
    Edition,
    Level,
    acceptance,
    capacity,
    comparison,
    decisions,
    depth,
    fleet,
    latency,
    requests,
    steps,
    traffic,
)

PAGE = Page(
    question="Which of many engines needs somebody, and how far apart are the engines of a model?",
    lines=(10, 25),
    # Raw series of hundreds of engines cost too much.
    editions=(Edition.RECORDS,),
    rows=(
        row(
            "",
            *summary(9, 8, 7),
            table(
                "Engines by standing",
                *(fleet.engine_standing, acceptance.acceptance_length, fleet.length_margin),
                *(depth.first_position, depth.last_position),
                *(traffic.generation_tokens, capacity.kv_cache_usage, latency.per_token.p99),
                worst=(fleet.engine_standing, fleet.length_margin),
                filled=(fleet.engine_standing,),
                linked={
                    acceptance.acceptance_length: ("depth", "How deep are its drafts accepted?"),
                    latency.per_token.p99: ("latency", "Where does its time go?"),
                    capacity.kv_cache_usage: ("capacity", "How full is its KV cache, and who waits?"),
                    fleet.engine_standing: ("overview", "Does speculation pay for its model?"),
                },
                says="How each engine does now; a figure links to the page that explains it, of this engine.",
                action="Start at the top: the worst rows come first.",
                height=18,
            ),
        ),
        row(
            "Which engines were not well, and when?",
            totals(decisions.engines_by_state, width=24),
            timeline(fleet.not_well, lasting_first=True),
        ),
        row(
            "Which engines are worst?",
            *trends(
                *(fleet.length_margin, comparison.length_to_others, latency.per_token.p99),
                *(capacity.kv_cache_usage, requests.requests_waiting, steps.step_time_change),
                level=Level.ENGINE,
                height=11,
            ),
        ),
        row(
            "How far apart are the engines of a model?",
            *(panel for spread in fleet.SPREADS.values() for panel in (bar_chart(spread), trend(spread))),
            collapsed=True,
        ),
    ),
)
