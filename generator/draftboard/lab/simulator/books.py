"""Which series a server has, and what an engine counts in them: vLLM's metrics from what happened to requests.

Samples of histograms are noted as they happen and counted when a page is read: a thousand cost as little as one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from draftboard.catalogue import (
    CATALOGUE,
    ELSEWHERE,
    Histogram,
    Metric,
    Owner,
    Presence,
    around,
    latency,
    lens,
    serving,
    speculation,
    unread,
)
from draftboard.lab.simulator.arrivals import DRAFTING, Batch, Floats, Integers, blocks, joined
from draftboard.lab.simulator.scenario import Server

_CPU, _COLLECTIONS = around.LASTING
_CPU_SECONDS_PER_REQUEST = 0.02

_HOT, _LONG = ([*bounds, bounds[-1] + 1] for bounds in (lens.TEMPERATURES, lens.PROMPTS))
_CLASSES = {
    "temperature": [lens.class_of(bound, lens.TEMPERATURES) for bound in (None, *_HOT)],
    "prompt": [lens.class_of(bound, lens.PROMPTS) for bound in _LONG],
}
_CLASSES["temperature and prompt"] = [", ".join(both) for both in product(*_CLASSES.values())]
"""Classes of the lens, by dimension; no two dimensions share a name."""
_TOKENS_OF = {
    latency.REQUEST_PROMPT_TOKENS: "prompt",
    latency.REQUEST_GENERATION_TOKENS: "made",
    unread.MOST_GENERATION_TOKENS: "made",
    unread.PARAMS_MAX_TOKENS: "limit",
    unread.PREEMPTIONS_OF_REQUEST: "preempted",
}
_UNDECLARED = "simulated"  # the value of a label for which the catalogue declares none
PAGE = tuple(metric for metric in (*CATALOGUE, *around.LASTING) if metric.presence not in ELSEWHERE)
"""What a scrape keeps of a server: every series of any release of vLLM that Draftboard reads."""


@dataclass(frozen=True)
class Child:
    """One metric with one set of labels, and where its values lie in the row."""

    metric: Metric
    labels: dict[str, str]
    at: slice
    series: tuple[tuple[str, dict[str, str]], ...]  # name and labels of each of its samples


def children(server: Server) -> tuple[Child, ...]:
    """All that a server exposes, family by family."""
    result: list[Child] = []
    absent = {Presence.SPECULATING: not server.speculates, Presence.ONE_PROCESS: server.engines > 1}
    page = (*PAGE, *lens.METRICS) if server.lens else PAGE
    for metric in (metric for metric in (*page, *unread.UNREAD) if not absent.get(metric.presence)):
        for labels in _labels(metric, server):
            start = result[-1].at.stop if result else 0
            series = tuple(_series(metric, labels, server))
            result.append(Child(metric, labels, slice(start, start + len(series)), series))
    return tuple(result)


def _series(metric: Metric, labels: dict[str, str], server: Server) -> Iterator[tuple[str, dict[str, str]]]:
    if not isinstance(metric, Histogram):
        yield metric.name, labels
        return
    for bound in (*map(str, metric.bounds(server.max_model_len)), "+Inf"):
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
    if metric in lens.BY_CLASS:
        yield from ({"dimension": by, "class": name} | model for by, names in _CLASSES.items() for name in names)
        return
    for owner in owners.get(metric.owner, [{}]):
        for own in product(*(values.get(label, (_UNDECLARED,)) for label in metric.own_labels)):
            yield dict(zip(metric.own_labels, map(str, own), strict=True)) | owner


class Steps(NamedTuple):
    """What requests (rows) did in steps (columns), in tokens."""

    drafted: Integers
    accepted: Integers  # those that the end of the answer cuts off included
    emitted: Integers  # to the user
    active: NDArray[np.bool_]  # whether anything was


class Books:
    """The series of one engine, and those that it shares with the others of its server."""

    def __init__(self, server: Server, engine: int, layout: Sequence[Child], row: Floats) -> None:
        """Count into a server's row, which has this layout."""
        self._server = server
        self._row = row
        self._at = {
            (child.metric.name, "".join(child.labels[label] for label in child.metric.own_labels[-1:])): child.at
            for child in layout
            if child.labels.get("engine", str(engine)) == str(engine)
        }
        self._positions = [  # of the row
            at.start for (name, _), at in self._at.items() if name == speculation.ACCEPTED_TOKENS_PER_POS.name
        ]
        self._noted: dict[str, tuple[Histogram, list[Floats | Integers], list[Floats | Integers]]] = {}
        self._finished: list[Batch] = []
        self.add(serving.CACHE_CONFIG, 1, str(server.kv_blocks))
        self.add(unread.SLEEP_STATE, 1, "awake")

    def entered(self, fresh: Batch, phantoms: int) -> None:
        """Requests gave their first token; so many, fresh or resumed, had had one uncomputed token."""
        prompt, cached = int(fresh["prompt"].sum()), int(fresh["cached"].sum())
        hits, source, tier = serving.PREFIX_CACHE_HITS, "local_cache_hit", "device"
        if self._server.kv_transfer:
            hits, source, tier = serving.EXTERNAL_PREFIX_CACHE_HITS, "external_kv_transfer", "p2p"
            self.add(serving.EXTERNAL_PREFIX_CACHE_QUERIES, prompt)
        self.add(serving.PREFIX_CACHE_QUERIES, prompt)
        self.add(hits, cached)
        self.add(unread.PROMPT_TOKENS_CACHED, cached)
        self.add(unread.PROMPT_TOKENS_CACHED_BY_SOURCE, cached, tier)
        self.add(serving.PROMPT_TOKENS, prompt)
        self.add(serving.PROMPT_TOKENS_BY_SOURCE, cached, source)
        self.add(serving.PROMPT_TOKENS_BY_SOURCE, prompt - cached, "local_compute")
        if self._server.k and phantoms:
            # Placeholders are scheduled, verified and never accepted: vLLM counts them (from 0.28 on).
            self.add(speculation.DRAFTS, phantoms)
            self.add(speculation.DRAFT_TOKENS, phantoms * self._server.k)
        self.note(latency.TIME_TO_FIRST_TOKEN, fresh["first"] - fresh["arrived"])

    def decoded(self, steps: Steps, seconds: Floats, *, outputs: Integers, computed: Integers) -> None:
        """Steps of such lengths are done; each also gave out so many first tokens and computed so much of prompts."""
        if self._server.k:
            self.add(speculation.DRAFTS, int(np.count_nonzero(steps.drafted)))
            self.add(speculation.DRAFT_TOKENS, steps.drafted.sum())
            self.add(speculation.ACCEPTED_TOKENS, steps.accepted.sum())
            by_depth = np.bincount(steps.accepted.ravel(), minlength=self._server.k + 1)
            self._row[self._positions] += by_depth[:0:-1].cumsum()[::-1]
        emitted = steps.emitted.sum(axis=0) + outputs
        self.add(serving.GENERATION_TOKENS, emitted.sum())
        self.note(latency.STEP_LATENCY, seconds, steps.active.sum(axis=0))
        self.note(latency.STEP_TOKENS, (emitted + computed)[emitted > 0])

    def ended(self, done: Batch) -> None:
        """Their answers are complete, or their clients went away: those are counted by the frontend alone."""
        self._frontend(len(done))
        if self._server.lens:
            self.add(lens.UNMEASURED, int(np.count_nonzero(done["left"])), "cut")
        done = done[~done["left"]]
        self._finished.append(done)
        if self._server.lens:
            self._seen(done)
        cut = int(np.count_nonzero(done["cut"]))
        self.add(serving.REQUESTS_FINISHED, cut, "length")
        self.add(serving.REQUESTS_FINISHED, len(done) - cut, "stop")

    def _seen(self, done: Batch) -> None:
        """Count requests by class, as the lens does when they end."""
        for one in done:
            known = None if np.isnan(one["temperature"]) else float(one["temperature"])
            classes = [lens.class_of(known, lens.TEMPERATURES), lens.class_of(float(one["prompt"]), lens.PROMPTS)]
            tokens = (*(one[name] for name in DRAFTING), one["prompt"], one["made"])
            amounts = (1, *tokens, one["last"] - one["first"], one["made"] - 1)
            for name in (*classes, ", ".join(classes)):
                for metric, amount in zip(lens.BY_CLASS, amounts, strict=True):
                    self.add(metric, amount, name)

    def _frontend(self, requests: int) -> None:
        self.add(around.HTTP_REQUESTS, requests, "2xx")
        if self._server.engines == 1:  # what several processes work is not exposed
            self.add(_CPU, requests * _CPU_SECONDS_PER_REQUEST)
            self.add(_COLLECTIONS, requests, "0")

    def settle(self, running: Batch, waiting: int) -> None:
        """Count what was noted, and put down how things are now."""
        done, self._finished = joined(*self._finished), []
        decode = done["last"] - done["first"]
        self.note(latency.TIME_PER_OUTPUT_TOKEN, decode / np.maximum(done["made"] - 1, 1))
        self.note(latency.END_TO_END_LATENCY, done["last"] - done["arrived"])
        self.note(latency.QUEUE_TIME, done["scheduled"] - done["arrived"])
        self.note(latency.PREFILL_TIME, done["first"] - done["scheduled"])
        self.note(latency.DECODE_TIME, decode)
        self.note(unread.INFERENCE_TIME, done["last"] - done["scheduled"])
        for metric, of in _TOKENS_OF.items():
            self.note(metric, done[of])
        self.note(unread.PARAMS_N, np.ones(len(done)))
        self.note(unread.PREFILL_COMPUTED, done["prompt"] - done["cached"])
        for metric, all_samples, all_times in self._noted.values():
            samples, times = np.concatenate(all_samples), np.concatenate(all_times)
            row = self._row[self._at[metric.name, ""]]
            bounds = metric.bounds(self._server.max_model_len)
            result = np.bincount(np.searchsorted(bounds, samples), times, minlength=len(bounds) + 1)
            row[:-2] += np.cumsum(result)
            row[-2] += times.sum()
            row[-1] += samples @ times
        self._noted.clear()
        held = blocks(running, self._server.block_size).sum()
        for gauge, own, value in (
            (serving.REQUESTS_RUNNING, "", len(running)),
            (serving.REQUESTS_WAITING, "", waiting),
            (serving.REQUESTS_WAITING_BY_REASON, "capacity", waiting),
            (serving.KV_CACHE_USAGE, "", min(1.0, held / self._server.kv_blocks)),
        ):
            self._row[self._at[gauge.name, own].start] = value

    def add(self, metric: Metric, amount: float, own: str = "") -> None:
        """Count so much more in the series whose own label has this value."""
        self._row[self._at[metric.name, own].start] += amount

    def note(self, metric: Histogram, samples: Floats | Integers, times: Floats | Integers | None = None) -> None:
        """Take samples of a histogram, each so many times, or once."""
        _, all_samples, all_times = self._noted.setdefault(metric.name, (metric, [], []))
        all_samples.append(samples)
        all_times.append(np.ones(len(samples)) if times is None else times)
