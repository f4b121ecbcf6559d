"""Other names of the series: engines and pipelines that export what vLLM exports, or part of it, in words of their own.

Names follow the sources that docs/operate/dialects.md lists. All else in Draftboard speaks of vLLM's names.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated

from pydantic import AfterValidator, WithJsonSchema

from draftboard.catalogue import CATALOGUE, latency, serving, speculation
from draftboard.catalogue.metric import Kind, Metric, Presence

LEAST = (serving.REQUESTS_RUNNING, serving.GENERATION_TOKENS, speculation.DRAFTS)
"""What rules and dashboards need of every dialect."""
VLLM = "vllm:"
POSITION = speculation.ACCEPTED_TOKENS_PER_POS.own_labels[0]
_TOKENS = "tokens"


@dataclass(frozen=True)
class Spelling:
    """A metric as a dialect writes it."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)  # Names of the metric's own labels: ours, theirs.
    only: tuple[tuple[str, str], ...] = ()  # Labels and values of those series that are meant, where not all are.

    def part(self, suffix: str) -> "Spelling":
        """A histogram's part."""
        return Spelling(self.name + suffix, self.labels, self.only)


@dataclass(frozen=True, eq=False)
class Dialect:
    """How an engine or a pipeline names series."""

    name: str  # In the settings.
    engine: str  # In words.
    prefixes: tuple[str, ...]  # How its series begin: first as rules read them.
    spellings: Mapping[Metric, Spelling] | None = None
    """By metric; None where every series of vLLM is there, under the prefix."""
    lacks: frozenset[Presence] = frozenset()  # Series around the engine that are not there.
    has_models: bool = True  # Whether series carry the label of a model.
    length: Metric | None = None  # A gauge of the acceptance length, where no counters give it.
    rate: Metric | None = None  # A gauge of the acceptance, likewise.
    drafted_by_position: Metric | None = None  # A counter of drafted tokens by position, where an engine has it.
    misleading: frozenset[str] = frozenset()  # Names of signals whose series mean something else here.
    reports: str = ""  # Of it, where that is not all.
    omits: str = ""  # What it does not report.

    def spelled(self, metric: Metric) -> Spelling | None:
        """A metric, or a part of a histogram, in this dialect; None where it is not exported."""
        if metric.presence in self.lacks:
            return None
        if not metric.name.startswith(VLLM) and metric is not self.drafted_by_position:
            return Spelling(metric.name)
        if self.spellings is None:
            return Spelling(self.prefixes[0] + metric.name.removeprefix(VLLM))
        if metric in self.spellings:
            return self.spellings[metric]
        whole = next((one for one in self.spellings if one.name == metric.part_of), None)
        return self.spellings[whole].part(metric.name.removeprefix(whole.name)) if whole else None

    @property
    def own(self) -> tuple[Metric, ...]:
        """Its own series, which vLLM does not have."""
        return tuple(metric for metric in (self.length, self.rate, self.drafted_by_position) if metric)

    @property
    def own_labels(self) -> frozenset[str]:
        """Labels that its series have instead of vLLM's."""
        spellings = (self.spellings or {}).values()
        return frozenset(
            label for one in spellings for label in (*one.labels.values(), *(name for name, _ in one.only))
        )

    def labels_for(self, label: str) -> Iterator[str]:
        """What some of its series call one of our labels."""
        for spelling in (self.spellings or {}).values():
            if label in spelling.labels:
                yield spelling.labels[label]

    @cached_property
    def missing(self) -> frozenset[str]:
        """Names, vLLM's, of the series that it does not export."""
        return frozenset(part.name for metric in CATALOGUE for part in metric.parts if not self.spelled(part))

    @cached_property
    def _by_spelling(self) -> Mapping[str, tuple[tuple[Metric, Spelling], ...]]:
        result: dict[str, list[tuple[Metric, Spelling]]] = {}
        for part in (part for metric in (self.spellings or {}) for part in metric.parts):
            if spelling := self.spelled(part):
                result.setdefault(spelling.name, []).append((part, spelling))
        return {name: tuple(pairs) for name, pairs in result.items()}

    @cached_property
    def exported(self) -> frozenset[str]:
        """Names of all its series that are read."""
        written = (name for metric in CATALOGUE for part in metric.parts for name in self.written(part))
        return frozenset([*(metric.name for metric in self.own), *written])

    def written(self, metric: Metric) -> Iterator[str]:
        """Names that a metric has in it, of any release; none where it is not exported."""
        if spelling := self.spelled(metric):
            ending = spelling.name.removeprefix(self.prefixes[0])
            yield from (prefix + ending for prefix in self.prefixes) if ending != spelling.name else (ending,)

    def meant(self, name: str) -> Iterator[str]:
        """The names of vLLM's series that one of its own stands for."""
        prefix = next((prefix for prefix in self.prefixes if name.startswith(prefix)), None)
        if prefix and self.spellings is None:
            yield VLLM + name.removeprefix(prefix)
        elif name in self._by_spelling:
            yield from (metric.name for metric, _ in self._by_spelling[name])
        else:
            yield name

    def understood(self, name: str, labels: Mapping[str, str]) -> Iterator[tuple[str, dict[str, str]]]:
        """One of its samples under the names that vLLM has for it: one sample may be part of several counts."""
        pairs = self._by_spelling.get(name)
        if pairs is None:
            yield from ((meant, dict(labels)) for meant in self.meant(name))
            return
        for metric, spelling in pairs:
            if all(labels.get(label) == value for label, value in spelling.only):
                ours = {theirs: own for own, theirs in spelling.labels.items()}
                yield metric.name, {ours.get(label, label): value for label, value in labels.items()}

    def named(self, name: str) -> str:
        """A name of vLLM's series as it is here; unchanged where it is not there."""
        if self.spellings is None and name.startswith(VLLM):
            return self.prefixes[0] + name.removeprefix(VLLM)
        metric = next((part for one in CATALOGUE for part in (one, *one.parts) if part.name == name), None)
        spelling = metric and self.spelled(metric)
        return spelling.name if spelling else name


_OF_VLLMS_SERVER = frozenset({Presence.HTTP, Presence.ONE_PROCESS, Presence.PROBE})


def _plainly(prefix: str, *metrics: Metric) -> dict[Metric, Spelling]:
    """Metrics of vLLM's own names under another prefix."""
    return {metric: Spelling(prefix + metric.name.removeprefix(VLLM)) for metric in metrics}


_FOUR = (
    *(speculation.DRAFTS, speculation.DRAFT_TOKENS),
    *(speculation.ACCEPTED_TOKENS, speculation.ACCEPTED_TOKENS_PER_POS),
)
_NO_STEPS = "decode steps, and with them coverage, the expected speedup and the verdict"
LLAMA_CPP = Dialect(
    name="llama.cpp",
    engine="llama.cpp's server",
    prefixes=("llamacpp:",),
    spellings={
        **_plainly("llamacpp:", *_FOUR),
        serving.GENERATION_TOKENS: Spelling("llamacpp:tokens_predicted_total"),
        serving.REQUESTS_RUNNING: Spelling("llamacpp:requests_processing"),
        serving.REQUESTS_WAITING: Spelling("llamacpp:requests_deferred"),
    },
    lacks=_OF_VLLMS_SERVER,
    has_models=False,
    reports="acceptance, acceptance length, survival by position, K, tokens and queue, counted when a request ends",
    omits=f"the model's name, latencies, the KV cache, finish reasons, {_NO_STEPS}; and whether speculation is off",
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
            *(latency.PREFILL_TIME, latency.DECODE_TIME, latency.INFERENCE_TIME),
        ),
        serving.KV_CACHE_USAGE: Spelling("trtllm_kv_cache_utilization"),
        latency.TIME_PER_OUTPUT_TOKEN: Spelling("trtllm_time_per_output_token_seconds"),
    },
    lacks=_OF_VLLMS_SERVER,
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
