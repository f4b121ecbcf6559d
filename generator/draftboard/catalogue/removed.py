"""Series that vLLM removed or renamed, as old articles and old servers have them: recognised, never read."""

from typing import NamedTuple

from draftboard.catalogue import latency, serving, speculation

_ACCEPTED, _DRAFTS = speculation.ACCEPTED_TOKENS.name, speculation.DRAFTS.name
_DRAFTED, _STEPS = speculation.DRAFT_TOKENS.name, latency.STEP_LATENCY.name
_HITS, _QUERIES = serving.PREFIX_CACHE_HITS.name, serving.PREFIX_CACHE_QUERIES.name


class Removed(NamedTuple):
    """A series family that vLLM 0.32 does not expose."""

    name: str
    instead: str  # what to read today, by name; begins with "nothing" where there is no replacement


V0 = (  # about speculation, by the V0 engine, which is gone since 0.10.0
    Removed(
        "vllm:spec_decode_draft_acceptance_rate",
        f"{_ACCEPTED} / {_DRAFTED}, the signal acceptance; limits of 0.5 to 0.7 do not carry over: the old gauge also "
        "counted tokens after the first rejection, since the server's start",
    ),
    Removed("vllm:spec_decode_efficiency", f"({_DRAFTS} + {_ACCEPTED}) / ({_DRAFTS} + {_DRAFTED}), draft_efficiency"),
    Removed("vllm:spec_decode_num_emitted_tokens_total", f"{_DRAFTS} + {_ACCEPTED}"),
)
REMOVED = (
    *V0,
    Removed("vllm:gpu_cache_usage_perc", serving.KV_CACHE_USAGE.name),
    Removed("vllm:gpu_prefix_cache_queries_total", _QUERIES),
    Removed("vllm:gpu_prefix_cache_hits_total", _HITS),
    Removed(
        "vllm:time_per_output_token_seconds",
        f"{latency.TIME_PER_OUTPUT_TOKEN.name} for what users experience, one sample per request; "
        f"{_STEPS} for the same meaning as before, one sample per step",
    ),
    Removed("vllm:gpu_prefix_cache_hit_rate", f"{_HITS} / {_QUERIES}"),
    Removed("vllm:cpu_prefix_cache_hit_rate", "nothing: the V1 engine has no such cache"),
    Removed("vllm:cpu_cache_usage_perc", "nothing: the V1 engine does not swap"),
    Removed(
        "vllm:num_requests_swapped",
        f"nothing: the V1 engine does not swap; {serving.PREEMPTIONS.name} shows memory pressure",
    ),
    Removed("vllm:time_in_queue_requests", latency.QUEUE_TIME.name),
    Removed("vllm:model_forward_time_milliseconds", "nothing"),
    Removed("vllm:model_execute_time_milliseconds", "nothing"),
    Removed("vllm:prompt_tokens_recomputed_total", "nothing"),
)
