"""The table of contents of each dashboard: its rows, their questions and the panels that answer them."""

from draftboard.dashboards.dashboard import Dashboard, Page
from draftboard.settings import Settings
from draftboard.signals import (
    Edition,
    Level,
    acceptance,
    comparison,
    decisions,
    economics,
    events,
    gpu,
    integrity,
    monitoring,
    requests,
    slo,
    steps,
    traffic,
    users,
)
from draftboard.signals import capacity as room
from draftboard.signals import depth as positions
from draftboard.signals import latency as times

_ENGINE = Level.ENGINE
_OTHER_TIMES = (times.queue, times.prefill, times.decode, times.inference)


def overview(settings: Settings, edition: Edition) -> Dashboard:
    """Verdict and state of each model, then trends, then starting points for a search."""
    page = Page(
        settings, edition, "overview", "Is speculative decoding paying off, for which model, and what should change?"
    )
    page.row(
        "Is speculation paying off?",
        page.table(
            "Speculation by model",
            *(decisions.state, decisions.verdict, decisions.advice),
            *(users.measured_speedup, economics.expected_speedup, acceptance.tokens_per_step),
            *(economics.needed_per_step, economics.affordable_inflation, traffic.drafts_in_window),
            *(positions.lowest_k, positions.configured_k, economics.best_k, economics.best_speedup),
            *(acceptance.acceptance_length, acceptance.acceptance, traffic.wasted_tokens),
            says="Whether each model drafts, how much faster that makes it, and the figures that this rests on.",
            action="Where it is slower than without, shorten K, change the drafter or turn it off.",
        ),
        page.timeline(decisions.state),
        # The last value of a state that has ended is false; its maximum is the number of engines that were in it.
        page.trend(decisions.engines_by_state, stacked=True, calcs=("max",)),
    )
    page.row(
        "How does it develop?",
        page.trend(
            acceptance.tokens_per_step,
            economics.needed_per_step,
            says="(Generated - first tokens) / decode steps, and the value at which they break even, at assumed costs.",
            action="Below the break-even, shorten K or change the drafter.",
        ),
        *page.trends(economics.expected_speedup, economics.affordable_inflation),
        page.trend(
            acceptance.acceptance_length,
            economics.break_even,
            says="1 + accepted tokens / drafts, and the length at which that breaks even, at assumed costs.",
            action="Below the break-even, shorten K or change the drafter.",
        ),
        *page.trends(economics.step_speedup, acceptance.acceptance, acceptance.coverage, acceptance.share_from_drafts),
    )
    page.row(
        "How much is drafted, accepted and wasted?",
        page.trend(
            traffic.accepted_tokens,
            traffic.wasted_tokens,
            width=8,
            stacked=True,
            says="Drafted tokens per second that the target model accepted, and that it rejected.",
        ),
        *page.trends(traffic.drafts, traffic.generation_tokens, width=8),
        *page.trends(acceptance.draft_efficiency, acceptance.draft_length),
    )
    page.row(
        "What has changed?",
        page.listing(events.firing_alerts),
        page.trend(comparison.acceptance_change),
        page.trend(
            acceptance.acceptance_length,
            comparison.length_baseline,
            says="1 + accepted tokens / drafts, and its mean over the model's past (rules.baseline, by default 1d).",
            action="If it fell below its past, look for a change of workload or drafter.",
        ),
        page.trend(comparison.length_anomaly),
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
        *(
            page.bars(one)
            for one in (positions.survival, positions.conditional_acceptance, positions.accepted_length_share)
        ),
    )
    page.row(
        "Which draft length would be best?",
        *(page.bars(one) for one in (positions.tokens_per_step_at, economics.speedup_at, economics.what_if_speedup)),
        page.table(
            "Draft length by model",
            *(positions.lowest_k, positions.configured_k, acceptance.draft_length, economics.best_k),
            *(economics.shorter_gain, economics.longer_gain),
            *(positions.first_position, positions.last_position, positions.next_position_accepted),
            economics.draft_cost,
            says="How long each model's drafts are, and what another K would gain, at assumed costs.",
            action="Where a gain is above 1 + thresholds.gain, try that K.",
        ),
        page.trend(
            economics.best_k,
            acceptance.draft_length,
            says="The smallest k near the highest expected speedup, at assumed costs, and drafted tokens / drafts.",
            action="If the best k is below K, try it as K.",
        ),
        page.trend(positions.alpha_hat),
    )
    page.row(
        "How has it changed?",
        *page.trends(positions.survival, positions.conditional_acceptance, positions.accepted_length_share),
        *page.trends(traffic.accepted_tokens_per_pos, positions.first_position, positions.last_position),
    )
    page.row(
        "Is one engine different?",
        page.timeline(decisions.state, level=_ENGINE),
        *page.trends(comparison.length_to_others, acceptance.acceptance_length, acceptance.acceptance, level=_ENGINE),
        *page.trends(positions.survival, traffic.drafts, level=_ENGINE),
        *page.trends(positions.current_k, integrity.identity_error, level=_ENGINE),
        collapsed=True,
    )
    return page.build()


def latency(settings: Settings, edition: Edition) -> Dashboard:
    """Latency and SLOs of users, then failed requests, then where the time goes."""
    page = Page(settings, edition, "latency", "Do users wait, do requests fail, and are the SLOs met?", by_engine=True)
    first_token, per_token, step, end_to_end = times.first_token, times.per_token, times.step, times.end_to_end
    page.row(
        "Do users wait?",
        page.table(
            "Latency by model",
            *(requests.request_rate, requests.error_ratio, first_token.mean, first_token.p50, first_token.p99),
            *(per_token.mean, per_token.p50, per_token.p99, per_token.tail),
            *(end_to_end.p99, times.queue.mean, users.measured_speedup),
            says="How long each model's requests take, and how many fail; percentiles are estimated within a bucket.",
            action="Where P99 is far above P50, look at the graphs of that latency.",
        ),
        *page.distributions(first_token, per_token, end_to_end),
    )
    if settings.slo.declared:
        page.row(
            "Are the SLOs met?",
            page.table(
                "Attainment and error budget by SLO",
                *(slo.attainment, slo.budget_left, slo.burn_now, slo.burning_fast, slo.burning_slowly, slo.time_left),
                says="Share of requests that met each SLO in its window, and what is left of its error budget.",
                action="Where a burn is fast act now, where it is slow act today.",
            ),
            *page.trends(slo.error_ratio_now, slo.budget_left, *slo.BURNS.values()),
        )
    page.row(
        "Are some requests much slower than others?",
        *page.trends(first_token.tail, per_token.tail, step.tail, end_to_end.tail),
        page.stat(users.tail_change, width=24),
    )
    page.row(
        "Are requests answered?",
        *page.trends(requests.request_rate, requests.unfinished, requests.error_ratio, requests.http_error_ratio),
        *page.trends(requests.requests_finished, requests.http_requests, stacked=True),
        *page.trends(requests.stuck, requests.unanswered, requests.cut_off, decisions.servers_down),
        page.timeline(decisions.target_up),
        page.trend(events.interruptions),
    )
    page.row(
        "How long is a step, and where does the time go?",
        *page.distributions(step),
        *(page.percentiles(one) for one in _OTHER_TIMES),
    )
    page.row(
        "Has an engine become slow?",
        *page.trends(steps.step_time_change, steps.step_time_by_batch, level=_ENGINE),
        collapsed=True,
    )
    page.row(
        "Are the histogram buckets fine enough?",
        page.table(
            "Share of samples below the first bound",
            *(one.unresolved for one in (first_token, per_token, step, end_to_end, *_OTHER_TIMES)),
            says="Share of samples under each histogram's first bound, where a percentile is unknown.",
            action="Where it is large, use finer buckets: vLLM's --custom-histogram-buckets (0.32 and newer).",
        ),
        collapsed=True,
    )
    page.row(
        "How are the other times distributed?",
        *(page.heatmap(one.buckets) for one in _OTHER_TIMES),
        *page.trends(*(one.tail for one in _OTHER_TIMES)),
        collapsed=True,
    )
    return page.build()


def capacity(settings: Settings, edition: Edition) -> Dashboard:
    """KV cache and queue, then speculation against load, then the GPUs."""
    page = Page(
        settings,
        edition,
        "capacity",
        "How much capacity is left, how long is the queue, and does speculation pay at this load?",
        by_engine=True,
    )
    page.row("How much KV cache is left?", *page.trends(room.kv_cache_usage, room.kv_cache_usage_mean))
    page.row(
        "How long is the queue, and are requests rejected?",
        page.trend(
            requests.requests_running,
            requests.requests_waiting,
            says="Requests in the running batch, and requests that wait to be scheduled, engines together.",
        ),
        page.trend(room.waiting_by_reason, stacked=True),
        *page.trends(room.queue_growth, requests.rejection_ratio),
        page.trend(requests.requests_rejected, stacked=True),
        page.trend(room.preemptions_per_request),
        page.trend(room.preemptions, width=24),
    )
    page.row(
        "Does speculation pay at this load?",
        page.scatter(room.batch, acceptance.acceptance_length),
        page.scatter(room.batch, economics.expected_speedup),
        *page.trends(users.measured_speedup, room.batch),
    )
    page.row(
        "How many tokens are processed, and how many are cached?",
        *page.trends(traffic.generation_tokens, room.prompt_tokens),
        page.trend(room.prompt_tokens_by_source, stacked=True),
        *page.trends(room.prefix_cache_hits, room.step_tokens_mean),
        page.heatmap(room.step_tokens_buckets),
    )
    page.row(
        "What do the GPUs do?",
        *page.trends(gpu.gpu_utilisation, gpu.gpu_memory, gpu.gpu_power),
        page.stat(gpu.gpu_xid, width=12),
        collapsed=True,
    )
    page.row(
        "Does the monitoring itself work?",
        *page.trends(monitoring.rules_failed, monitoring.notifications_failed),
        page.trend(monitoring.storage_failures),
        page.trend(
            monitoring.disk_left,
            monitoring.disk_free,
            says="Share of each disk that is left now, and in a day if it goes on as in the last hours.",
        ),
        collapsed=True,
    )
    page.row(
        "Is one engine different?",
        page.listing(room.kv_cache_capacity, width=24),
        *page.trends(room.kv_cache_usage, requests.requests_running, requests.requests_waiting, level=_ENGINE),
        *page.trends(room.preemptions, traffic.generation_tokens, room.prompt_tokens, level=_ENGINE),
        collapsed=True,
    )
    return page.build()


DASHBOARDS = (overview, depth, latency, capacity)


def places(settings: Settings) -> dict[str, tuple[str, ...]]:
    """By signal name: where it is shown, as dashboard uid and panel title."""
    found: dict[str, dict[str, None]] = {}
    for dashboard in (build(settings, Edition.RECORDS) for build in DASHBOARDS):
        for name, panel in dashboard.shows:
            found.setdefault(name, {})[f"{dashboard.uid}: {panel}"] = None
    return {name: tuple(panels) for name, panels in found.items()}
