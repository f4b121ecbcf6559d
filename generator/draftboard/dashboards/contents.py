"""The table of contents of each dashboard: its rows, their questions and the panels that answer them."""

from draftboard.dashboards.dashboard import Dashboard, Page
from draftboard.settings import Settings
from draftboard.signals import Edition, Level
from draftboard.signals.acceptance import (
    acceptance,
    acceptance_length,
    coverage,
    draft_efficiency,
    draft_length,
    share_from_drafts,
    tokens_per_step,
)
from draftboard.signals.capacity import (
    batch,
    kv_cache_capacity,
    kv_cache_usage,
    kv_cache_usage_mean,
    preemptions,
    preemptions_per_request,
    prefix_cache_hits,
    prompt_tokens,
    prompt_tokens_by_source,
    queue_growth,
    step_tokens_buckets,
    step_tokens_mean,
    waiting_by_reason,
)
from draftboard.signals.comparison import acceptance_change, length_anomaly, length_baseline, length_to_others
from draftboard.signals.decisions import advice, state, verdict
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
from draftboard.signals.economics import (
    best_k,
    best_speedup,
    break_even,
    draft_cost,
    expected_speedup,
    speedup_at,
    what_if_speedup,
)
from draftboard.signals.events import firing_alerts, restarts
from draftboard.signals.gpu import gpu_memory, gpu_power, gpu_utilisation, gpu_xid
from draftboard.signals.integrity import identity_error
from draftboard.signals.latency import decode, end_to_end, first_token, inference, per_token, prefill, queue, step
from draftboard.signals.requests import (
    error_ratio,
    http_error_ratio,
    http_requests,
    rejection_ratio,
    request_rate,
    requests_finished,
    requests_rejected,
    requests_running,
    requests_waiting,
)
from draftboard.signals.slo import BURNS, attainment, budget_left, burning_fast, burning_slowly, error_ratio_now
from draftboard.signals.state import engines_by_state, target_up
from draftboard.signals.traffic import (
    accepted_tokens,
    accepted_tokens_per_pos,
    drafts,
    generation_tokens,
    wasted_tokens,
)
from draftboard.signals.users import measured_speedup, tail_change


def overview(settings: Settings, edition: Edition) -> Dashboard:
    """Verdict and state of each model, then trends, then starting points for a search."""
    page = Page(
        settings, edition, "overview", "Is speculative decoding paying off, for which model, and what should change?"
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
        # The last value of a state that has ended is false; its maximum is the number of engines that were in it.
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


def depth(settings: Settings, edition: Edition) -> Dashboard:
    """Acceptance by position now, the yield of each draft length, the same over time, then by engine."""
    page = Page(
        settings,
        edition,
        "depth",
        "How deep are drafts accepted, and how long should they be?",
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


def latency(settings: Settings, edition: Edition) -> Dashboard:
    """Latency and SLOs of users, then failed requests, then where the time goes."""
    page = Page(
        settings, edition, "latency", "Do users wait, do requests fail, and are the promises kept?", by_engine=True
    )
    page.row(
        "Do users wait?",
        page.table(
            "Each model: what its users feel",
            request_rate,
            error_ratio,
            first_token.mean,
            first_token.p50,
            first_token.p99,
            per_token.mean,
            per_token.p50,
            per_token.p99,
            per_token.tail,
            end_to_end.p99,
            queue.mean,
            measured_speedup,
        ),
        page.percentiles(first_token),
        page.heatmap(first_token.buckets),
        page.percentiles(per_token),
        page.heatmap(per_token.buckets),
        page.percentiles(end_to_end),
        page.heatmap(end_to_end.buckets),
    )
    page.row(
        "Are the promises kept?",
        page.table(
            "Each promise: kept, and what is left of its budget", attainment, budget_left, burning_fast, burning_slowly
        ),
        page.trend(error_ratio_now),
        page.trend(budget_left),
        page.trend(BURNS["1h"]),
        page.trend(BURNS["6h"]),
        page.trend(BURNS["1d"]),
        page.trend(BURNS["3d"]),
    )
    page.row(
        "Are some served much worse than others?",
        page.trend(first_token.tail),
        page.trend(per_token.tail),
        page.trend(step.tail),
        page.trend(end_to_end.tail),
        page.stat(tail_change, width=24),
    )
    page.row(
        "Are requests answered?",
        page.trend(request_rate),
        page.trend(error_ratio),
        page.trend(requests_finished, stacked=True),
        page.trend(http_requests, stacked=True),
        page.trend(http_error_ratio),
        page.timeline(target_up),
        page.trend(restarts, level=Level.TARGET, width=24),
    )
    page.row(
        "How long is a step, and where does the time go?",
        page.percentiles(step),
        page.heatmap(step.buckets),
        page.percentiles(queue),
        page.percentiles(prefill),
        page.percentiles(decode),
        page.percentiles(inference),
    )
    page.row(
        "Is time measured finely enough?",
        page.table(
            "Each model: share of samples below the first bound",
            *(one.unresolved for one in (first_token, per_token, step, end_to_end)),
            *(one.unresolved for one in (queue, prefill, decode, inference)),
        ),
        collapsed=True,
    )
    page.row(
        "How are the other times distributed?",
        *(page.heatmap(one.buckets) for one in (queue, prefill, decode, inference)),
        page.trend(queue.tail),
        page.trend(prefill.tail),
        page.trend(decode.tail),
        page.trend(inference.tail),
        collapsed=True,
    )
    return page.build()


def capacity(settings: Settings, edition: Edition) -> Dashboard:
    """KV cache and queue, then speculation against load, then the GPUs."""
    page = Page(
        settings,
        edition,
        "capacity",
        "How much room is left, who waits for it, and does speculation pay at this load?",
        by_engine=True,
    )
    page.row("How much room is left?", page.trend(kv_cache_usage), page.trend(kv_cache_usage_mean))
    page.row(
        "Who waits, and is anybody turned away?",
        page.trend(requests_running, requests_waiting),
        page.trend(waiting_by_reason, stacked=True),
        page.trend(queue_growth),
        page.trend(rejection_ratio),
        page.trend(requests_rejected, stacked=True),
        page.trend(preemptions_per_request),
        page.trend(preemptions, width=24),
    )
    page.row(
        "Does speculation pay at this load?",
        page.scatter(batch, acceptance_length),
        page.scatter(batch, expected_speedup),
        page.trend(measured_speedup),
        page.trend(batch),
    )
    page.row(
        "How much work is it, and how much is reused?",
        page.trend(generation_tokens),
        page.trend(prompt_tokens),
        page.trend(prompt_tokens_by_source, stacked=True),
        page.trend(prefix_cache_hits),
        page.trend(step_tokens_mean),
        page.heatmap(step_tokens_buckets),
    )
    page.row(
        "What do the GPUs do?",
        page.trend(gpu_utilisation),
        page.trend(gpu_memory),
        page.trend(gpu_power),
        page.stat(gpu_xid, width=12),
        collapsed=True,
    )
    page.row(
        "Is one engine different?",
        page.listing(kv_cache_capacity, width=24),
        page.trend(kv_cache_usage, level=Level.ENGINE),
        page.trend(requests_running, level=Level.ENGINE),
        page.trend(requests_waiting, level=Level.ENGINE),
        page.trend(preemptions, level=Level.ENGINE),
        page.trend(generation_tokens, level=Level.ENGINE),
        page.trend(prompt_tokens, level=Level.ENGINE),
        collapsed=True,
    )
    return page.build()


DASHBOARDS = (overview, depth, latency, capacity)
