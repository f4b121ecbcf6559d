"""KV cache and queue, then speculation against load, then the GPUs."""

from draftboard.dashboards.page import Page, row
from draftboard.dashboards.panels import failures, listing, needs_first, scatter, stat, totals, trend, trends
from draftboard.signals import Level, capacity, economics, gpu, monitoring, requests, traffic, users

PAGE = Page(
    question="How much capacity is left, how long is the queue, and does speculation pay at this load?",
    worst=capacity.kv_cache_usage,
    rows=(
        row("", needs_first(width=24)),
        row("How much KV cache is left?", trend(capacity.kv_cache_usage, width=24)),
        row(
            "How long is the queue, and are requests rejected?",
            *trends(requests.requests_running, requests.requests_waiting),
            totals(capacity.waiting_by_reason, width=8),
            *trends(capacity.queue_growth, capacity.queue_wait, width=8),
            *failures(requests.rejection_ratio, capacity.preemptions_per_request),
        ),
        row(
            "Does speculation pay at this load?",
            scatter(capacity.batch, economics.expected_speedup_low),
            scatter(capacity.batch, economics.expected_speedup_high),
            *trends(users.measured_speedup, capacity.batch),
        ),
        row(
            "How many tokens are processed, and how many are cached?",
            *trends(traffic.generation_tokens, capacity.prompt_tokens),
            *trends(capacity.prefix_cache_hits, capacity.step_tokens_mean),
        ),
        row(
            "How busy are the GPUs?",
            *trends(gpu.gpu_utilisation, gpu.gpu_memory, gpu.gpu_power),
            stat(gpu.gpu_xid),
            collapsed=True,
        ),
        row(
            "Does the monitoring itself work?",
            *trends(monitoring.rules_failed, monitoring.notifications_failed),
            *failures(monitoring.storage_failures),
            *trends(monitoring.new_series, monitoring.disk_left, monitoring.disk_free),
            collapsed=True,
        ),
        row(
            "Is one engine different?",
            listing(capacity.kv_cache_capacity),
            *trends(
                *(capacity.kv_cache_usage, requests.requests_running, requests.requests_waiting),
                traffic.generation_tokens,
                level=Level.ENGINE,
                worst=capacity.kv_cache_usage,
            ),
            collapsed=True,
        ),
    ),
)
