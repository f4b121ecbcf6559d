"""How much room is left, who waits for it, and does speculation pay at this load?"""

from draftboard.grafana import Dashboard, Page
from draftboard.settings import Settings
from draftboard.signals import Edition, Level
from draftboard.signals.acceptance import acceptance_length
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
from draftboard.signals.economics import expected_speedup
from draftboard.signals.gpu import gpu_memory, gpu_power, gpu_utilisation, gpu_xid
from draftboard.signals.requests import rejection_ratio, requests_rejected, requests_running, requests_waiting
from draftboard.signals.traffic import generation_tokens
from draftboard.signals.users import measured_speedup


def capacity(settings: Settings, edition: Edition) -> Dashboard:
    """Room and queue first, then speculation against load, then the machines."""
    page = Page(
        settings=settings,
        edition=edition,
        subject="capacity",
        title="Draftboard / Capacity",
        description="How much room is left, who waits for it, and does speculation pay at this load?",
        by_engine=True,
    )
    page.row(
        "How much room is left?",
        page.trend(kv_cache_usage),
        page.trend(kv_cache_usage_mean),
    )
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
