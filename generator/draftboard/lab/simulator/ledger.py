"""The series of a server: which it has, and their values, all in one row."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from draftboard.catalogue import CATALOGUE, Histogram, Metric, Owner, Presence, around, serving, speculation
from draftboard.lab.simulator.arrivals import Floats, Integers
from draftboard.lab.simulator.scenario import Server

PAGE = tuple(
    metric
    for metric in (*CATALOGUE, *around.LASTING)
    if metric.presence not in {Presence.PROMETHEUS, Presence.GPU_EXPORTER}
)
"""What a simulated server exposes: of vLLM 0.32's page, every series that Draftboard reads."""
_HTTP = {"handler": ("/v1/chat/completions",), "method": ("POST",), "status": ("2xx", "5xx")}


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
    for metric in PAGE:
        if _exposed(metric, server):
            for labels in _labels(metric, server):
                start = found[-1].at.stop if found else 0
                series = tuple(_series(metric, labels))
                found.append(Child(metric, labels, slice(start, start + len(series)), series))
    return tuple(found)


def _exposed(metric: Metric, server: Server) -> bool:
    match metric.presence:
        case Presence.SPECULATING:
            return server.speculates
        case Presence.ONE_PROCESS:
            return server.engines == 1
        case _:
            return True


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
    values = metric.values
    if metric is around.HTTP_REQUESTS:
        values = _HTTP
    elif metric is speculation.ACCEPTED_TOKENS_PER_POS:
        values = {"position": tuple(str(position) for position in range(server.k or 0))}
    elif metric is serving.CACHE_CONFIG:
        values = _cache_configuration(server)
    for owner in _owners(metric, server):
        for own in product(*(values[label] for label in metric.own_labels)):
            yield dict(zip(metric.own_labels, own, strict=True)) | owner


def _owners(metric: Metric, server: Server) -> list[dict[str, str]]:
    engines = [{"engine": str(number)} for number in range(server.engines)]
    model = {"model_name": server.model}
    match metric.owner:
        case Owner.ENGINE:
            return [model | engine for engine in engines]
        case Owner.CONFIG:
            return engines
        case Owner.FRONTEND:
            return [model]
        case _:
            return [{}]


def _cache_configuration(server: Server) -> dict[str, tuple[str, ...]]:
    tokens = server.kv_blocks * server.block_size
    return {
        "block_size": (str(server.block_size),),
        "cache_dtype": ("auto",),
        "kv_cache_max_concurrency": (str(tokens / server.max_model_len),),
        "kv_cache_size_tokens": (str(tokens),),
        "num_gpu_blocks": (str(server.kv_blocks),),
    }


class Ledger:
    """Those values of a server's row that one engine writes, or that none of them does."""

    def __init__(self, row: Floats, layout: Sequence[Child], engine: int | None) -> None:
        number = None if engine is None else str(engine)
        own = [child for child in layout if child.labels.get("engine") == number]
        self._row = row
        self._all: dict[str, slice] = {}
        self._one: dict[tuple[str, str], int] = {}
        for child in own:
            name = child.metric.name
            first = self._all.get(name, child.at).start
            self._all[name] = slice(first, child.at.stop)
            last_label = child.metric.own_labels[-1:]
            self._one[name, "".join(child.labels[label] for label in last_label)] = child.at.start

    def add(self, metric: Metric, amount: float, own: str = "") -> None:
        """Count so much more in the series whose own label has this value."""
        self._row[self._one[metric.name, own]] += amount

    def add_each(self, metric: Metric, amounts: Integers | int) -> None:
        """Count in every series of the metric, in their order."""
        self._row[self._all[metric.name]] += amounts

    def put(self, metric: Metric, value: float, own: str = "") -> None:
        """Set a gauge."""
        self._row[self._one[metric.name, own]] = value

    def observe(self, metric: Histogram, samples: Floats, times: Floats) -> None:
        """Put samples into a histogram, each so many times."""
        row = self._row[self._all[metric.name]]
        found = np.bincount(np.searchsorted(metric.buckets, samples), times, minlength=len(metric.buckets) + 1)
        row[:-2] += np.cumsum(found)
        row[-2] += times.sum()
        row[-1] += samples @ times
