"""What a vLLM engine says about its requests, tokens, queue and caches."""

from draftboard.catalogue.metric import Kind, Metric, Owner

_EXTERNAL = "External prefix cache {} from KV connector cross-instance cache sharing, in terms of number of {} tokens."

GENERATION_TOKENS = Metric(
    name="vllm:generation_tokens_total",
    unit="tokens",
    meaning="Tokens generated.",
    help="Number of generation tokens processed.",
)
PROMPT_TOKENS_BY_SOURCE = Metric(
    name="vllm:prompt_tokens_by_source_total",
    unit="tokens",
    meaning="Prompt tokens by source of their KV: computed, cached locally, or fetched from another server.",
    help="Number of prompt tokens by source.",
    since="0.16.0",
    own_labels=("source",),
    values={"source": ("local_compute", "local_cache_hit", "external_kv_transfer")},
)
PROMPT_TOKENS = Metric(
    name="vllm:prompt_tokens_total",
    unit="tokens",
    meaning="Tokens of prompts, cached ones included.",
    help="Number of prefill tokens processed.",
)
PREFIX_CACHE_QUERIES = Metric(
    name="vllm:prefix_cache_queries_total",
    unit="tokens",
    meaning="Prompt tokens looked up in the engine's own prefix cache.",
    help="Prefix cache queries, in terms of number of queried tokens.",
    since="0.9.2",
)
PREFIX_CACHE_HITS = Metric(
    name="vllm:prefix_cache_hits_total",
    unit="tokens",
    meaning="Prompt tokens found there.",
    help="Prefix cache hits, in terms of number of cached tokens.",
    since="0.9.2",
)
EXTERNAL_PREFIX_CACHE_QUERIES = Metric(
    name="vllm:external_prefix_cache_queries_total",
    unit="tokens",
    meaning="Prompt tokens looked up at other servers, through a KV connector; without one it stays at 0.",
    help=_EXTERNAL.format("queries", "queried"),
    since="0.11.1",
)
EXTERNAL_PREFIX_CACHE_HITS = Metric(
    name="vllm:external_prefix_cache_hits_total",
    unit="tokens",
    meaning="Prompt tokens found at other servers.",
    help=_EXTERNAL.format("hits", "cached"),
    since="0.11.1",
)
REQUESTS_RUNNING = Metric(
    name="vllm:num_requests_running",
    kind=Kind.GAUGE,
    unit="requests",
    meaning="Requests in the running batch.",
    help="Number of requests in model execution batches.",
)
REQUESTS_WAITING = Metric(
    name="vllm:num_requests_waiting",
    kind=Kind.GAUGE,
    unit="requests",
    meaning="Requests that wait to be scheduled, for any reason.",
    help="Number of requests waiting to be processed.",
)
REQUESTS_WAITING_BY_REASON = Metric(
    name="vllm:num_requests_waiting_by_reason",
    kind=Kind.GAUGE,
    unit="requests",
    meaning="Requests that wait for capacity, or are deferred: by a LoRA budget, a KV transfer, a blocked state.",
    help="Number of waiting requests by reason. Reason labels: 'capacity' = waiting for scheduling capacity; "
    "'deferred' = deferred by transient constraints (LoRA budget, KV transfer, blocked status). Sum of all reasons "
    "equals vllm:num_requests_waiting.",
    since="0.20.0",
    own_labels=("reason",),
    values={"reason": ("capacity", "deferred")},
)
KV_CACHE_USAGE = Metric(
    name="vllm:kv_cache_usage_perc",
    kind=Kind.GAUGE,
    unit="ratio",
    meaning="Share of the KV cache's blocks held by running requests, 0 to 1 despite the name.",
    help="KV-cache usage. 1 means 100 percent usage.",
    since="0.9.2",
)
PREEMPTIONS = Metric(
    name="vllm:num_preemptions_total",
    unit="preemptions",
    meaning="Requests put back into the queue because the KV cache was full; their KV is computed again.",
    help="Cumulative number of preemption from the engine.",
)
REQUESTS_FINISHED = Metric(
    name="vllm:request_success_total",
    unit="requests",
    meaning="Requests that ended, by reason, except those aborted by the client.",
    help="Count of successfully processed requests.",
    own_labels=("finished_reason",),
    values={"finished_reason": ("stop", "length", "abort", "error", "repetition")},
)
ADMISSION_REJECTIONS = Metric(
    name="vllm:admission_rejections_total",
    unit="requests",
    meaning="Requests rejected because a limit of the queue was reached.",
    help="Number of admission attempts rejected by a queue limit, by reason.",
    since="0.32.0",
    own_labels=("reason",),
    values={"reason": ("max_num_queued_reqs", "max_num_queued_tokens")},
    owner=Owner.FRONTEND,
)
CACHE_CONFIG = Metric(
    name="vllm:cache_config_info",
    kind=Kind.GAUGE,
    unit="info",
    meaning="Always 1; the KV cache's configuration is in about forty labels, which differ by release.",
    help="Information of the LLMEngine CacheConfig",
    own_labels=("block_size", "cache_dtype", "kv_cache_max_concurrency", "kv_cache_size_tokens", "num_gpu_blocks"),
    owner=Owner.CONFIG,
)
CACHE_CONFIG_UNREAD = (
    *("_block_size_resolved", "cache_hit_alignment_tokens", "effective_attention_block_size"),
    *("enable_mamba_shared_prefix_checkpoint", "enable_prefix_caching", "gpu_memory_utilization"),
    *("hash_block_size", "is_attention_free", "kv_cache_dtype_skip_layers", "kv_cache_layout"),
    *("kv_cache_memory_bytes", "kv_offloading_backend", "kv_offloading_size", "kv_sharing_fast_prefill"),
    *("mamba_block_size", "mamba_cache_dtype", "mamba_cache_mode", "mamba_page_size_padded"),
    *("mamba_ssm_cache_dtype", "num_cpu_blocks", "num_gpu_blocks_override", "prefix_cache_retention_interval"),
    *("prefix_caching_hash_algo", "prefix_match_unit", "replayssm_buffer_len", "skip_page_size_padded"),
    *("sliding_window", "swa_bounded_replay", "use_kda_recoverssm", "use_replayssm", "user_specified_block_size"),
)
"""Its other labels in vLLM 0.32. With them, VictoriaMetrics drops the series: it keeps 40 labels by default."""
_ESTIMATED, _OF_MFU = "0.17.0", "(for Model Flops Utilization calculations)."
ESTIMATED_OPERATIONS = Metric(
    name="vllm:estimated_flops_per_gpu_total",
    unit="operations",
    meaning="Floating point operations of a GPU by vLLM's own model of the target's layers, for the tokens that steps "
    "compute; the drafter is not in it. At 0 without --enable-mfu-metrics.",
    help=f"Estimated number of floating point operations per GPU {_OF_MFU}",
    since=_ESTIMATED,
)
ESTIMATED_READS = Metric(
    name="vllm:estimated_read_bytes_per_gpu_total",
    unit="bytes",
    meaning="Bytes that a GPU reads for them: weights once a step, cached context, activations.",
    help=f"Estimated number of bytes read from memory per GPU {_OF_MFU}",
    since=_ESTIMATED,
)
ESTIMATED_WRITES = Metric(
    name="vllm:estimated_write_bytes_per_gpu_total",
    unit="bytes",
    meaning="Bytes that it writes for them.",
    help=f"Estimated number of bytes written to memory per GPU {_OF_MFU}",
    since=_ESTIMATED,
)
