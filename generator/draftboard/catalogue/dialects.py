"""Other names of the series: engines and pipelines that export what vLLM exports, or part of it, in words of their own.

Names follow the sources that docs/operate/dialects.md lists. All else in Draftboard speaks of vLLM's names.
"""

from typing import Annotated

from pydantic import AfterValidator, WithJsonSchema

from draftboard.catalogue import latency, serving, speculation
from draftboard.catalogue.dialect import VLLM, Dialect, Spelling
from draftboard.catalogue.metric import Kind, Metric, Owner, Presence

LEAST = (serving.REQUESTS_RUNNING, serving.GENERATION_TOKENS, speculation.DRAFTS)
"""What rules and dashboards need of every dialect."""
POSITION = speculation.ACCEPTED_TOKENS_PER_POS.own_labels[0]
_TOKENS = "tokens"


_OF_VLLMS_SERVER = frozenset({Presence.HTTP, Presence.ONE_PROCESS, Presence.PROBE, Presence.PROPOSED})


def _plainly(prefix: str, *metrics: Metric) -> dict[Metric, Spelling]:
    """Metrics of vLLM's own names under another prefix."""
    return {metric: Spelling(prefix + metric.name.removeprefix(VLLM)) for metric in metrics}


_FOUR = (
    *(speculation.DRAFTS, speculation.DRAFT_TOKENS),
    *(speculation.ACCEPTED_TOKENS, speculation.ACCEPTED_TOKENS_PER_POS),
)
_NEVER_RUN = dict.fromkeys(Kind, Presence.COUNTED)
"""Of engines that were not run: nothing is known to be there from the start."""
_NO_STEPS = "decode steps, and with them coverage, the expected speedup and the verdict"
_PREDICTED, _PREDICTING = "llamacpp:tokens_predicted_total", "llamacpp:tokens_predicted_seconds_total"
LLAMA_CPP = Dialect(
    name="llama.cpp",
    engine="llama.cpp's server",
    prefixes=("llamacpp:",),
    spellings={
        **_plainly("llamacpp:", *_FOUR),
        serving.GENERATION_TOKENS: Spelling(_PREDICTED),
        # Seconds from a request's first token to its last: the mean by token, where vLLM's is by request.
        latency.TIME_PER_OUTPUT_TOKEN.sum: Spelling(_PREDICTING),
        latency.TIME_PER_OUTPUT_TOKEN.count: Spelling(_PREDICTED),
        # A step of a request yields one token and the accepted ones; the step that ends its prompt counts, too.
        latency.STEP_LATENCY.sum: Spelling(_PREDICTING),
        latency.STEP_LATENCY.count: Spelling(_PREDICTED, less="llamacpp:spec_decode_num_accepted_tokens_total"),
        serving.REQUESTS_RUNNING: Spelling("llamacpp:requests_processing"),
        serving.REQUESTS_WAITING: Spelling("llamacpp:requests_deferred"),
    },
    lacks=_OF_VLLMS_SERVER,
    # The counters stay at 0 where speculation is off; positions come with the first response that drafted.
    exposed=dict.fromkeys(_FOUR[:3], Presence.ALWAYS) | {_FOUR[3]: Presence.DRAFTED},
    begins_after={speculation.ACCEPTED_TOKENS_PER_POS: speculation.ACCEPTED_TOKENS},
    has_models=False,
    reports="acceptance, acceptance length, survival by position, K, tokens, decode steps, the mean time per output "
    "token and the queue, counted when a request ends",
    omits="the model's name, the number of requests, percentiles of latencies, time to first token, the KV cache and "
    "finish reasons; a server that has drafted nothing looks like one without speculation",
)
_DRAFTED_BY_POSITION = "trtllm_spec_decode_drafted_tokens_total"
_DRAFTED = Metric(
    name=_DRAFTED_BY_POSITION, unit=_TOKENS, meaning="Drafted tokens, by position from 0.", own_labels=(POSITION,)
)
_ACCEPTED_BY_POSITION = "trtllm_spec_decode_accepted_tokens_total"
TENSORRT_LLM = Dialect(
    name="tensorrt-llm",
    engine="TensorRT-LLM",
    prefixes=("trtllm_",),
    spellings={
        # All four from the counters by position, which move together: the totals are counted at other times.
        speculation.DRAFTS: Spelling(_DRAFTED_BY_POSITION, only=(("token_position", "0"),)),
        speculation.DRAFT_TOKENS: Spelling(_DRAFTED_BY_POSITION),
        speculation.ACCEPTED_TOKENS: Spelling(_ACCEPTED_BY_POSITION),
        speculation.ACCEPTED_TOKENS_PER_POS: Spelling(_ACCEPTED_BY_POSITION, {POSITION: "token_position"}),
        _DRAFTED: Spelling(_DRAFTED_BY_POSITION, {POSITION: "token_position"}),
        **_plainly(
            "trtllm_",
            *(serving.GENERATION_TOKENS, serving.PROMPT_TOKENS, serving.REQUESTS_FINISHED),
            *(serving.REQUESTS_RUNNING, serving.REQUESTS_WAITING),
            *(latency.TIME_TO_FIRST_TOKEN, latency.END_TO_END_LATENCY, latency.QUEUE_TIME),
            *(latency.PREFILL_TIME, latency.DECODE_TIME),
        ),
        serving.KV_CACHE_USAGE: Spelling("trtllm_kv_cache_utilization"),
        latency.TIME_PER_OUTPUT_TOKEN: Spelling("trtllm_time_per_output_token_seconds"),
    },
    lacks=_OF_VLLMS_SERVER,
    exposed_kinds=_NEVER_RUN,
    drafted_by_position=_DRAFTED,
    # A first token is counted when its request ends; no request ends by the reason "error".
    misleading=frozenset({"unfinished", "errors", "error_ratio"}),
    reports="acceptance, acceptance length, survival by position, K, latencies, tokens and queue, counted when a "
    "request ends",
    omits=f"failed requests, preemptions, prefix cache hits, {_NO_STEPS}",
)
SGLANG = Dialect(
    name="sglang",
    engine="SGLang",
    prefixes=("sglang:",),
    spellings={
        speculation.DRAFTS: Spelling("sglang:spec_verify_calls_total"),
        serving.GENERATION_TOKENS: Spelling("sglang:generation_tokens_total"),
        serving.PROMPT_TOKENS: Spelling("sglang:prompt_tokens_total"),
        serving.REQUESTS_FINISHED: Spelling("sglang:num_requests_total"),  # Without a reason.
        serving.REQUESTS_RUNNING: Spelling("sglang:num_running_reqs"),
        serving.REQUESTS_WAITING: Spelling("sglang:num_queue_reqs"),
        serving.KV_CACHE_USAGE: Spelling("sglang:token_usage"),
        latency.TIME_TO_FIRST_TOKEN: Spelling("sglang:time_to_first_token_seconds"),
        latency.END_TO_END_LATENCY: Spelling("sglang:e2e_request_latency_seconds"),
        latency.QUEUE_TIME: Spelling("sglang:queue_time_seconds"),
    },
    lacks=_OF_VLLMS_SERVER,
    exposed_kinds=_NEVER_RUN,
    length=Metric(
        name="sglang:spec_accept_length",
        kind=Kind.GAUGE,
        unit=_TOKENS,
        meaning="Mean acceptance length of the engine's last interval, with the bonus token.",
    ),
    rate=Metric(
        name="sglang:spec_accept_rate",
        kind=Kind.GAUGE,
        unit="ratio",
        meaning="Acceptance of the engine's last interval: accepted tokens over the configured K, for each draft.",
    ),
    reports="acceptance and acceptance length, as means of each engine's gauge over its last interval; tokens, queue, "
    "KV cache, time to first token and end-to-end latency",
    misleading=frozenset({"unfinished", "errors", "error_ratio", "cut_off"}),
    omits="drafted and accepted tokens, survival by position, K, the time per output token, finish reasons, "
    f"{_NO_STEPS}",
)
DIALECTS: dict[str, Dialect] = {
    dialect.name: dialect
    for dialect in (
        Dialect(name="vllm", engine="vLLM", prefixes=(VLLM,)),
        Dialect(
            name="ray",
            engine="vLLM in Ray Serve",
            prefixes=("ray_vllm_", "ray_vllm:"),  # Newer releases, older ones.
            lacks=_OF_VLLMS_SERVER,
            # Its agent forgets a gauge that is not set for 20 s.
            exposed_kinds={
                **dict.fromkeys((Kind.COUNTER, Kind.HISTOGRAM), Presence.COUNTED),
                Kind.GAUGE: Presence.BUSY,
            },
            begins_after=dict.fromkeys(
                (speculation.ACCEPTED_TOKENS, speculation.ACCEPTED_TOKENS_PER_POS), speculation.DRAFTS
            ),
            sign="ray_node_mem_total",
            engine_label="ReplicaId",
            seen_by=serving.GENERATION_TOKENS,
            in_flight=Metric(
                name="ray_serve_replica_processing_queries",
                kind=Kind.GAUGE,
                unit="requests",
                meaning="Requests inside each replica, whether its engine works on them or not.",
                owner=Owner.TARGET,
            ),
            finished=Metric(
                name="ray_serve_deployment_request_counter_total",
                unit="requests",
                meaning="Requests that each replica has finished.",
                owner=Owner.TARGET,
            ),
        ),
        Dialect(name="otel", engine="vLLM behind OpenTelemetry", prefixes=("vllm_",)),  # Or any client without colons.
        LLAMA_CPP,
        TENSORRT_LLM,
        SGLANG,
    )
}
"""By name in the settings."""


def _require_usable(name: str) -> str:
    if name not in DIALECTS:
        raise ValueError(f"is unknown: write one of {', '.join(DIALECTS)}")
    if missing := [metric.name for metric in LEAST if not DIALECTS[name].spelled(metric)]:
        needed = f"no series for {', '.join(missing)}, which rules and dashboards need of every dialect"
        raise ValueError(f"is incomplete: {needed}: add it to its entry in catalogue/dialects.py")
    return name


DialectName = Annotated[str, AfterValidator(_require_usable), WithJsonSchema({"enum": [*DIALECTS], "type": "string"})]
LOOKED_FOR = ", ".join(prefix for dialect in DIALECTS.values() for prefix in dialect.prefixes)
"""How the series begin that pages are searched for, in words."""


def dialect_of(name: str) -> Dialect | None:
    """The dialect of a series, by its name; None where no engine has it."""
    return next((one for one in DIALECTS.values() if name.startswith(one.prefixes)), None)
