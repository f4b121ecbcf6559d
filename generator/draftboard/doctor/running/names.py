"""Metrics of old articles, old servers and Ray, and where their answer is found today."""

from dataclasses import dataclass

from draftboard.catalogue import Metric, latency, removed, serving, speculation
from draftboard.signals.acceptance import acceptance, draft_efficiency

RELABEL_RAY = """\
metric_relabel_configs:
  - {source_labels: [__name__], regex: 'ray_vllm[_:](.+)', target_label: __name__, replacement: 'vllm:$1'}"""
"""What brings vLLM's own names back, in a scrape job of Prometheus."""


@dataclass(frozen=True)
class Old:
    """A series family that vLLM no longer exposes, or calls otherwise."""

    name: str
    instead: str
    """What to read today, in words and names."""


def _renamed(old: str, new: Metric) -> Old:
    return Old(old, new.name)


_ACCEPTED, _DRAFTS = speculation.ACCEPTED_TOKENS.name, speculation.DRAFTS.name
OLD: tuple[Old, ...] = (
    Old(
        removed.V0_ACCEPTANCE.name,
        f"{_ACCEPTED} / {speculation.DRAFT_TOKENS.name}, here the signal {acceptance.name}; its old limits of 0.5 "
        "to 0.7 do not carry over, for it meant something else",
    ),
    Old(removed.V0_EFFICIENCY.name, f"from the counters, here the signal {draft_efficiency.name}"),
    Old(removed.V0_EMITTED.name, f"{_DRAFTS} + {_ACCEPTED}"),
    _renamed("vllm:gpu_cache_usage_perc", serving.KV_CACHE_USAGE),
    _renamed("vllm:gpu_prefix_cache_queries_total", serving.PREFIX_CACHE_QUERIES),
    _renamed("vllm:gpu_prefix_cache_hits_total", serving.PREFIX_CACHE_HITS),
    Old(
        "vllm:time_per_output_token_seconds",
        f"{latency.TIME_PER_OUTPUT_TOKEN.name} for what users feel, one sample a request; "
        f"{latency.STEP_LATENCY.name} for the same meaning as before, one sample a step",
    ),
    Old("vllm:gpu_prefix_cache_hit_rate", f"{serving.PREFIX_CACHE_HITS.name} / {serving.PREFIX_CACHE_QUERIES.name}"),
    Old("vllm:cpu_prefix_cache_hit_rate", "nothing: the V1 engine keeps no such cache"),
    Old("vllm:cpu_cache_usage_perc", "nothing: the V1 engine does not swap"),
    Old(
        "vllm:num_requests_swapped",
        f"nothing: the V1 engine does not swap; {serving.PREEMPTIONS.name} tells of pressure",
    ),
    _renamed("vllm:time_in_queue_requests", latency.QUEUE_TIME),
    Old("vllm:model_forward_time_milliseconds", "nothing"),
    Old("vllm:model_execute_time_milliseconds", "nothing"),
    Old("vllm:prompt_tokens_recomputed_total", "nothing"),
)
