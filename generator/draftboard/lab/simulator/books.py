"""What an engine counts, and when: vLLM's metrics from what happened to requests.

Events are noted as they happen and counted when a page is read: a histogram takes a thousand samples as fast as one.
"""

from dataclasses import dataclass, field

import numpy as np

from draftboard.catalogue import latency, serving, speculation, unread
from draftboard.lab.simulator.drafting import Steps
from draftboard.lab.simulator.ledger import Ledger
from draftboard.lab.simulator.request import Batch, Floats, Integers, blocks, joined, uncomputed
from draftboard.lab.simulator.scenario import Server
from draftboard.lab.simulator.shape import children


@dataclass
class _Notes:
    """What happened since the last page."""

    started: list[Batch] = field(default_factory=list)
    finished: list[Batch] = field(default_factory=list)
    step_seconds: list[Floats] = field(default_factory=list)
    step_requests: list[Integers] = field(default_factory=list)
    step_tokens: list[Integers] = field(default_factory=list)


class Books:
    """The series of one engine."""

    def __init__(self, server: Server, engine: int) -> None:
        self._server = server
        self._notes = _Notes()
        self.ledger = Ledger(children(server, engine=engine))
        self.ledger.put(unread.SLEEP_STATE, 1, "awake")
        self.ledger.put(serving.CACHE_CONFIG, 1)

    def entered(self, fresh: Batch, phantoms: int) -> None:
        """Requests gave their first token; so many, fresh or resumed, had had one uncomputed token."""
        ledger, prompt, cached = self.ledger, int(fresh["prompt"].sum()), int(fresh["cached"].sum())
        ledger.add(serving.PREFIX_CACHE_QUERIES, prompt)
        if self._server.kv_transfer:
            ledger.add(serving.EXTERNAL_PREFIX_CACHE_QUERIES, prompt)
            ledger.add(serving.EXTERNAL_PREFIX_CACHE_HITS, cached)
        else:
            ledger.add(serving.PREFIX_CACHE_HITS, cached)
        ledger.add(unread.PROMPT_TOKENS_CACHED_BY_SOURCE, cached, "p2p" if self._server.kv_transfer else "device")
        ledger.add(unread.PROMPT_TOKENS_CACHED, cached)
        source = "external_kv_transfer" if self._server.kv_transfer else "local_cache_hit"
        ledger.add(serving.PROMPT_TOKENS, prompt)
        ledger.add(serving.PROMPT_TOKENS_BY_SOURCE, cached, source)
        ledger.add(serving.PROMPT_TOKENS_BY_SOURCE, prompt - cached, "local_compute")
        if self._server.k and phantoms:
            # Placeholders are scheduled, verified and never accepted: vLLM counts them (from 0.28 on).
            ledger.add(speculation.DRAFTS, phantoms)
            ledger.add(speculation.DRAFT_TOKENS, phantoms * self._server.k)
        self._notes.started.append(fresh)

    def resumed(self, gaps: Floats) -> None:
        """Preempted requests gave their next token after such gaps: for users a very long step."""
        self._notes.step_seconds.append(gaps)
        self._notes.step_requests.append(np.ones(len(gaps), int))

    def decoded(self, steps: Steps, seconds: Floats, *, outputs: Integers, computed: Integers) -> None:
        """Steps of such lengths are done; each also gave out so many first tokens and computed so much of prompts."""
        if self._server.speculates:
            self._count_drafts(steps)
        emitted = steps.emitted.sum(axis=0) + outputs
        self.ledger.add(serving.GENERATION_TOKENS, emitted.sum())
        self._notes.step_seconds.append(seconds)
        self._notes.step_requests.append(steps.active.sum(axis=0))
        self._notes.step_tokens.append((emitted + computed)[emitted > 0])

    def _count_drafts(self, steps: Steps) -> None:
        self.ledger.add(speculation.DRAFTS, int(np.count_nonzero(steps.drafted)))
        self.ledger.add(speculation.DRAFT_TOKENS, steps.drafted.sum())
        self.ledger.add(speculation.ACCEPTED_TOKENS, steps.accepted.sum())
        longest = self._server.k or 0
        by_depth = np.bincount(steps.accepted.ravel(), minlength=longest + 1)
        self.ledger.add_each(speculation.ACCEPTED_TOKENS_PER_POS, by_depth[::-1].cumsum()[::-1][1:])

    def finished(self, batch: Batch) -> None:
        """Their answers are complete."""
        self._notes.finished.append(batch)

    def preempted(self, count: int) -> None:
        """So many were put back into the queue."""
        self.ledger.add(serving.PREEMPTIONS, count)

    def stand(self, running: Batch, waiting: int) -> None:
        """How things are now."""
        held = blocks(running, self._server.block_size).sum()
        self.ledger.put(serving.REQUESTS_RUNNING, len(running))
        self.ledger.put(serving.REQUESTS_WAITING, waiting)
        self.ledger.put(serving.REQUESTS_WAITING_BY_REASON, waiting, "capacity")
        self.ledger.put(serving.KV_CACHE_USAGE, min(1.0, held / self._server.kv_blocks))

    def settle(self) -> Batch:
        """Count what was noted; returns the requests that finished since the last time."""
        notes, self._notes = self._notes, _Notes()
        if notes.started:
            started = joined(*notes.started)
            self.ledger.observe(latency.TIME_TO_FIRST_TOKEN, started["first"] - started["arrived"])
        if notes.step_seconds:
            seconds, requests = np.concatenate(notes.step_seconds), np.concatenate(notes.step_requests)
            self.ledger.observe(latency.STEP_LATENCY, seconds, requests)
        if notes.step_tokens:
            self.ledger.observe(latency.STEP_TOKENS, np.concatenate(notes.step_tokens))
        done = joined(*notes.finished)
        if len(done):
            self._observe(done)
        return done

    def _observe(self, done: Batch) -> None:
        """VLLM's samples of finished requests."""
        decode = done["last"] - done["first"]
        gaps = np.maximum(done["made"] - 1, 1)
        once = np.ones(len(done))
        samples = {
            latency.TIME_PER_OUTPUT_TOKEN: decode / gaps,
            latency.END_TO_END_LATENCY: done["last"] - done["arrived"],
            latency.QUEUE_TIME: done["scheduled"] - done["arrived"],
            latency.INFERENCE_TIME: done["last"] - done["scheduled"],
            latency.PREFILL_TIME: done["first"] - done["scheduled"],
            latency.DECODE_TIME: decode,
            unread.REQUEST_PROMPT_TOKENS: done["prompt"],
            unread.REQUEST_GENERATION_TOKENS: done["made"],
            unread.REQUEST_MAX_GENERATION_TOKENS: done["made"],
            unread.REQUEST_MAX_TOKENS: done["most"],
            unread.REQUEST_COMPUTED_TOKENS: done["prompt"] - done["cached"],
            unread.REQUEST_N: once,
            unread.REQUEST_PREEMPTIONS: done["preempted"],
        }
        for metric, values in samples.items():
            self.ledger.observe(metric, values)
        cut = int(np.count_nonzero(done["cut"]))
        self.ledger.add(serving.REQUESTS_FINISHED, cut, "length")
        self.ledger.add(serving.REQUESTS_FINISHED, len(done) - cut, "stop")


def phantoms_among(batch: Batch) -> int:
    """Requests that enter with exactly one uncomputed token."""
    return int(np.count_nonzero(uncomputed(batch) == 1))
