"""A stat logger for vLLM: how each engine drafts, and what its decode steps take, beside vLLM's own metrics.

vLLM loads it in each API server, by its entry point, and makes a `Probe` per engine. README.md lists the series.
"""

import abc
import contextlib
import functools
import logging
import os
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from prometheus_client import Counter, Gauge
from vllm.v1.metrics.loggers import StatLoggerBase
from vllm.v1.spec_decode.metrics import SpecDecodingStats

import vllm

# One registration per process, however many engines it has. vLLM unregisters names that begin with "vllm:".
ENGINE = ("model_name", "engine")
STEP = (*ENGINE, "batch", "k")
RUNS = {
    "draft_model": "speculative_config.model",
    "draft_model_revision": "speculative_config.revision",
    "k_schedule": "speculative_config.num_speculative_tokens_per_batch_size",
    "model_revision": "model_config.revision",
    "model_runner": "use_v2_model_runner",
    "attention_backend": "attention_config.backend",
    "quantization": "model_config.quantization",
    "kv_cache_dtype": "cache_config.cache_dtype",
    "tensor_parallel_size": "parallel_config.tensor_parallel_size",
    "pipeline_parallel_size": "parallel_config.pipeline_parallel_size",
    "data_parallel_size": "parallel_config.data_parallel_size",
    "expert_parallel": "parallel_config.enable_expert_parallel",
}
"""Labels of what changes with the server's arguments only, and where vLLM's configuration has it."""
# The default mode of gauges would add the process to the labels.
INFO = Gauge(
    "draftboard_spec_info",
    "How the engine drafts, and what it runs; method none without speculation.",
    (*ENGINE, "method", "k", "adaptive", "rejection", "vllm_version", *RUNS),
    multiprocess_mode="mostrecent",
)
POSITIONS = Counter("draftboard_spec_draft_tokens_per_pos", "Draft tokens, by position.", (*ENGINE, "position"))
STEPS = Counter("draftboard_spec_steps", "Engine steps, by what is known of them.", (*ENGINE, "kind"))
OF_STEPS = (
    Counter("draftboard_spec_decode_steps", "Pure decode steps.", STEP),
    Counter("draftboard_spec_decode_step_seconds", "Time of pure decode steps.", STEP),
    Counter("draftboard_spec_decode_step_requests", "Requests in pure decode steps.", STEP),
    Counter("draftboard_spec_decode_step_drafts", "Drafts in pure decode steps.", STEP),
    Counter("draftboard_spec_decode_step_accepted_tokens", "Tokens accepted in pure decode steps.", STEP),
)
ERRORS = Counter("draftboard_spec_probe_errors", "Calls in which the probe failed.", ENGINE)

DECODE = "decode"
"""All requests decoded and their token times are known: the step is timed."""
PREFILL = "prefill"
"""A prompt, or an encoder's input, was computed in it."""
UNSURE = "unsure"
"""Some request is not accounted for."""
SILENT = "silent"
"""No token of it was seen: parts of prompts only, or aborted requests."""
IDLE = "idle"
"""Nothing was computed: the engine waited for others of its data parallel group."""
KINDS = (DECODE, PREFILL, UNSURE, SILENT, IDLE)

log = logging.getLogger("vllm.draftboard_probe")  # below "vllm", whose handler prints it
Call = Callable[..., None]


class Drafting(NamedTuple):
    """How an engine drafts, as vLLM resolved its configuration."""

    method: str = "none"
    k: int = 0
    adaptive: bool = False
    """The worker verifies fewer tokens than the scheduler counts as drafted, and reports that nowhere."""
    rejection: str = ""


def drafting(speculation: Any) -> Drafting:
    """Of vLLM's SpeculativeConfig, or of None."""
    if speculation is None:
        return Drafting()
    return Drafting(
        method=str(speculation.method),
        k=speculation.num_speculative_tokens or 0,
        adaptive=bool(getattr(speculation, "enable_adaptive_verification", False)),
        rejection=str(getattr(speculation, "rejection_sample_method", "")),
    )


def runs(config: Any) -> Iterator[str]:
    """Values of vllm_version and RUNS; empty where this release of vLLM has none."""
    yield word(getattr(vllm, "__version__", None))
    for path in RUNS.values():
        value = None
        with contextlib.suppress(Exception):  # a property may compute, and fail
            value = functools.reduce(getattr, path.split("."), config)
        yield word(value)


def word(value: Any) -> str:
    """A value as a label, in at most 120 characters."""
    if value is None or isinstance(value, bool):
        return "" if value is None else str(value).lower()
    return str(getattr(value, "name", value))[:120]


def bucket(batch: int) -> int:
    """The least of 1, 2, 3, 4, 6, 8, 12, 16, 24, ... (two per octave) that is not below a batch."""
    power = 1 << (batch - 1).bit_length()
    return power * 3 // 4 if batch <= power * 3 // 4 else power


def length(drafts: Any, batch: int, how: Drafting) -> str:
    """K if each request of the step had K draft tokens, 0 if none had any; else why that is not known."""
    if drafts is None or not drafts.num_drafts:
        return "0"
    if how.adaptive:
        return "adaptive"
    k, rest = divmod(drafts.num_draft_tokens, batch)
    by_position = getattr(drafts, "num_draft_tokens_per_pos", None)
    # Drafts of one mean length may differ. Where one of each request reaches it, none is shorter, so none is longer.
    same = k == how.k if by_position is None else by_position[k - 1 : k] == [batch]
    return str(k) if same and not rest else "mixed"


def kind_by_details(details: Any, most: int) -> tuple[str, int]:
    """Kind and batch of a step by what `--enable-logging-iteration-details` tells."""
    batch = details.num_generation_requests
    if not batch + details.num_ctx_requests:
        return IDLE, 0
    # A request whose prompt is computed again after a preemption counts as generating.
    again = details.num_generation_tokens > batch * (1 + most)
    return (PREFILL, 0) if details.num_ctx_requests or details.num_encoder_inputs or again else (DECODE, batch)


def kind_by_tokens(scheduler: Any, tokens: Any, before: int | None) -> tuple[str, int]:
    """Kind and batch of a step by the requests that it gave tokens; `before` were running after the step before."""
    # vLLM tells of a preemption when the request's prompt has been computed again.
    if tokens.time_to_first_tokens_iter or tokens.num_preempted_reqs:
        return PREFILL, 0
    decoded = len(tokens.inter_token_latencies_iter)
    # Who runs after the step and was given no token is in prefill; who ran before it was aborted or preempted.
    after = scheduler.num_running_reqs + len(tokens.finished_requests)
    return (DECODE, decoded) if decoded == after and before in (decoded, None) else (UNSURE, 0)


class Recorder:
    """Adds up the steps of one engine. Of several API servers each adds the steps that vLLM reports to it."""

    def __init__(self, config: Any, labels: tuple[str, str]) -> None:
        # vLLM sets it for several API servers. What the engine says of a step goes to one of them: nothing is counted
        # twice, but each sees the tokens of its own requests only.
        self._sole = "PROMETHEUS_MULTIPROC_DIR" not in os.environ
        self._running: int | None = None
        self._how = drafting(config.speculative_config)

        # labels() takes longer than inc().
        self._of_position = functools.cache(lambda position: POSITIONS.labels(*labels, str(position)))
        self._of_kind = {kind: STEPS.labels(*labels, kind) for kind in KINDS}
        self._of_steps = functools.cache(lambda *step: [metric.labels(*labels, *step) for metric in OF_STEPS])
        how = self._how
        INFO.labels(*labels, how.method, str(how.k), str(how.adaptive).lower(), how.rejection, *runs(config)).set(1)
        # From 0 on, so that rate() sees the first increase. vLLM before 0.24 has no positions, so there are no zeros.
        if "num_draft_tokens_per_pos" in getattr(SpecDecodingStats, "__annotations__", ()):
            for position in range(how.k):
                self._of_position(position)

    def record(self, scheduler: Any, tokens: Any) -> None:
        """Add one step.

        Args:
            scheduler: vLLM's SchedulerStats: of the whole engine.
            tokens: vLLM's IterationStats: of this API server; None if it was given no output.
        """
        drafts = scheduler.spec_decoding_stats
        for position, count in enumerate(getattr(drafts, "num_draft_tokens_per_pos", None) or ()):
            if count:
                self._of_position(position).inc(count)
        kind, batch = self.kind(scheduler, tokens)
        self._running = scheduler.num_running_reqs
        self._of_kind[kind].inc()
        if kind == DECODE:
            # On the engine's clock, and the same for all requests but those that sat out a step.
            self._time(batch, drafts, min(tokens.inter_token_latencies_iter))

    def kind(self, scheduler: Any, tokens: Any) -> tuple[str, int]:
        """What is known of a step, and its batch if that is decoding."""
        details = getattr(scheduler, "iteration_details", None)
        if details is not None:
            kind, batch = kind_by_details(details, self._how.k)
            untimed = kind == DECODE and not (tokens and tokens.inter_token_latencies_iter)
            return (SILENT, 0) if untimed else (kind, batch)
        if tokens is None or not (tokens.inter_token_latencies_iter or tokens.time_to_first_tokens_iter):
            return SILENT, 0
        kind, batch = kind_by_tokens(scheduler, tokens, self._running)
        return (kind, batch) if self._sole or kind == PREFILL else (UNSURE, 0)

    def _time(self, batch: int, drafts: Any, seconds: float) -> None:
        amounts = (1, seconds, batch, *((drafts.num_drafts, drafts.num_accepted_tokens) if drafts else (0, 0)))
        counters = self._of_steps(str(bucket(batch)), length(drafts, batch, self._how))
        for counter, amount in zip(counters, amounts, strict=True):
            if amount:
                counter.inc(amount)


def harmless(call: Call) -> Call:
    """Keep exceptions from vLLM: one in __init__ prevents its start, one in record() fails all requests and ends it."""

    @functools.wraps(call)
    def guarded(self: "Probe", *args: Any, **options: Any) -> None:
        try:
            call(self, *args, **options)
        except Exception:
            if not self.failed:
                self.failed = True
                log.exception("draftboard probe: recording failed, vLLM goes on; further failures are only counted")
            with contextlib.suppress(Exception):  # such as a full disk, where the values of several API servers are
                ERRORS.labels(*self.labels).inc()

    return guarded


class Probe(StatLoggerBase):
    """What vLLM calls: passes steps on to the engine's recorder, and never fails."""

    labels = ("", "")
    recorder: Recorder | None = None
    failed = False

    @harmless
    def __init__(self, vllm_config: Any, engine_index: int = 0, *_: object, **__: object) -> None:
        self.labels = ("", str(engine_index))
        self.labels = (str(vllm_config.model_config.served_model_name), str(engine_index))
        ERRORS.labels(*self.labels)
        self.recorder = Recorder(vllm_config, self.labels)

    @harmless
    def record(self, scheduler_stats: Any, iteration_stats: Any, *_: object, **__: object) -> None:
        """Add a step, if vLLM reports it to this API server."""
        if scheduler_stats is not None and self.recorder is not None:
            self.recorder.record(scheduler_stats, iteration_stats)

    def log_engine_initialized(self) -> None:
        """Nothing: vLLM requires the method."""


# A method that a later vLLM requires must not keep the server from starting.
for _name in getattr(Probe, "__abstractmethods__", ()):
    setattr(Probe, _name, lambda *_, **__: None)
abc.update_abstractmethods(Probe)


def __getattr__(name: str) -> Any:
    """`draftboard_probe.Lens`, as vLLM's option --middleware names it: without that option nothing of it is loaded."""
    if name != "Lens":
        raise AttributeError(name)
    from draftboard_lens import Lens  # noqa: PLC0415

    return Lens
