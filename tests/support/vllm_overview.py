"""What opening vLLM's own overview sends, to compare costs with.

The page is `vllm_overview.json`, which `tools/generate_grafana_dashboards.py` of vLLM writes (0b9faa41, after its
release 0.33.0): described by what each of its panels reads, at its width and window. All its rows are open.
"""

from collections.abc import Iterator

from draftboard.durations import Duration
from draftboard.settings import Settings
from support.opened import SCREEN, Query, rate_interval, step_of

_TTFT, _ITL, _TPOT, _E2E, _QUEUE = (
    "time_to_first_token_seconds",
    "inter_token_latency_seconds",
    "request_time_per_output_token_seconds",
    "e2e_request_latency_seconds",
    "request_queue_time_seconds",
)
_TILE, _THIRD, _HALF = 3, 8, 12  # Widths of panels, of 24.
_ALL = (_TTFT, _ITL, _TPOT, _E2E, _QUEUE, "request_prompt_tokens", "request_generation_tokens")
_PREFIX = ("prefix_cache_hits_total", "prefix_cache_queries_total")
_TILES = {
    "rate": (
        *("request_success_total", "prompt_tokens_total", "generation_tokens_total", "num_preemptions_total"),
        *(*_PREFIX, f"{_TTFT}_count", f"{_TPOT}_count"),
    ),
    "0.95": (_TTFT, _ITL, _E2E),
    "now": ("num_requests_running", "num_requests_running", "num_requests_waiting", "kv_cache_usage_perc"),
}
_IN_THIRDS = {
    "rate": ("request_success_total", "request_success_total"),
    "mean": (*_ALL, _QUEUE, "request_prefill_time_seconds", "request_decode_time_seconds"),
    **dict.fromkeys(("0.5", "0.95", "0.99"), _ALL),
    "heat": (_TTFT, _ITL, _E2E),
}
_IN_HALVES = {
    "rate": (
        *("prompt_tokens_total", "generation_tokens_total", "request_success_total", "num_preemptions_total"),
        *(*_PREFIX, *(f"external_{name}" for name in _PREFIX)),
        *("mm_cache_hits_total", "mm_cache_queries_total", "prompt_tokens_by_source_total"),
    ),
    "now": ("num_requests_running", "num_requests_waiting_by_reason", *["kv_cache_usage_perc"] * 3),
    "mean": ("iteration_tokens_total",),
    **dict.fromkeys(("0.5", "0.99"), ("iteration_tokens_total",)),
}
_OVER_THE_RANGE = (
    *("num_requests_running", "request_success_total", "request_success_total", "generation_tokens_total"),
    *(f"{name}_bucket" for name in (_TTFT, _ITL, _E2E, "request_prompt_tokens", "request_generation_tokens")),
    *("request_prompt_tokens_count", "request_generation_tokens_count", "kv_cache_usage_perc", "num_preemptions_total"),
)
"""Tables and bars over all that is shown."""


def vllm_overview(settings: Settings, job: str, shown: Duration, stretch: Duration) -> Iterator[Query]:
    """Its queries of a job; what it reads over the whole range is asked over the stretch that is then multiplied."""
    for width, panels in ((_TILE, _TILES), (_THIRD, _IN_THIRDS), (_HALF, _IN_HALVES)):
        step = step_of(shown, SCREEN * width // 24, settings.rules.scrape_interval)
        window = rate_interval(step, settings)
        for how, names in panels.items():
            yield from (Query(name, expr, step) for name in names for expr in _exprs(how, name, f'job="{job}"', window))
    for name in _OVER_THE_RANGE:
        yield Query(name, f'sum(count_over_time(vllm:{name}{{job="{job}"}}[{stretch}]))', stretch.seconds)


def _exprs(how: str, name: str, job: str, window: Duration) -> Iterator[str]:
    match how:
        case "now":
            yield f"sum(vllm:{name}{{{job}}})"
        case "rate":
            yield f"sum(rate(vllm:{name}{{{job}}}[{window}]))"
        case "mean":
            yield from (f"sum(rate(vllm:{name}_{part}{{{job}}}[{window}]))" for part in ("sum", "count"))
        case "heat":
            yield f"sum by (le) (rate(vllm:{name}_bucket{{{job}}}[{window}]))"
        case quantile:
            yield f"histogram_quantile({quantile}, sum by (le) (rate(vllm:{name}_bucket{{{job}}}[{window}])))"
