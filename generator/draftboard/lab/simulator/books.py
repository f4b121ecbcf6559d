"""What an engine counts, and when: vLLM's metrics from what happened to requests.

Samples of histograms are noted as they happen and counted when a page is read: a thousand cost as little as one.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from draftboard.catalogue import Histogram, Metric, around, latency, serving, speculation
from draftboard.lab.simulator.arrivals import Batch, Floats, Integers, blocks, joined
from draftboard.lab.simulator.layout import Child
from draftboard.lab.simulator.scenario import Server

_CPU, _COLLECTIONS = around.LASTING
_CPU_SECONDS_PER_REQUEST = 0.02


class Steps(NamedTuple):
    """What requests (rows) did in steps (columns), in tokens."""

    drafted: Integers
    accepted: Integers  # those that the end of the answer cuts off included
    emitted: Integers  # to the user


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
        self._noted: dict[str, tuple[Histogram, list[Floats | Integers], list[Floats | Integers]]] = {}
        self._finished: list[Batch] = []
        self._add(serving.CACHE_CONFIG, 1, str(server.kv_blocks))

    def entered(self, fresh: Batch, phantoms: int) -> None:
        """Requests gave their first token; so many, fresh or resumed, had had one uncomputed token."""
        prompt, cached = int(fresh["prompt"].sum()), int(fresh["cached"].sum())
        hits, source = serving.PREFIX_CACHE_HITS, "local_cache_hit"
        if self._server.kv_transfer:
            hits, source = serving.EXTERNAL_PREFIX_CACHE_HITS, "external_kv_transfer"
            self._add(serving.EXTERNAL_PREFIX_CACHE_QUERIES, prompt)
        self._add(serving.PREFIX_CACHE_QUERIES, prompt)
        self._add(hits, cached)
        self._add(serving.PROMPT_TOKENS, prompt)
        self._add(serving.PROMPT_TOKENS_BY_SOURCE, cached, source)
        self._add(serving.PROMPT_TOKENS_BY_SOURCE, prompt - cached, "local_compute")
        if self._server.k and phantoms:
            # Placeholders are scheduled, verified and never accepted: vLLM counts them (from 0.28 on).
            self._add(speculation.DRAFTS, phantoms)
            self._add(speculation.DRAFT_TOKENS, phantoms * self._server.k)
        self._note(latency.TIME_TO_FIRST_TOKEN, fresh["first"] - fresh["arrived"])

    def resumed(self, gaps: Floats) -> None:
        """Preempted requests gave their next token after such gaps: for users a very long step."""
        self._note(latency.STEP_LATENCY, gaps)

    def decoded(self, steps: Steps, seconds: Floats, *, outputs: Integers, computed: Integers) -> None:
        """Steps of such lengths are done; each also gave out so many first tokens and computed so much of prompts."""
        if self._server.k:
            self._add(speculation.DRAFTS, int(np.count_nonzero(steps.drafted)))
            self._add(speculation.DRAFT_TOKENS, steps.drafted.sum())
            self._add(speculation.ACCEPTED_TOKENS, steps.accepted.sum())
            by_depth = np.bincount(steps.accepted.ravel(), minlength=self._server.k + 1)
            for position, accepted in enumerate(by_depth[::-1].cumsum()[::-1][1:]):
                self._add(speculation.ACCEPTED_TOKENS_PER_POS, accepted, str(position))
        emitted = steps.emitted.sum(axis=0) + outputs
        self._add(serving.GENERATION_TOKENS, emitted.sum())
        self._note(latency.STEP_LATENCY, seconds, (steps.emitted > 0).sum(axis=0))
        self._note(latency.STEP_TOKENS, (emitted + computed)[emitted > 0])

    def finished(self, done: Batch) -> None:
        """Their answers are complete."""
        self._finished.append(done)
        cut = int(np.count_nonzero(done["cut"]))
        self._add(serving.REQUESTS_FINISHED, cut, "length")
        self._add(serving.REQUESTS_FINISHED, len(done) - cut, "stop")
        self._add(around.HTTP_REQUESTS, len(done), "2xx")
        if self._server.engines == 1:  # what several processes work is not exposed
            self._add(_CPU, len(done) * _CPU_SECONDS_PER_REQUEST)
            self._add(_COLLECTIONS, len(done), "0")

    def rejected(self, count: int) -> None:
        """So many requests were turned away because the queue is full."""
        self._add(serving.ADMISSION_REJECTIONS, count, "max_num_queued_reqs")
        self._add(around.HTTP_REQUESTS, count, "5xx")

    def preempted(self, count: int) -> None:
        """So many were put back into the queue."""
        self._add(serving.PREEMPTIONS, count)

    def settle(self, running: Batch, waiting: int) -> None:
        """Count what was noted, and put down how things are now."""
        done, self._finished = joined(*self._finished), []
        decode = done["last"] - done["first"]
        self._note(latency.TIME_PER_OUTPUT_TOKEN, decode / np.maximum(done["made"] - 1, 1))
        self._note(latency.END_TO_END_LATENCY, done["last"] - done["arrived"])
        self._note(latency.QUEUE_TIME, done["scheduled"] - done["arrived"])
        self._note(latency.INFERENCE_TIME, done["last"] - done["scheduled"])
        self._note(latency.PREFILL_TIME, done["first"] - done["scheduled"])
        self._note(latency.DECODE_TIME, decode)
        for metric, all_samples, all_times in self._noted.values():
            samples, times = np.concatenate(all_samples), np.concatenate(all_times)
            row = self._row[self._at[metric.name, ""]]
            found = np.bincount(np.searchsorted(metric.buckets, samples), times, minlength=len(metric.buckets) + 1)
            row[:-2] += np.cumsum(found)
            row[-2] += times.sum()
            row[-1] += samples @ times
        self._noted.clear()
        held = blocks(running, self._server.block_size).sum()
        self._put(serving.REQUESTS_RUNNING, len(running))
        self._put(serving.REQUESTS_WAITING, waiting)
        self._put(serving.REQUESTS_WAITING_BY_REASON, waiting, "capacity")
        self._put(serving.KV_CACHE_USAGE, min(1.0, held / self._server.kv_blocks))

    def _add(self, metric: Metric, amount: float, own: str = "") -> None:
        """Count so much more in the series whose own label has this value."""
        self._row[self._at[metric.name, own].start] += amount

    def _put(self, metric: Metric, value: float, own: str = "") -> None:
        self._row[self._at[metric.name, own].start] = value

    def _note(self, metric: Histogram, samples: Floats | Integers, times: Floats | Integers | None = None) -> None:
        """Take samples of a histogram, each so many times, or once."""
        _, all_samples, all_times = self._noted.setdefault(metric.name, (metric, [], []))
        all_samples.append(samples)
        all_times.append(np.ones(len(samples)) if times is None else times)
