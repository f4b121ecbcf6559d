"""How deep are drafts accepted, and how long should they be?"""

from draftboard.grafana import Dashboard, Page
from draftboard.settings import Settings
from draftboard.signals import Edition, Level
from draftboard.signals.acceptance import acceptance, acceptance_length, draft_length
from draftboard.signals.comparison import length_to_others
from draftboard.signals.decisions import state
from draftboard.signals.depth import (
    accepted_length_share,
    alpha_hat,
    conditional_acceptance,
    configured_k,
    first_position,
    last_position,
    survival,
    tokens_per_step_at,
)
from draftboard.signals.economics import best_k, draft_cost, speedup_at, what_if_speedup
from draftboard.signals.integrity import identity_error
from draftboard.signals.traffic import accepted_tokens_per_pos, drafts


def depth(settings: Settings, edition: Edition) -> Dashboard:
    """By position now and over time, what each k yields and gains, then engine by engine."""
    page = Page(
        settings=settings,
        edition=edition,
        subject="depth",
        title="Draftboard / Depth",
        description="How deep are drafts accepted, and how long should they be?",
        by_engine=True,
        what_if=True,
    )
    page.row(
        "How deep are drafts accepted now?",
        page.bars(survival),
        page.bars(conditional_acceptance),
        page.bars(accepted_length_share),
    )
    page.row(
        "Which draft length would be best?",
        page.bars(tokens_per_step_at),
        page.bars(speedup_at),
        page.bars(what_if_speedup),
        page.table(
            "Each model: how long are its drafts, and how long should they be?",
            configured_k,
            draft_length,
            best_k,
            first_position,
            last_position,
            draft_cost,
        ),
        page.trend(best_k, draft_length),
        page.trend(alpha_hat),
    )
    page.row(
        "How has it changed?",
        page.trend(survival),
        page.trend(conditional_acceptance),
        page.trend(accepted_length_share),
        page.trend(accepted_tokens_per_pos),
        page.trend(first_position),
        page.trend(last_position),
    )
    page.row(
        "Is one engine different?",
        page.timeline(state, level=Level.ENGINE),
        page.trend(length_to_others, level=Level.ENGINE),
        page.trend(acceptance_length, level=Level.ENGINE),
        page.trend(acceptance, level=Level.ENGINE),
        page.trend(survival, level=Level.ENGINE),
        page.trend(drafts, level=Level.ENGINE),
        page.trend(identity_error, level=Level.ENGINE, width=24),
        collapsed=True,
    )
    return page.build()
