"""The probe of `deploy/vllm/probe/`, with the classes of vLLM that it needs, and steps as vLLM describes them."""

import abc
import importlib.util
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest import mock

from prometheus_client import REGISTRY
from prometheus_client.metrics import MetricWrapperBase

from draftboard.catalogue.probe import RUNS

FOLDER = Path(__file__).parents[2] / "deploy/vllm/probe"
MODEL = "some/model"
GAP = 0.01
RELEASE = "0.32.0"
LABELS = {"model_name": MODEL, "engine": "0"}


class StatLoggerBase(abc.ABC):
    """What vLLM requires of a stat logger."""

    @abc.abstractmethod
    def __init__(self, vllm_config: Any, engine_index: int = 0) -> None: ...

    @abc.abstractmethod
    def record(self, scheduler_stats: Any, iteration_stats: Any, mm_cache_stats: Any, engine_idx: int) -> None: ...

    @abc.abstractmethod
    def log_engine_initialized(self) -> None: ...


@dataclass
class SpecDecodingStats:
    """The drafts of a step."""

    num_spec_tokens: int
    num_drafts: int = 0
    num_draft_tokens: int = 0
    num_accepted_tokens: int = 0
    num_accepted_tokens_per_pos: list[int] = field(default_factory=list)
    num_draft_tokens_per_pos: list[int] = field(default_factory=list)


@dataclass
class EarlierStats:
    """The same before vLLM 0.24."""

    num_spec_tokens: int
    num_drafts: int = 0
    num_draft_tokens: int = 0
    num_accepted_tokens: int = 0


def drafts(*lengths: int, accepted: int = 0, most: int = 4) -> SpecDecodingStats:
    """Of the requests that drafted, each with so many tokens."""
    by_position = [sum(length > position for length in lengths) for position in range(most)]
    return SpecDecodingStats(most, len(lengths), sum(lengths), accepted, [], by_position)


def scheduler(running: int, spec: Any = None, details: Any = None) -> SimpleNamespace:
    """What the engine says of a step, with the number of requests that run after it."""
    return SimpleNamespace(num_running_reqs=running, spec_decoding_stats=spec, iteration_details=details)


def tokens(
    decoded: int = 0, first: int = 0, finished: int = 0, preempted: int = 0, gap: float = GAP
) -> SimpleNamespace:
    """What an API server makes of the tokens of a step: so many requests got theirs, `first` of them their first."""
    return SimpleNamespace(
        inter_token_latencies_iter=[gap] * decoded,
        time_to_first_tokens_iter=[1.0] * first,
        finished_requests=[object()] * finished,
        num_preempted_reqs=preempted,
    )


def details(generating: int, generated: int, prompts: int = 0, encoded: int = 0) -> SimpleNamespace:
    """What `--enable-logging-iteration-details` adds: requests by phase, and tokens computed for generating ones."""
    return SimpleNamespace(
        num_generation_requests=generating,
        num_generation_tokens=generated,
        num_ctx_requests=prompts,
        num_encoder_inputs=encoded,
    )


def config(method: str | None = "ngram", k: int = 4, model: str = MODEL, **more: Any) -> SimpleNamespace:
    """VLLM's configuration; method None is one without speculation."""
    speculation = SimpleNamespace(method=method, num_speculative_tokens=k, **more) if method else None
    return SimpleNamespace(model_config=SimpleNamespace(served_model_name=model), speculative_config=speculation)


def vllm(base: Any = StatLoggerBase, stats: Any = SpecDecodingStats) -> AbstractContextManager[Any]:
    """A vLLM to import from; with base None, one that has no stat loggers."""
    parents = ("vllm", "vllm.v1", "vllm.v1.metrics", "vllm.v1.spec_decode")
    fakes: dict[str, Any] = {
        **{name: ModuleType(name) for name in parents},
        "vllm": SimpleNamespace(__version__=RELEASE),
        "vllm.v1.metrics.loggers": SimpleNamespace(StatLoggerBase=base) if base else None,
        "vllm.v1.spec_decode.metrics": SimpleNamespace(SpecDecodingStats=stats),
    }
    return mock.patch.dict(sys.modules, fakes)


@contextmanager
def imported(base: Any = StatLoggerBase, stats: Any = SpecDecodingStats) -> Iterator[ModuleType]:
    """The module, as of a process that has just imported it; afterwards its metrics are gone."""
    with vllm(base, stats):
        module = _loaded("draftboard_probe")
    yield module
    for metric in metrics(module):
        REGISTRY.unregister(metric)


@contextmanager
def lens_imported() -> Iterator[ModuleType]:
    """The module of the lens alone, which needs nothing of vLLM; afterwards its metrics are gone."""
    module = _loaded("draftboard_lens")
    try:
        yield module
    finally:
        for metric in metrics(module):
            REGISTRY.unregister(metric)


def _loaded(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def metrics(module: ModuleType) -> Iterator[MetricWrapperBase]:
    """All metrics that the module made."""
    for one in vars(module).values():
        yield from (each for each in (one if isinstance(one, tuple) else [one]) if isinstance(each, MetricWrapperBase))


def runs() -> dict[str, str]:
    """What the engine runs, as far as it is known."""
    (labels,) = (
        sample.labels
        for metric in REGISTRY.collect()
        for sample in metric.samples
        if sample.name == "draftboard_spec_info" and LABELS.items() <= sample.labels.items()
    )
    return {name: labels[name] for name in RUNS if labels[name]}


def value(name: str, **labels: str) -> float | None:
    """The value of one series of the engine."""
    return REGISTRY.get_sample_value(f"draftboard_spec_{name}", {**LABELS, **labels})


def series(name: str) -> dict[tuple[str, ...], float]:
    """The series of the engine that are not 0, by their own labels in alphabetic order, without what it runs."""
    return {
        tuple(text for label, text in sorted(sample.labels.items()) if label not in {*LABELS, *RUNS}): sample.value
        for metric in REGISTRY.collect()
        for sample in metric.samples
        if sample.name == f"draftboard_spec_{name}" and sample.value and LABELS.items() <= sample.labels.items()
    }
