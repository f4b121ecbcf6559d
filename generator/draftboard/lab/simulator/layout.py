"""Which series a server has, and where their values lie in one row."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from draftboard.catalogue import CATALOGUE, Histogram, Metric, Owner, Presence, around
from draftboard.lab.simulator.scenario import Server

PAGE = tuple(
    metric
    for metric in (*CATALOGUE, *around.LASTING)
    if metric.presence not in {Presence.PROMETHEUS, Presence.GPU_EXPORTER}
)
"""What a simulated server exposes: of vLLM 0.32's page, every series that Draftboard reads."""


@dataclass(frozen=True)
class Child:
    """One metric with one set of labels, and where its values lie in the row."""

    metric: Metric
    labels: dict[str, str]
    at: slice
    series: tuple[tuple[str, dict[str, str]], ...]
    """Name and labels of each of its samples."""


def children(server: Server) -> tuple[Child, ...]:
    """All that a server exposes, family by family."""
    found: list[Child] = []
    absent = {Presence.SPECULATING: not server.speculates, Presence.ONE_PROCESS: server.engines > 1}
    for metric in (metric for metric in PAGE if not absent.get(metric.presence)):
        for labels in _labels(metric, server):
            start = found[-1].at.stop if found else 0
            series = tuple(_series(metric, labels))
            found.append(Child(metric, labels, slice(start, start + len(series)), series))
    return tuple(found)


def _series(metric: Metric, labels: dict[str, str]) -> Iterator[tuple[str, dict[str, str]]]:
    if not isinstance(metric, Histogram):
        yield metric.name, labels
        return
    for bound in (*map(str, metric.buckets), "+Inf"):
        yield metric.bucket.name, labels | {"le": bound}
    yield metric.count.name, labels
    yield metric.sum.name, labels


def _labels(metric: Metric, server: Server) -> Iterator[dict[str, str]]:
    """Every combination of the values that its labels have, engine by engine."""
    model, engines = {"model_name": server.model}, [{"engine": str(number)} for number in range(server.engines)]
    owners = {Owner.ENGINE: [model | engine for engine in engines], Owner.CONFIG: engines, Owner.FRONTEND: [model]}
    tokens = server.kv_blocks * server.block_size
    values: dict[str, tuple[object, ...]] = {
        **metric.values,
        "handler": ("/v1/chat/completions",),
        "method": ("POST",),
        "status": ("2xx", "5xx"),
        "position": tuple(range(server.k or 0)),
        "block_size": (server.block_size,),
        "cache_dtype": ("auto",),
        "kv_cache_max_concurrency": (tokens / server.max_model_len,),
        "kv_cache_size_tokens": (tokens,),
        "num_gpu_blocks": (server.kv_blocks,),
    }
    for owner in owners.get(metric.owner, [{}]):
        for own in product(*(values[label] for label in metric.own_labels)):
            yield dict(zip(metric.own_labels, map(str, own), strict=True)) | owner
