"""KV cache and queue, then speculation against load, then the GPUs."""

from draftboard.dashboards.page import Page, row
from draftboard.dashboards.panels import failures, heatmap, listing, scatter, stat, totals, trend, trends
from draftboard.signals import Level, capacity, economics, gpu, monitoring, requests, traffic, users
from draftboard.signals.signal import Unit

PAGE = Page(
    question="How much capacity is left, how long is the queue, and does speculation pay at this load?",
    worst=capacity.kv_cache_usage,
    rows=(
        row("How much KV cache is left?", *trends(capacity.kv_cache_usage, capacity.kv_cache_usage_mean)),
        row(
            "How long is the queue, and are requests rejected?",
            *trends(requests.requests_running, requests.requests_waiting),
            totals(capacity.waiting_by_reason),
            totals(requests.requests_rejected),
            trend(capacity.queue_growth),
            trend(capacity.queue_wait),
            *failures(requests.rejection_ratio, capacity.preemptions_per_request),
            trend(capacity.preemptions, width=24),
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
            totals(capacity.prompt_tokens_by_source),
            *trends(capacity.prefix_cache_hits, capacity.step_tokens_mean),
            heatmap(capacity.step_tokens_buckets, Unit.TOKENS),
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
            *trends(monitoring.storage_failures, monitoring.new_series),
            *trends(monitoring.disk_left, monitoring.disk_free),
            collapsed=True,
        ),
        row(
            "Is one engine different?",
            listing(capacity.kv_cache_capacity),
            *trends(
                *(capacity.kv_cache_usage, requests.requests_running, requests.requests_waiting),
                *(capacity.preemptions, traffic.generation_tokens, capacity.prompt_tokens),
                level=Level.ENGINE,
                worst=capacity.kv_cache_usage,
            ),
            collapsed=True,
        ),
    ),
)
