"""What a vLLM server exposes and Draftboard does not read: with the catalogue it makes the whole page."""

from draftboard.catalogue.metric import Histogram, Kind, Metric, Owner, Presence, Summary

_LENGTHS = tuple(float(step * 10**power) for power in range(8) for step in (1, 2, 5))
_HTTP = (
    *(0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 7.5, 10.0, 30.0),
    60.0,
)

GC_COLLECTED = Metric(
    name="python_gc_objects_collected_total",
    kind=Kind.COUNTER,
    unit="objects",
    meaning="Objects that Python's garbage collector freed, by generation.",
    help="Objects collected during gc",
    presence=Presence.ONE_PROCESS,
    own_labels=("generation",),
    values={"generation": ("0", "1", "2")},
    owner=Owner.TARGET,
)
GC_UNCOLLECTABLE = Metric(
    name="python_gc_objects_uncollectable_total",
    kind=Kind.COUNTER,
    unit="objects",
    meaning="Objects that it could not free.",
    help="Uncollectable objects found during GC",
    presence=Presence.ONE_PROCESS,
    own_labels=("generation",),
    values={"generation": ("0", "1", "2")},
    owner=Owner.TARGET,
)
GC_COLLECTIONS = Metric(
    name="python_gc_collections_total",
    kind=Kind.COUNTER,
    unit="collections",
    meaning="Runs of it.",
    help="Number of times this generation was collected",
    presence=Presence.ONE_PROCESS,
    own_labels=("generation",),
    values={"generation": ("0", "1", "2")},
    owner=Owner.TARGET,
)
PYTHON = Metric(
    name="python_info",
    kind=Kind.GAUGE,
    unit="info",
    meaning="Always 1; the interpreter is in the labels.",
    help="Python platform information",
    presence=Presence.ONE_PROCESS,
    own_labels=("implementation", "major", "minor", "patchlevel", "version"),
    owner=Owner.TARGET,
)
VIRTUAL_MEMORY = Metric(
    name="process_virtual_memory_bytes",
    kind=Kind.GAUGE,
    unit="bytes",
    meaning="Address space of the API server's process.",
    help="Virtual memory size in bytes.",
    presence=Presence.ONE_PROCESS,
    owner=Owner.TARGET,
)
RESIDENT_MEMORY = Metric(
    name="process_resident_memory_bytes",
    kind=Kind.GAUGE,
    unit="bytes",
    meaning="Memory that the API server's process holds; the engine is another process.",
    help="Resident memory size in bytes.",
    presence=Presence.ONE_PROCESS,
    owner=Owner.TARGET,
)
CPU_SECONDS = Metric(
    name="process_cpu_seconds_total",
    kind=Kind.COUNTER,
    unit="seconds",
    meaning="Processor time of the API server's process.",
    help="Total user and system CPU time spent in seconds.",
    presence=Presence.ONE_PROCESS,
    owner=Owner.TARGET,
)
OPEN_FILES = Metric(
    name="process_open_fds",
    kind=Kind.GAUGE,
    unit="files",
    meaning="Open file descriptors of the API server.",
    help="Number of open file descriptors.",
    presence=Presence.ONE_PROCESS,
    owner=Owner.TARGET,
)
MOST_OPEN_FILES = Metric(
    name="process_max_fds",
    kind=Kind.GAUGE,
    unit="files",
    meaning="How many it may open.",
    help="Maximum number of open file descriptors.",
    presence=Presence.ONE_PROCESS,
    owner=Owner.TARGET,
)
ESTIMATED_FLOPS = Metric(
    name="vllm:estimated_flops_per_gpu_total",
    kind=Kind.COUNTER,
    unit="operations",
    meaning="Moves only with --enable-mfu-metrics.",
    help="Estimated number of floating point operations per GPU (for Model Flops Utilization calculations).",
    since="0.17.0",
)
ESTIMATED_READS = Metric(
    name="vllm:estimated_read_bytes_per_gpu_total",
    kind=Kind.COUNTER,
    unit="bytes",
    meaning="Moves only with --enable-mfu-metrics.",
    help="Estimated number of bytes read from memory per GPU (for Model Flops Utilization calculations).",
    since="0.17.0",
)
ESTIMATED_WRITES = Metric(
    name="vllm:estimated_write_bytes_per_gpu_total",
    kind=Kind.COUNTER,
    unit="bytes",
    meaning="Moves only with --enable-mfu-metrics.",
    help="Estimated number of bytes written to memory per GPU (for Model Flops Utilization calculations).",
    since="0.17.0",
)
SLEEP_STATE = Metric(
    name="vllm:engine_sleep_state",
    kind=Kind.GAUGE,
    unit="bool",
    meaning="1 for the state that the engine is in.",
    help="Engine sleep state; awake = 0 means engine is sleeping; awake = 1 means engine is awake; weights_offloaded "
    "= 1 means sleep level 1; discard_all = 1 means sleep level 2.",
    since="0.11.1",
    own_labels=("sleep_state",),
    values={"sleep_state": ("awake", "weights_offloaded", "discard_all")},
)
MULTIMODAL_CACHE_QUERIES = Metric(
    name="vllm:mm_cache_queries_total",
    kind=Kind.COUNTER,
    unit="items",
    meaning="Images and the like looked up in their cache.",
    help="Multi-modal cache queries, in terms of number of queried items.",
    since="0.11.1",
)
MULTIMODAL_CACHE_HITS = Metric(
    name="vllm:mm_cache_hits_total",
    kind=Kind.COUNTER,
    unit="items",
    meaning="Those found there.",
    help="Multi-modal cache hits, in terms of number of cached items.",
    since="0.11.1",
)
PROMPT_TOKENS_CACHED = Metric(
    name="vllm:prompt_tokens_cached_total",
    kind=Kind.COUNTER,
    unit="tokens",
    meaning="Prompt tokens whose KV was not computed here.",
    help="Number of cached prompt tokens (local + external).",
    since="0.16.0",
)
PROMPT_TOKENS_CACHED_BY_SOURCE = Metric(
    name="vllm:prompt_tokens_cached_by_source_total",
    kind=Kind.COUNTER,
    unit="tokens",
    meaning="The same by the tier that held it; counted when a request is admitted.",
    help="Prefix-cache hit tokens by the cache tier that supplied them: device (local HBM), host (offloaded to DRAM), "
    "disk, p2p (transferred from another vLLM instance) or external_unspecified. Counted at admission; sums to "
    "vllm:prefix_cache_hits + vllm:external_prefix_cache_hits.",
    since="0.32.0",
    own_labels=("source",),
    values={"source": ("device", "host", "p2p", "disk", "external_unspecified")},
)
REQUEST_PROMPT_TOKENS = Histogram(
    name="vllm:request_prompt_tokens",
    unit="tokens",
    counts="requests",
    meaning="Length of the prompt, of finished requests.",
    help="Number of prefill tokens processed.",
    buckets=_LENGTHS,
    within_model_len=True,
    custom="request_tokens",
)
REQUEST_GENERATION_TOKENS = Histogram(
    name="vllm:request_generation_tokens",
    unit="tokens",
    counts="requests",
    meaning="Length of the answer, of finished requests.",
    help="Number of generation tokens processed.",
    buckets=_LENGTHS,
    within_model_len=True,
    custom="request_tokens",
)
REQUEST_MAX_GENERATION_TOKENS = Histogram(
    name="vllm:request_max_num_generation_tokens",
    unit="tokens",
    counts="requests",
    meaning="Longest answer among a request's samples: the same as its length where n is 1.",
    help="Histogram of maximum number of requested generation tokens.",
    buckets=_LENGTHS,
    within_model_len=True,
    custom="request_tokens",
)
REQUEST_MAX_TOKENS = Histogram(
    name="vllm:request_params_max_tokens",
    unit="tokens",
    counts="requests",
    meaning="The `max_tokens` that requests asked for.",
    help="Histogram of the max_tokens request parameter.",
    buckets=_LENGTHS,
    within_model_len=True,
    custom="request_tokens",
)
REQUEST_COMPUTED_TOKENS = Histogram(
    name="vllm:request_prefill_kv_computed_tokens",
    unit="tokens",
    counts="requests",
    meaning="Prompt tokens that were computed, not found in a cache.",
    help="Histogram of new KV tokens computed during prefill (excluding cached tokens).",
    since="0.13.0",
    buckets=_LENGTHS,
    within_model_len=True,
    custom="request_tokens",
)
REQUEST_N = Histogram(
    name="vllm:request_params_n",
    unit="answers",
    counts="requests",
    meaning="The `n` that requests asked for.",
    help="Histogram of the n request parameter.",
    buckets=(1.0, 2.0, 5.0, 10.0, 20.0),
    custom="request_params_n",
)
REQUEST_PREEMPTIONS = Histogram(
    name="vllm:request_num_preemptions",
    unit="preemptions",
    counts="requests",
    meaning="How often a finished request had been preempted; the first bucket holds 0 and 1.",
    help="Histogram of the number of times a request was preempted.",
    since="0.30.0",
    buckets=(1.0, 2.0, 3.0, 4.0, 5.0, 10.0, 20.0),
    custom="request_num_preemptions",
)
HTTP_REQUEST_SIZE = Summary(
    name="http_request_size_bytes",
    unit="bytes",
    counts="requests",
    meaning="Length of requests' bodies by handler.",
    help="Content length of incoming requests by handler. Only value of header is respected. Otherwise ignored. No "
    "percentile calculated. ",
    presence=Presence.HTTP,
    own_labels=("handler",),
    owner=Owner.TARGET,
)
HTTP_RESPONSE_SIZE = Summary(
    name="http_response_size_bytes",
    unit="bytes",
    counts="requests",
    meaning="Length of answers' bodies by handler.",
    help="Content length of outgoing responses by handler. Only value of header is respected. Otherwise ignored. No "
    "percentile calculated. ",
    presence=Presence.HTTP,
    own_labels=("handler",),
    owner=Owner.TARGET,
)
HTTP_DURATION = Histogram(
    name="http_request_duration_highr_seconds",
    unit="seconds",
    counts="requests",
    meaning="From request to the answer's end, over all handlers.",
    help="Latency with many buckets but no API specific labels. Made for more accurate percentile calculations. ",
    presence=Presence.SERVER,
    owner=Owner.TARGET,
    buckets=_HTTP,
)
HTTP_DURATION_BY_HANDLER = Histogram(
    name="http_request_duration_seconds",
    unit="seconds",
    counts="requests",
    meaning="The same by handler and method, in three buckets.",
    help="Latency with only few buckets by handler. Made to be only used if aggregation by handler is important. ",
    presence=Presence.HTTP,
    own_labels=("handler", "method"),
    owner=Owner.TARGET,
    buckets=(0.1, 0.5, 1.0),
)
