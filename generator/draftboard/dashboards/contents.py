"""The table of contents of each dashboard: its rows, their questions and the panels that answer them."""

from draftboard.dashboards.dashboard import Dashboard, Page
from draftboard.dashboards.panels import Panel, note
from draftboard.settings import Settings
from draftboard.signals import (
    Edition,
    Level,
    acceptance,
    comparison,
    costs,
    decisions,
    economics,
    events,
    gpu,
    integrity,
    monitoring,
    requests,
    slo,
    standings,
    steps,
    traffic,
    users,
)
from draftboard.signals import capacity as room
from draftboard.signals import depth as positions
from draftboard.signals import fleet as engines
from draftboard.signals import latency as times
from draftboard.signals import versus as arms
from draftboard.signals.signal import Unit
from draftboard.status import Status

_ENGINE = Level.ENGINE
_NO_JUDGEMENT = frozenset({Status.ODD})
"""Of bands by which drafters cannot be compared: only the one on which an alert fires."""
_FURTHER = {
    acceptance.acceptance_length: ("depth", "How deep are its drafts accepted?"),
    times.per_token.p99: ("latency", "Where does its time go?"),
    room.kv_cache_usage: ("capacity", "How full is its KV cache, and who waits?"),
    engines.engine_standing: ("overview", "Does speculation pay for its model?"),
}
"""By the figure of an engine: the page that explains it, and the question that it answers."""
_OTHER_TIMES = (times.queue, times.prefill, times.decode, times.inference)


def overview(settings: Settings, edition: Edition) -> Dashboard:
    """Where each model stands and what to do, then trends, then what explains them."""
    page = Page(
        settings,
        edition,
        "overview",
        "Is speculative decoding paying off, for which model, and what should change?",
        drafting=True,
    )
    page.panels(
        *_totals(page, widths=(9, 8, 7)),
        page.worst_first(decisions.standing),
        page.alerts(),
        page.table(
            "Standing and next step by model",
            *(decisions.standing, standings.next_step, users.measured_speedup, economics.expected_speedup),
            *(standings.verdict_basis, standings.gpus_saved, standings.money_saved),
            worst=(decisions.standing, economics.expected_speedup),
            filled=(decisions.standing,),
            gauges=(economics.expected_speedup,),
            says="Where each model stands, what to do, how much faster speculation makes it, and what that saves.",
            action="Start at the top: the worst rows come first.",
        ),
    )
    page.row(
        "How do speedup and load develop?",
        *page.trends(economics.expected_speedup, traffic.generation_tokens),
        page.trend(acceptance.acceptance, zones=_NO_JUDGEMENT),
        page.trend(traffic.wasted_tokens),
        page.percentile(times.per_token),
        page.trend(requests.requests_waiting),
    )
    page.row(
        "Does a decode step yield enough?",
        page.table(
            "Yield of a step by model",
            *(acceptance.tokens_per_step, economics.needed_per_step),
            *(costs.verify_inflation, economics.affordable_inflation),
            *(acceptance.acceptance_length, traffic.drafts_in_window),
            *(positions.configured_k, economics.best_k, economics.best_speedup),
            worst=(economics.affordable_inflation,),
            says="What a decode step yields, what it must yield to break even, and from which drafts.",
            action="Where it yields less, shorten K or change the drafter.",
        ),
        *page.trends(acceptance.tokens_per_step, costs.step_cost, acceptance.acceptance_length),
        *page.trends(costs.verify_inflation, economics.affordable_inflation),
        *page.trends(economics.step_speedup, acceptance.coverage, acceptance.share_from_drafts),
        collapsed=True,
    )
    page.row(
        "How much is drafted, accepted and wasted?",
        page.totals(
            traffic.accepted_tokens,
            traffic.wasted_tokens,
            says="Drafted tokens per second that the target model accepted, and that it rejected.",
        ),
        *page.trends(traffic.drafts, acceptance.draft_efficiency, acceptance.draft_length),
        collapsed=True,
    )
    page.row(
        "What has changed?",
        page.timeline(decisions.state),
        page.totals(decisions.engines_by_state),
        *page.trends(comparison.acceptance_change, comparison.length_anomaly),
        collapsed=True,
    )
    return page.build()


def status(settings: Settings, edition: Edition) -> Dashboard:
    """A wall: the totals, then a row of tiles for each model."""
    page = Page(settings, edition, "status", "Is every model well? For a screen on a wall: open it with ?kiosk.")
    page.panels(
        *_totals(page, widths=(8, 7, 6), large=True),
        page.tiles(standings.data_age.title, standings.data_age, width=3, large=True),
        *page.wall(
            *(decisions.standing, times.per_token.p99, room.kv_cache_usage, requests.requests_waiting),
            present=decisions.standing,
            widths=(11, 5, 4, 4),
            height=22,
        ),
    )
    return page.build()


def _totals(page: Page, widths: tuple[int, int, int], *, large: bool = False) -> list[Panel]:
    models, engines, alerts = widths
    return [
        page.tiles(
            "Models by standing",
            *standings.MODELS.values(),
            width=models,
            large=large,
            says="Models for which speculation costs more than it saves, is about even or pays, and all others.",
            action="Start with those that cost more.",
        ),
        page.tiles(
            "Engines now",
            *standings.ENGINES.values(),
            width=engines,
            large=large,
            says="Engines that do not answer, that hold requests but generate nothing, that do not draft; all others.",
            action="Bring back what is down, restart what is stuck.",
        ),
        page.tiles(
            "Alerts by severity",
            *standings.ALERTS.values(),
            width=alerts,
            large=large,
            says="Alerts that fire, by severity; a dash where no alert can fire, because no rules are loaded.",
            action="Open the runbooks, the most urgent first.",
        ),
    ]


def depth(settings: Settings, edition: Edition) -> Dashboard:
    """Acceptance by position now, the yield of each draft length, the same over time, then by engine."""
    page = Page(
        settings,
        edition,
        "depth",
        "How deep are drafts accepted, and how long should they be?",
        by_engine=True,
        drafting=True,
    )
    page.row(
        "How deep are drafts accepted now?",
        *(page.bars(one) for one in (positions.survival, positions.conditional_acceptance)),
        *(page.bars(one) for one in (positions.acceptance_by_position, positions.accepted_length_share)),
        *(page.bars(one) for one in (positions.tokens_per_step_at, positions.draft_length_at)),
    )
    page.row(
        "Which draft length would be best?",
        *(page.bars(one) for one in (economics.speedup_at, economics.what_if_speedup)),
        page.table(
            "Draft length by model",
            *(positions.lowest_k, positions.configured_k, acceptance.draft_length, economics.best_k),
            *(economics.shorter_gain, economics.longer_gain),
            *(positions.first_position, positions.next_position_accepted),
            costs.draft_cost,
            worst=(economics.shorter_gain,),
            says="How long each model's drafts are, and what another K would gain, at the costs c and v.",
            action="Where a gain is above 1 + thresholds.gain, try that K.",
        ),
        *page.trends(economics.best_k, positions.alpha_hat),
    )
    page.row(
        "How has acceptance changed?",
        page.trend(positions.survival, width=24),
        *page.trends(positions.first_position, positions.last_position),
    )
    page.row(
        "Is one engine different?",
        page.timeline(decisions.state, level=_ENGINE),
        page.trend(comparison.length_to_others, level=_ENGINE),
        *page.trends(acceptance.acceptance_length, traffic.drafts, level=_ENGINE, worst=acceptance.acceptance_length),
        page.trend(positions.current_k, level=_ENGINE, worst=acceptance.acceptance_length),
        page.trend(integrity.identity_error, level=_ENGINE, width=24),
        page.listing(positions.drafting, width=24),
        collapsed=True,
    )
    return page.build()


def latency(settings: Settings, edition: Edition) -> Dashboard:
    """Latency and SLOs of users, then failed requests, then where the time goes."""
    first_token, per_token, step, end_to_end = times.first_token, times.per_token, times.step, times.end_to_end
    page = Page(
        settings,
        edition,
        "latency",
        "Do users wait, do requests fail, and are the SLOs met?",
        by_engine=True,
        worst=per_token.p99,
    )
    page.row(
        "Do users wait?",
        page.table(
            "Latency by model",
            *(requests.request_rate, requests.error_ratio, first_token.p99),
            *(per_token.p50, per_token.p99, per_token.tail, end_to_end.p99, users.measured_speedup),
            worst=(per_token.p99,),
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
                worst=(slo.budget_left,),
                says="Share of requests that met each SLO in its window, and what is left of its error budget.",
                action="Where a burn is fast act now, where it is slow act today.",
            ),
            *page.trends(slo.error_ratio_now, slo.budget_left),
        )
        page.row("How fast do error budgets burn?", *page.trends(*slo.BURNS.values()), collapsed=True)
    page.row(
        "Are some requests much slower than others?",
        *page.trends(first_token.tail, per_token.tail, end_to_end.tail, users.tail_change),
    )
    page.row(
        "Are requests answered?",
        *page.trends(requests.request_rate, requests.unfinished),
        *page.failures(requests.error_ratio, requests.stuck, decisions.servers_down, width=8),
        *(page.totals(requests.requests_finished), page.totals(requests.http_requests)),
        page.trend(requests.cut_off, width=24),
    )
    page.row(
        "Which servers fail, and when?",
        *page.failures(requests.http_error_ratio, requests.unanswered, events.interruptions, width=8),
        page.timeline(decisions.target_up),
        collapsed=True,
    )
    page.row(
        "How long is a step, and where does the time go?",
        *page.distributions(step),
        *(page.percentile(one) for one in _OTHER_TIMES),
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
            worst=(per_token.unresolved,),
            says="Share of samples under each histogram's first bound, where a percentile is unknown.",
            action="Where it is large, use finer buckets: vLLM's --custom-histogram-buckets (0.32 and newer).",
        ),
        collapsed=True,
    )
    page.row(
        "How are the other times distributed?",
        *(page.heatmap(one.buckets) for one in _OTHER_TIMES),
        *page.trends(*(one.tail for one in _OTHER_TIMES)),
        page.trend(step.tail, width=24),
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
        worst=room.kv_cache_usage,
    )
    page.row("How much KV cache is left?", *page.trends(room.kv_cache_usage, room.kv_cache_usage_mean))
    page.row(
        "How long is the queue, and are requests rejected?",
        *page.trends(requests.requests_running, requests.requests_waiting),
        *(page.totals(room.waiting_by_reason), page.totals(requests.requests_rejected)),
        page.trend(room.queue_growth),
        *page.failures(requests.rejection_ratio, room.preemptions_per_request),
        page.trend(room.preemptions),
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
        page.totals(room.prompt_tokens_by_source),
        *page.trends(room.prefix_cache_hits, room.step_tokens_mean),
        page.heatmap(room.step_tokens_buckets, Unit.TOKENS),
    )
    page.row(
        "How busy are the GPUs?",
        *page.trends(gpu.gpu_utilisation, gpu.gpu_memory, gpu.gpu_power),
        page.stat(gpu.gpu_xid, width=12),
        collapsed=True,
    )
    page.row(
        "Does the monitoring itself work?",
        *page.trends(monitoring.rules_failed, monitoring.notifications_failed),
        page.trend(monitoring.storage_failures, width=24),
        *page.trends(monitoring.disk_left, monitoring.disk_free),
        collapsed=True,
    )
    page.row(
        "Is one engine different?",
        page.listing(room.kv_cache_capacity, width=24),
        *page.trends(
            *(room.kv_cache_usage, requests.requests_running, requests.requests_waiting),
            *(room.preemptions, traffic.generation_tokens, room.prompt_tokens),
            level=_ENGINE,
            worst=room.kv_cache_usage,
        ),
        collapsed=True,
    )
    return page.build()


def fleet(settings: Settings, edition: Edition) -> Dashboard:
    """Hundreds of engines: each in a table, those that were not well, the ten worst, and how far they are apart."""
    page = Page(
        settings,
        edition,
        "fleet",
        "Which of many engines needs somebody, and how far apart are the engines of a model?",
        by_engine=True,
        offered=(10, 25),
    )
    page.panels(
        *_totals(page, widths=(9, 8, 7)),
        page.table(
            "Engines by standing",
            *(engines.engine_standing, acceptance.acceptance_length, engines.length_margin),
            *(positions.first_position, positions.last_position),
            *(traffic.generation_tokens, room.kv_cache_usage, times.per_token.p99),
            worst=(engines.engine_standing, engines.length_margin),
            filled=(engines.engine_standing,),
            linked=_FURTHER,
            says="How each engine does now; a figure links to the page that explains it, of this engine.",
            action="Start at the top: the worst rows come first.",
            height=18,
        ),
    )
    page.row(
        "Which engines were not well, and when?",
        page.totals(decisions.engines_by_state, width=24),
        page.timeline(engines.not_well, lasting_first=True),
    )
    page.row(
        "Which engines are worst?",
        *page.trends(
            *(engines.length_margin, comparison.length_to_others, times.per_token.p99),
            *(room.kv_cache_usage, requests.requests_waiting, steps.step_time_change),
            level=_ENGINE,
            height=11,
        ),
    )
    page.row(
        "How far apart are the engines of a model?",
        *(panel for one in engines.SPREADS.values() for panel in (page.bars(one), page.trend(one))),
        collapsed=True,
    )
    return page.build()


def compare(settings: Settings, edition: Edition) -> Dashboard:
    """Ways to draft for the same model beside each other and their baseline: what users gain, and at what price."""
    first_token, per_token, end_to_end = times.first_token, times.per_token, times.end_to_end
    names = settings.labels
    page = Page(
        settings,
        edition,
        "compare",
        "Which way to draft is best for a model, by how much, and how sure is that?",
        worst=times.per_token.p99,
        against={names.spec_method: "baseline", names.variant: "baseline_variant"},
    )
    page.panels(
        note(
            "**Choose one model**, the methods or variants to compare, and the baseline beside them. **Measured** "
            "speedup and its 95 % interval are against servers with "
            f"`{names.spec_method}={settings.methods.baseline}`, whatever is shown; a dash where there are none, where "
            "load per engine differs (thresholds.load, by default 20 %), or where too few requests finish. "
            "**Expected** rests on the costs c and v. Latencies and cost are of what each arm does now: they compare "
            "at like load only, which the last row shows.",
            24,
        ),
        page.table(
            "Arms by measured speedup",
            *(arms.ranked_speedup, users.speedup_low, users.speedup_high, economics.expected_speedup),
            *(acceptance.tokens_per_step, costs.step_cost),
            *(room.kv_cache_usage, arms.tokens_per_engine, arms.cost_of_tokens),
            worst=(arms.ranked_speedup,),
            best_first=True,
            says="What each way to draft gains, with the interval of a window, and what its tokens cost.",
            action="Take the first whose low end is above the next one's high end; else measure longer.",
        ),
        *page.trends(users.measured_speedup, users.speedup_uncertainty),
    )
    page.row(
        "How long do users wait?",
        page.table(
            "Token latency of each arm",
            *(one for each in (per_token, first_token) for one in (each.p50, each.p95, each.p99)),
            worst=(per_token.p50,),
            best_first=True,
            says="P50, P95 and P99, estimated within a bucket, of the arms and the baseline.",
            action="Where P50 is better and P99 worse, some requests draft badly.",
        ),
        page.table(
            "End-to-end latency and load of each arm",
            *(end_to_end.p50, end_to_end.p95, end_to_end.p99),
            *(room.batch, requests.request_rate, requests.requests_waiting),
            worst=(end_to_end.p50,),
            best_first=True,
            says="P50, P95 and P99, estimated within a bucket, and the load under which they were measured.",
            action="Compare arms whose batch or request rate is alike.",
        ),
        *(page.percentile(one) for one in (first_token, per_token, end_to_end)),
        page.trend(requests.requests_waiting),
    )
    page.row(
        "What does a step cost at each batch?",
        *(page.bars(one) for one in (steps.step_time_by_batch, arms.step_cost_by_batch)),
        page.bars(arms.verify_inflation_by_batch),
        page.trend(acceptance.tokens_per_step),
    )
    page.row(
        "Is their load alike, and how much room is left?",
        *page.trends(room.batch, requests.request_rate, room.kv_cache_usage, arms.cost_of_tokens),
    )
    return page.build()


_ALL = (overview, compare, fleet, status, depth, latency, capacity)
_OF_RECORDS = {status, fleet, compare}
"""A wall of standings and intervals, which only the rules know, and what raw series of hundreds of engines or of days
cannot afford."""
DASHBOARDS = {Edition.RECORDS: _ALL, Edition.RAW: tuple(build for build in _ALL if build not in _OF_RECORDS)}


def places(settings: Settings) -> dict[str, tuple[str, ...]]:
    """By signal name: where it is shown, as dashboard uid and panel title."""
    found: dict[str, dict[str, None]] = {}
    for dashboard in (build(settings, Edition.RECORDS) for build in DASHBOARDS[Edition.RECORDS]):
        for name, panel in dashboard.shows:
            found.setdefault(name, {})[f"{dashboard.uid}: {panel}"] = None
    return {name: tuple(panels) for name, panels in found.items()}
