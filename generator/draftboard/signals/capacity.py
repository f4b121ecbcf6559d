"""How much room is left: KV cache, queue, preemptions, what is reused, how steps are filled."""

from draftboard.catalogue import latency, serving
from draftboard.expr.nodes import (
    Aggregate,
    InWindow,
    LabelsOfMetric,
    OverTime,
    Raw,
    constant,
    first_of,
    merged,
    over_level,
    rate,
    rate_of_each,
)
from draftboard.expr.scope import Level
from draftboard.quantity import RATE_WINDOW, Setting
from draftboard.signals import traffic
from draftboard.signals.distribution import mean_of
from draftboard.signals.requests import NONE_RUNS, request_rate, requests_waiting
from draftboard.signals.signal import Better, Signal, Unit, good_under
from draftboard.signals.traffic import BOTH_LEVELS, SILENT, over_window, rate_of, while_idle

_waiting_at_each = over_level("avg", over_window("avg_over_time", serving.REQUESTS_WAITING))


_OF_KV_CACHE = good_under(Setting("thresholds.kv_cache"), good="room", beyond="nearly-full")


batch = Signal(
    name="batch",
    title="Batch size",
    question="How full are the batches?",
    description="Running requests per engine: the mean over the window and the model's engines.",
    action="If it is large, check that speculation still pays: drafts compete with other requests.",
    note="Speculation pays while batches are small and costs when verification competes with other requests.",
    unit=Unit.REQUESTS,
    expr=over_level("avg", over_window("avg_over_time", serving.REQUESTS_RUNNING)),
    record="vllm_num_requests_running:avg{window}",
    empty=SILENT,
)
engines = Signal(
    name="engines",
    title="Engines",
    question="How many engines generate tokens?",
    description="Engines seen within the window, idle ones too; one that was replaced counts beside its successor.",
    action="Compare with the number that was deployed.",
    unit=Unit.ENGINES,
    expr=over_level("count", rate_of_each(serving.GENERATION_TOKENS)),
    empty=SILENT,
)
waiting_by_reason = Signal(
    name="waiting_by_reason",
    title="Requests waiting by reason",
    question="What do they wait for?",
    description="Requests that wait for capacity, or are deferred: by a LoRA budget, a KV transfer, a blocked state.",
    action="For capacity add engines; for the rest look at LoRA limits and KV transfers.",
    unit=Unit.REQUESTS,
    better=Better.LOWER,
    expr=over_level("sum", Raw(serving.REQUESTS_WAITING_BY_REASON), "reason"),
    record="vllm_num_requests_waiting_by_reason:sum",
    by=("reason",),
    empty="no vLLM series, or vLLM older than 0.20",
)
queue_growth = Signal(
    name="queue_growth",
    title="Queue growth",
    question="Do more requests arrive than are served?",
    description="Mean number of waiting requests per engine in the window, minus that of the previous window.",
    action="If it stays above 0, add engines or admit fewer requests: the queue does not empty by itself.",
    unit=Unit.REQUESTS,
    better=Better.LOWER,
    expr=_waiting_at_each - _waiting_at_each.ago(RATE_WINDOW),
    record="vllm_num_requests_waiting:growth{window}",
    bands=good_under(Setting("thresholds.queue_growth"), good="steady", beyond="grows"),
    decimals=1,
    empty=SILENT,
    least=None,
)
_waiting_in_all = OverTime("avg_over_time", requests_waiting, RATE_WINDOW)
saturated = _waiting_in_all >= 1
"""Where requests wait: the throughput is what the servers can do."""
queue_wait = Signal(
    name="queue_wait",
    title="Estimated wait in the queue",
    short="Wait",
    question="How long will a request wait that arrives now?",
    description="Waiting requests / requests that got their first token per second, by Little's law: infinite while "
    "requests wait and none gets a token.",
    action="If it is long, add engines or admit fewer requests.",
    note="Of the window of the rates. A mean: requests that the scheduler prefers wait less. The queue-time histogram "
    "holds only requests that have left the queue.",
    unit=Unit.SECONDS,
    better=Better.LOWER,
    expr=saturated.per(rate(latency.TIME_TO_FIRST_TOKEN.count)),
    record="vllm_queue_wait:seconds_rate{window}",
    bands=good_under(Setting("thresholds.queue_wait"), good="short", beyond="long"),
    empty="no request waits",
)
kv_cache_usage = Signal(
    name="kv_cache_usage",
    title="KV cache in use",
    short="KV",
    question="How near is the fullest engine to its limit?",
    description="Share of the KV cache's blocks held by running requests; for a model, of its fullest engine.",
    action="If it is nearly full, admit fewer requests (--max-num-seqs) or add engines.",
    note="0 to 1 despite the metric's name. Free room in one engine does not help another.",
    better=Better.LOWER,
    expr=while_idle(over_level("max", Raw(serving.KV_CACHE_USAGE)), NONE_RUNS),
    record="vllm_kv_cache_usage:max",
    levels=BOTH_LEVELS,
    rollup="max",
    bands=_OF_KV_CACHE,
    decimals=0,
    empty=SILENT,
)
room_in_kv_cache = kv_cache_usage < Setting("thresholds.kv_cache")
"""Where requests do not wait for memory: each engine has some left."""
kv_cache_capacity = Signal(
    name="kv_cache_capacity",
    title="KV cache capacity",
    question="How many tokens fit into the KV cache?",
    description="Capacity in tokens (kv_cache_size_tokens) and in requests of full length "
    "(kv_cache_max_concurrency), as reported at start.",
    action="If engines differ, compare their arguments and GPU memory.",
    note="Without the KV cache of the drafter. Older releases report blocks only: num_gpu_blocks x block_size.",
    unit=Unit.CODE,
    expr=Aggregate("max", (LabelsOfMetric(serving.CACHE_CONFIG),), Raw(serving.CACHE_CONFIG)),
    levels=(Level.ENGINE,),
    by=serving.CACHE_CONFIG.own_labels,
    empty=SILENT,
)
preemptions = rate_of(
    serving.PREEMPTIONS,
    "preemptions",
    "Preemptions",
    "Are running requests preempted?",
    "If they go on, admit fewer requests (--max-num-seqs) or add engines.",
    unit=Unit.PREEMPTIONS_PER_SECOND,
)
preemptions_per_request = Signal(
    name="preemptions_per_request",
    title="Preemptions per request",
    question="How often is work repeated?",
    description="Preemptions / finished requests: each computes the prompt and all generated tokens again.",
    action="If it is not near 0, admit fewer requests (--max-num-seqs) or add engines.",
    note="At least one finished request in the window is assumed.",
    unit=Unit.PREEMPTIONS_PER_REQUEST,
    better=Better.LOWER,
    expr=InWindow(preemptions) / first_of(InWindow(request_rate) > 0, constant(1, preemptions)),
    record="vllm_num_preemptions:ratio_rate{window}",
    bands=good_under(Setting("thresholds.preemptions"), good="rare", beyond="thrashing"),
    empty=SILENT,
)
prompt_tokens = rate_of(
    serving.PROMPT_TOKENS,
    "prompt_tokens",
    "Prompt tokens",
    "How many prompt tokens arrive?",
    "Use it as the load of prefills, which lengthen decode steps.",
    levels=(Level.MODEL,),
)
prompt_length = Signal(
    name="prompt_length",
    title="Mean prompt length",
    short="Prompt",
    question="How long are prompts?",
    description="Prompt tokens / requests that received their first token.",
    action="If prompts grew, expect longer prefills and a fuller KV cache.",
    unit=Unit.TOKENS,
    expr=prompt_tokens / traffic.first_tokens,
    empty="no request received a token in the window",
    decimals=0,
)
answer_length = Signal(
    name="answer_length",
    title="Mean answer length",
    short="Answer",
    question="How long are answers?",
    description="Generated tokens / requests that received their first token: exact while "
    "as many requests end as begin.",
    action="If answers grew, so does end-to-end latency: compare time per token instead.",
    unit=Unit.TOKENS,
    expr=traffic.generation_tokens / traffic.first_tokens,
    empty=prompt_length.empty,
    decimals=0,
)
prompt_tokens_by_source = Signal(
    name="prompt_tokens_by_source",
    title="Prompt tokens by source",
    question="How much of the prompts is computed?",
    description="Prompt tokens per second by source of their KV: computed, cached locally, or fetched from "
    "another server.",
    action="If most are computed though prompts repeat, check prefix caching and routing.",
    unit=Unit.TOKENS_PER_SECOND,
    expr=rate(serving.PROMPT_TOKENS_BY_SOURCE),
    record="vllm_prompt_tokens_by_source:rate{window}",
    by=("source",),
    empty="no vLLM series, or vLLM older than 0.16",
)
prefix_cache_hits = Signal(
    name="prefix_cache_hits",
    title="Prefix cache hits",
    question="How much of the prompts is cached?",
    description="Prompt tokens found / looked up, in the engine's own cache (local) and on other servers (external).",
    action="If it is low though prompts repeat, route them to the same server.",
    note="Full hits enter speculation with placeholder drafts, which lowers acceptance (vLLM 0.28 and newer).",
    better=Better.HIGHER,
    expr=merged(
        "source",
        {
            "local": rate(serving.PREFIX_CACHE_HITS) / rate(serving.PREFIX_CACHE_QUERIES),
            "external": rate(serving.EXTERNAL_PREFIX_CACHE_HITS) / rate(serving.EXTERNAL_PREFIX_CACHE_QUERIES),
        },
    ),
    record="vllm_prefix_cache_hits:ratio_rate{window}",
    by=("source",),
    empty="nothing was looked up",
)
step_tokens_mean = mean_of(
    latency.STEP_TOKENS,
    name="step_tokens",
    what="Tokens in an engine step",
    action="If it is large and tokens come slowly, lower --max-num-batched-tokens: prefills share the steps.",
    unit=Unit.TOKENS,
)
