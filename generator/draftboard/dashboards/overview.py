"""Is speculation paying off, for which model, and what should change?"""

from draftboard.grafana import Dashboard, Page
from draftboard.settings import Settings
from draftboard.signals import Edition
from draftboard.signals.acceptance import (
    acceptance,
    acceptance_length,
    coverage,
    draft_efficiency,
    draft_length,
    share_from_drafts,
    tokens_per_step,
)
from draftboard.signals.comparison import acceptance_change, length_anomaly, length_baseline
from draftboard.signals.decisions import advice, state, verdict
from draftboard.signals.economics import best_k, best_speedup, break_even, expected_speedup
from draftboard.signals.events import firing_alerts
from draftboard.signals.state import engines_by_state
from draftboard.signals.traffic import accepted_tokens, drafts, generation_tokens, wasted_tokens
from draftboard.signals.users import measured_speedup


def overview(settings: Settings, edition: Edition) -> Dashboard:
    """Verdict and state of each model first, then trends, then where to look."""
    page = Page(
        settings=settings,
        edition=edition,
        subject="overview",
        title="Draftboard / Overview",
        description="Is speculative decoding paying off, for which model, and what should change?",
    )
    page.row(
        "Is speculation paying off?",
        page.table(
            "Each model: verdict, state and what to do",
            state,
            verdict,
            advice,
            expected_speedup,
            acceptance_length,
            break_even,
            acceptance,
            draft_length,
            best_k,
            best_speedup,
            measured_speedup,
            wasted_tokens,
        ),
        page.timeline(state),
        # Of a state that ended there is no last value that would be true, but how many engines it had.
        page.trend(engines_by_state, stacked=True, calcs=("max",)),
    )
    page.row(
        "How is it going?",
        page.trend(acceptance_length, break_even),
        page.trend(expected_speedup),
        page.trend(acceptance),
        page.trend(tokens_per_step),
        page.trend(coverage),
        page.trend(share_from_drafts),
    )
    page.row(
        "How much is drafted, kept and thrown away?",
        page.trend(accepted_tokens, wasted_tokens, width=8, stacked=True),
        page.trend(drafts, width=8),
        page.trend(generation_tokens, width=8),
        page.trend(draft_efficiency),
        page.trend(draft_length),
    )
    page.row(
        "Where to look?",
        page.listing(firing_alerts),
        page.trend(acceptance_change),
        page.trend(acceptance_length, length_baseline),
        page.trend(length_anomaly),
    )
    return page.build()
