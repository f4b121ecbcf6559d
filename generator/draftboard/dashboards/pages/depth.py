"""Acceptance by position, the speedup of each draft length, both over time, then by engine."""

from draftboard.dashboards.page import Page, row
from draftboard.dashboards.panels import bar_chart, bars, listing, needs_first, scatter, table, timeline, trend, trends
from draftboard.signals import (
    Level,
    acceptance,
    capacity,
    classes,
    comparison,
    depth,
    drafting,
    gains,
    integrity,
    states,
    traffic,
)

PAGE = Page(
    question="Up to which position are drafts accepted, and how long should they be?",
    drafting=True,
    rows=(
        row("", needs_first(width=24)),
        row(
            "Up to which position are drafts accepted now?",
            *bars(depth.survival, depth.conditional_acceptance, depth.accepted_length_share, width=8),
            *bars(depth.tokens_per_step_at, depth.acceptance_by_position),
        ),
        row(
            "Which draft length would be best?",
            bar_chart(gains.gain_at),
            bar_chart(gains.what_if_speedup, title="Speedup at each k if c is $draft_cost and v is $verify_inflation"),
            table(
                "Draft length by model",
                *(drafting.lowest_k, drafting.configured_k, acceptance.draft_length, gains.best_k_or_none),
                *(gains.shorter_gain, gains.shorter_gain_high),
                *(gains.longer_gain, gains.longer_gain_high),
                depth.first_position,
                worst=(gains.shorter_gain,),
                description="How long each model's drafts are, and what another K would gain at likely costs.",
                action="Where a gain is above 1 + thresholds.gain at least, try that K.",
            ),
            *trends(gains.best_k, depth.alpha_hat),
        ),
        row(
            "How has acceptance changed?",
            trend(depth.survival, width=24),
            *trends(depth.first_position, depth.last_position),
        ),
        row(
            "Do drafts follow the load?",
            scatter(capacity.batch, acceptance.draft_length),
            scatter(capacity.batch, acceptance.acceptance_length),
            collapsed=True,
        ),
        row(
            "Whom does speculation help?",
            table(
                "Classes of requests",
                *(classes.class_share, classes.class_acceptance, classes.class_length),
                *(classes.class_speedup_low, classes.class_speedup_high, classes.class_time_per_token),
                worst=(classes.class_length,),
                description="Each model's requests by temperature, prompt length, served name and one header, as the "
                "lens counts them.",
                action="Where a class loses, serve it without speculation or with a shorter K.",
            ),
            *trends(acceptance.acceptance, classes.class_acceptance, classes.class_tokens, width=8),
            *trends(classes.class_prompt, classes.lens_coverage, classes.lens_missed, width=8),
            collapsed=True,
        ),
        row(
            "Is one engine different?",
            timeline(states.state, level=Level.ENGINE),
            trend(comparison.length_to_others, level=Level.ENGINE),
            *trends(
                *(acceptance.acceptance_length, traffic.drafts, drafting.current_k),
                level=Level.ENGINE,
                worst=acceptance.acceptance_length,
            ),
            trend(integrity.identity_error, level=Level.ENGINE, width=24),
            listing(drafting.drafting),
            collapsed=True,
        ),
    ),
)
