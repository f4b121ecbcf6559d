"""One vLLM engine: requests queue, are admitted while there is room, are computed and decode in steps.

Time goes on in ticks of a second, shorter while requests wait. The steps of a tick are of one batch size.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from draftboard.catalogue import around, latency, serving
from draftboard.lab.simulator.arrivals import (
    DRAFTING,
    NO_REQUESTS,
    Arrivals,
    Batch,
    Floats,
    Integers,
    blocks,
    joined,
    uncomputed,
)
from draftboard.lab.simulator.books import Books, Steps
from draftboard.lab.simulator.bursts import BurstyText
from draftboard.lab.simulator.scenario import Event, Requests, Server

_TICK_SECONDS, _TICKS_WHILE_WAITING = 1.0, 2
_BATCHED_TOKENS = 8192  # of prompts that one step may compute: vLLM's max_num_batched_tokens
_NO_STEPS: Integers = np.empty(0, int)
_JITTER = 0.08  # standard deviation of the logarithm of a step's length. Heuristic.


class Drafter:
    """How one engine drafts and what of it is accepted, by kind of request."""

    def __init__(self, server: Server, chance: np.random.Generator) -> None:
        self.longest = server.k or 0
        self._chance = chance
        self._lookup = server.looks_up
        self._up_to_length = np.cumsum(server.draft_lengths)[:-1]
        self._budget = math.inf if server.verify_budget is None else server.verify_budget
        self.cover(server.coverage)
        self.take(server.requests)

    def cover(self, coverage: float) -> None:
        """From now on such a share of steps finds a draft."""
        self.coverage = coverage if self.longest else 0.0
        self.drafted_per_step = float(self.coverage * (self.longest - self._up_to_length.sum()))  # mean, of a request

    def verified_per_step(self, requests: float) -> float:
        """Mean of the drafted tokens of a request that are verified, in a batch of so many."""
        return min(self.drafted_per_step, self._budget / requests)

    def take(self, kinds: Sequence[Requests]) -> None:
        """From now on the kinds of request are these."""
        bursts = ((number, kind.bursts) for number, kind in enumerate(kinds) if self.longest)
        self._bursty = {number: BurstyText(of, self.longest) for number, of in bursts if of}
        # A uniform draw is compared with the shares rejected up to each position. Kind by kind they lie in one rising
        # list, at kind + share, so that one search serves rows of every kind.
        survivals = [kind.survival(self.longest, lookup=self._lookup) for kind in kinds]
        self._rejected = np.array([number + 1 - share for number, of in enumerate(survivals) for share in of])

    def decode(self, batch: Batch, begin: Integers, steps: int) -> Steps:
        """Requests decode, each after its step `begin`, until its answer is complete or the steps are over.

        Their text goes on to the stretch that it is in then.
        """
        moves = np.arange(steps) > begin[:, None]
        drafted = self._drafted((len(batch), steps))
        accepted = self._accepted(batch, self._verified(drafted), moves)
        gained = (accepted + 1) * moves
        missing = (batch["wanted"] - batch["made"])[:, None] - (gained.cumsum(axis=1) - gained)
        emitted = np.minimum(np.maximum(missing, 0), gained)
        active = emitted > 0
        return Steps(drafted * active, accepted * active, emitted, active)

    def _drafted(self, shape: tuple[int, int]) -> Integers:
        if len(self._up_to_length):
            drafted: Integers = 1 + self._up_to_length.searchsorted(self._chance.random(shape), side="right")
        else:
            drafted = np.empty(shape, int)
            drafted.fill(self.longest)
        if self.coverage < 1:
            drafted = np.where(self._chance.random(shape) < self.coverage, drafted, 0)
        return drafted

    def _verified(self, drafted: Integers) -> Integers:
        """What the budget lets through of drafts: requests share it alike, and parts of a token by chance."""
        if math.isinf(self._budget):
            return drafted
        each = self._budget / max(1, len(drafted)) + self._chance.random(drafted.shape)
        verified: Integers = np.minimum(drafted, each.astype(int))
        return verified

    def _accepted(self, batch: Batch, verified: Integers, moves: NDArray[np.bool_]) -> Integers:
        """The positions that a full-length draft would be accepted to, cut to what is verified."""
        if not self.longest:
            return np.zeros(verified.shape, int)
        kind, drawn = batch["kind"][:, None], self._chance.random(verified.shape)
        deep = self._rejected.searchsorted(kind + drawn, side="right")
        accepted: Integers = np.minimum(deep - kind * self.longest, verified)
        for number, text in self._bursty.items():
            of = batch["kind"] == number
            measured = text.accepted(batch["easy"][of], verified[of], drawn[of], moves[of])
            accepted[of], batch["easy"][of] = measured
        return accepted


class Engine:
    """The state of one engine; `advance` moves it on."""

    def __init__(self, server: Server, books: Books, born: float, chance: np.random.Generator) -> None:
        self._server = server
        self._books = books
        self._chance = chance
        self._arrivals = Arrivals(server, chance)
        self._drafter = Drafter(server, chance)
        self._ticked = self._now = born
        self._running, self._waiting = NO_REQUESTS, NO_REQUESTS

    def change(self, event: Event) -> None:
        """Take over what an event says of requests, load and drafting."""
        if event.requests:
            self._arrivals.take(event.requests)
            self._drafter.take(event.requests)
            for batch in (self._running, self._waiting):
                batch["kind"] = np.minimum(batch["kind"], len(event.requests) - 1)
        if event.coverage is not None:
            self._drafter.cover(event.coverage)
        self._arrivals.load = event.load or self._arrivals.load

    def advance(self, until: float) -> None:
        """Go on for as many whole ticks as end by `until`: the number of calls changes nothing."""
        while self._ticked + _TICK_SECONDS <= until:
            parts = _TICKS_WHILE_WAITING if len(self._waiting) else 1
            for _ in range(parts):
                self._tick(self._ticked, _TICK_SECONDS / parts)
                self._ticked += _TICK_SECONDS / parts

    def settle(self) -> None:
        """Bring its series up to date."""
        self._books.settle(self._running, len(self._waiting))

    def _step_seconds(self, requests: float) -> float:
        """Mean length of a decode step of so many requests: t * (v + K * c), all of which grow with the batch."""
        drafted = self._drafter.drafted_per_step
        saturation = self._server.saturation_tokens
        plain = 1 + requests / saturation
        inflation = (1 + requests * (1 + self._drafter.verified_per_step(requests)) / saturation) / plain
        inflation *= 1 + self._drafter.coverage * (self._server.verify_inflation - 1)
        return self._server.step_seconds * plain * (drafted * self._server.c + inflation)

    def _tick(self, start: float, seconds: float) -> None:
        self._queue(start, seconds)
        if not len(self._running):  # else it goes on from step to step without a pause
            self._now = max(self._now, start)
        left = start + seconds - self._now
        if left <= 0 or not len(self._running) + len(self._waiting):
            return
        entering = self._fitting()
        decoding = self._decoding_seconds(entering, left)
        begin = self._entry_steps(entering, decoding) if len(entering) else _NO_STEPS
        self._waiting = self._waiting[len(begin) :]
        self._run(entering[: len(begin)], begin, decoding)
        self._preempt()

    def _fitting(self) -> Batch:
        """The waiting that there is room for: first come, first served."""
        if not len(self._waiting):
            return NO_REQUESTS
        size = self._server.block_size
        free = self._server.kv_blocks - blocks(self._running, size).sum()
        fit = int(blocks(self._waiting, size).cumsum().searchsorted(free, side="right"))
        return self._waiting[: min(fit, self._server.max_num_seqs - len(self._running))]

    def _queue(self, start: float, seconds: float) -> None:
        arrived = self._arrivals.during(start, seconds, len(self._running) + len(self._waiting))
        if self._server.queue_limit is not None and len(arrived):
            places = self._server.queue_limit + self._server.max_num_seqs
            room = max(0, places - len(self._waiting) - len(self._running))
            self._books.add(serving.ADMISSION_REJECTIONS, len(arrived[room:]), "max_num_queued_reqs")
            self._books.add(around.HTTP_REQUESTS, len(arrived[room:]), "5xx")
            arrived = arrived[:room]
        self._waiting = joined(self._waiting, arrived)

    def _decoding_seconds(self, entering: Batch, seconds: float) -> Floats:
        """Lengths of the steps that fill the time, without what prompts add to them."""
        length = self._step_seconds(max(1.0, len(self._running) + len(entering) / 2))
        prefill = min(self._prefill_seconds(uncomputed(entering).sum()), 0.9 * seconds) if len(entering) else 0.0
        count = max(1, math.ceil((seconds - prefill) / length))
        drawn: Floats = length * np.exp(self._chance.normal(0, _JITTER, count))
        return drawn

    def _prefill_seconds(self, tokens: float) -> float:
        return float(tokens) / self._server.prefill_tokens_per_second

    def _entry_steps(self, entering: Batch, decoding: Floats) -> Integers:
        """The step in which each is computed: the next after it arrived that has room; of those, that come in time."""
        starts = self._now + decoding.cumsum() - decoding
        steps: list[int] = []
        load = 0
        for wish, tokens in zip(starts.searchsorted(entering["arrived"]), uncomputed(entering), strict=True):
            step = max(wish, steps[-1]) if steps else wish
            if not steps or step > steps[-1]:
                load = 0
            elif load + tokens > _BATCHED_TOKENS:
                step, load = step + 1, 0
            if step >= len(starts):
                break
            load += tokens
            steps.append(step)
        return np.array(steps, int)

    def _run(self, entering: Batch, begin: Integers, decoding: Floats) -> None:
        count = len(decoding)
        prompts: Integers = np.zeros(count, int)
        outputs: Integers = np.zeros(count, int)
        if len(entering):
            own = uncomputed(entering)
            seconds = decoding + self._prefill_seconds(1) * np.bincount(begin, own, minlength=count)
            ends = self._now + seconds.cumsum()
            fresh = np.isnan(entering["first"])
            outputs = np.bincount(begin, minlength=count)
            prompts = np.bincount(begin[fresh], own[fresh], minlength=count)
            self._enter(entering, fresh, ends[begin], seconds[begin])
        else:
            seconds, ends = decoding, self._now + decoding.cumsum()
        batch = joined(self._running, entering)
        begins = np.concatenate([np.full(len(self._running), -1), begin])
        steps = self._drafter.decode(batch, begins, count)
        self._books.decoded(steps, seconds, outputs=outputs, computed=prompts)
        taken = steps.active.sum(axis=1)
        if self._server.lens:
            for name, counts in zip(DRAFTING, (steps.drafted > 0, steps.drafted, steps.accepted), strict=True):
                batch[name] += counts.sum(axis=1)
        batch["made"] += steps.emitted.sum(axis=1)
        batch["last"] = np.where(taken > 0, ends[begins + taken], batch["last"])
        done = batch["made"] >= batch["wanted"]
        if done.any():
            self._books.ended(batch[done])
            batch = batch[~done]
        self._running, self._now = batch, float(ends[-1])

    def _enter(self, entering: Batch, fresh: NDArray[np.bool_], out: Floats, seconds: Floats) -> None:
        """Each gives a token at the end of its step, which took so long: the first, or the next after a preemption."""
        alone = uncomputed(entering) == 1
        phantoms = int(np.count_nonzero(alone))
        if self._server.k:
            entering["drafts"] += alone
            entering["drafted"] += alone * self._server.k
        if not fresh.all():  # for users a very long step
            self._books.note(latency.STEP_LATENCY, (out - entering["last"])[~fresh])
        entering["scheduled"][fresh] = (out - seconds)[fresh]
        entering["first"][fresh] = out[fresh]
        entering["last"] = out
        entering["made"] += 1
        self._books.entered(entering[fresh], phantoms)

    def _preempt(self) -> None:
        """While the cache is over-full the youngest go back to the head of the queue, their answers kept."""
        held = blocks(self._running, self._server.block_size).cumsum()
        keep = int(held.searchsorted(self._server.kv_blocks, side="right"))
        if keep < len(self._running):
            back = self._running[keep:]
            back["cached"] = 0
            back["preempted"] += 1
            self._running, self._waiting = self._running[:keep], joined(back, self._waiting)
            self._books.add(serving.PREEMPTIONS, len(back))
