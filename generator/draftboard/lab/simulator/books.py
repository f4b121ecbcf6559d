"""What an engine counts, and when: vLLM's metrics from what happened to requests.

Samples of histograms are noted as they happen and counted when a page is read: a thousand cost as little as one.
"""

import numpy as np
from numpy.typing import ArrayLike

from draftboard.catalogue import Histogram, around, latency, serving, speculation
from draftboard.lab.simulator.arrivals import Batch, Floats, Integers, blocks
from draftboard.lab.simulator.drafting import Steps
from draftboard.lab.simulator.ledger import Ledger
from draftboard.lab.simulator.scenario import Server

_CPU, _COLLECTIONS = around.LASTING
_CPU_SECONDS_PER_REQUEST = 0.02


class Books:
    """The series of one engine, and its part in those of the server's frontend."""

    def __init__(self, server: Server, own: Ledger, frontend: Ledger) -> None:
        self._server = server
        self._own = own
        self._frontend = frontend
        self._noted: dict[str, tuple[Histogram, list[Floats], list[Floats]]] = {}
        own.add_each(serving.CACHE_CONFIG, 1)

    def entered(self, fresh: Batch, phantoms: int) -> None:
        """Requests gave their first token; so many, fresh or resumed, had had one uncomputed token."""
        prompt, cached = int(fresh["prompt"].sum()), int(fresh["cached"].sum())
        self._own.add(serving.PREFIX_CACHE_QUERIES, prompt)
        if self._server.kv_transfer:
            self._own.add(serving.EXTERNAL_PREFIX_CACHE_QUERIES, prompt)
            self._own.add(serving.EXTERNAL_PREFIX_CACHE_HITS, cached)
        else:
            self._own.add(serving.PREFIX_CACHE_HITS, cached)
        source = "external_kv_transfer" if self._server.kv_transfer else "local_cache_hit"
        self._own.add(serving.PROMPT_TOKENS, prompt)
        self._own.add(serving.PROMPT_TOKENS_BY_SOURCE, cached, source)
        self._own.add(serving.PROMPT_TOKENS_BY_SOURCE, prompt - cached, "local_compute")
        if self._server.k and phantoms:
            # Placeholders are scheduled, verified and never accepted: vLLM counts them (from 0.28 on).
            self._own.add(speculation.DRAFTS, phantoms)
            self._own.add(speculation.DRAFT_TOKENS, phantoms * self._server.k)
        self._note(latency.TIME_TO_FIRST_TOKEN, fresh["first"] - fresh["arrived"])

    def resumed(self, gaps: Floats) -> None:
        """Preempted requests gave their next token after such gaps: for users a very long step."""
        self._note(latency.STEP_LATENCY, gaps)

    def decoded(self, steps: Steps, seconds: Floats, *, outputs: Integers, computed: Integers) -> None:
        """Steps of such lengths are done; each also gave out so many first tokens and computed so much of prompts."""
        if self._server.k:
            self._own.add(speculation.DRAFTS, int(np.count_nonzero(steps.drafted)))
            self._own.add(speculation.DRAFT_TOKENS, steps.drafted.sum())
            self._own.add(speculation.ACCEPTED_TOKENS, steps.accepted.sum())
            by_depth = np.bincount(steps.accepted.ravel(), minlength=self._server.k + 1)
            self._own.add_each(speculation.ACCEPTED_TOKENS_PER_POS, by_depth[::-1].cumsum()[::-1][1:])
        emitted = steps.emitted.sum(axis=0) + outputs
        self._own.add(serving.GENERATION_TOKENS, emitted.sum())
        self._note(latency.STEP_LATENCY, seconds, steps.active.sum(axis=0))
        self._note(latency.STEP_TOKENS, (emitted + computed)[emitted > 0])

    def finished(self, done: Batch) -> None:
        """Their answers are complete."""
        decode = done["last"] - done["first"]
        self._note(latency.TIME_PER_OUTPUT_TOKEN, decode / np.maximum(done["made"] - 1, 1))
        self._note(latency.END_TO_END_LATENCY, done["last"] - done["arrived"])
        self._note(latency.QUEUE_TIME, done["scheduled"] - done["arrived"])
        self._note(latency.INFERENCE_TIME, done["last"] - done["scheduled"])
        self._note(latency.PREFILL_TIME, done["first"] - done["scheduled"])
        self._note(latency.DECODE_TIME, decode)
        cut = int(np.count_nonzero(done["cut"]))
        self._own.add(serving.REQUESTS_FINISHED, cut, "length")
        self._own.add(serving.REQUESTS_FINISHED, len(done) - cut, "stop")
        self._frontend.add(around.HTTP_REQUESTS, len(done), "2xx")
        if self._server.engines == 1:  # what several processes work is not exposed
            self._frontend.add(_CPU, len(done) * _CPU_SECONDS_PER_REQUEST)
            self._frontend.add(_COLLECTIONS, len(done), "0")

    def rejected(self, count: int) -> None:
        """So many requests were turned away because the queue is full."""
        self._frontend.add(serving.ADMISSION_REJECTIONS, count, "max_num_queued_reqs")
        self._frontend.add(around.HTTP_REQUESTS, count, "5xx")

    def preempted(self, count: int) -> None:
        """So many were put back into the queue."""
        self._own.add(serving.PREEMPTIONS, count)

    def settle(self, running: Batch, waiting: int) -> None:
        """Count what was noted, and put down how things are now."""
        for metric, samples, times in self._noted.values():
            self._own.observe(metric, np.concatenate(samples), np.concatenate(times))
        self._noted.clear()
        held = blocks(running, self._server.block_size).sum()
        self._own.put(serving.REQUESTS_RUNNING, len(running))
        self._own.put(serving.REQUESTS_WAITING, waiting)
        self._own.put(serving.REQUESTS_WAITING_BY_REASON, waiting, "capacity")
        self._own.put(serving.KV_CACHE_USAGE, min(1.0, held / self._server.kv_blocks))

    def _note(self, metric: Histogram, samples: ArrayLike, times: ArrayLike | None = None) -> None:
        values = np.asarray(samples, float)
        _, all_values, all_times = self._noted.setdefault(metric.name, (metric, [], []))
        all_values.append(values)
        all_times.append(np.ones(len(values)) if times is None else np.asarray(times, float))
