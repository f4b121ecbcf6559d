"""One scrape target: a server with its engines, and what happens to it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from draftboard.catalogue import Metric
from draftboard.lab.simulator.engine import Engine
from draftboard.lab.simulator.ledger import Ledger
from draftboard.lab.simulator.process import Process
from draftboard.lab.simulator.scenario import Event, Server
from draftboard.lab.simulator.shape import Child, appears_with_traffic


@dataclass(frozen=True)
class Clock:
    """Which time it is when so many seconds of the scenario have passed."""

    epoch: float
    """Unix time of its beginning."""
    speed: float = 1.0
    """Simulated seconds in a second."""

    def unix(self, seconds: float) -> float:
        """Unix time."""
        return self.epoch + seconds / self.speed


class Instance:
    """A running server. Times are seconds since the scenario began."""

    def __init__(self, server: Server, events: Sequence[Event], clock: Clock, seed: np.random.SeedSequence) -> None:
        self.server = server
        self._events = sorted(events, key=lambda event: event.at)
        self._happened: list[Event] = []
        self._clock = clock
        self._seed = seed
        self._time = 0.0
        self._start(server, 0.0)

    def advance(self, until: float) -> None:
        """Go on to a time; what happens on the way happens at its own time."""
        while self._events and self._events[0].at.seconds <= until:
            self._happen(self._events.pop(0))
        self._go(until)

    @property
    def up(self) -> bool:
        """Whether it answers: not while it restarts."""
        return self._time >= self._born

    @property
    def created(self) -> float:
        """Unix time at which its series began."""
        return self._clock.unix(self._born)

    def pages(self) -> Iterator[tuple[Metric, list[tuple[Child, NDArray[np.float64]]]]]:
        """What its page holds now: every family with its children and their values."""
        self._settle()
        for metric, rows in self._families:
            shown = [(child, ledger.values[child.start : child.end]) for ledger, child in rows]
            if appears_with_traffic(metric):
                shown = [(child, values) for child, values in shown if values.any()]
            yield metric, shown

    def _happen(self, event: Event) -> None:
        at = event.at.seconds
        self._go(at)
        self._happened.append(event)
        if event.restart is not None:
            plain = self.server.model_copy(update={"method": "none", "k": None, "coverage": 1.0, "draft_lengths": ()})
            self._start(self.server if event.speculative else plain, at + event.restart.seconds)
        else:
            for engine in self._engines:
                engine.change(event)

    def _start(self, server: Server, at: float) -> None:
        """A new process: nothing is counted yet and no request is under way, but the world is as it has become."""
        self._born = at
        seeds = self._seed.spawn(server.engines)
        self._engines = [Engine(server, number, at, np.random.default_rng(seed)) for number, seed in enumerate(seeds)]
        for event in self._happened:
            for engine in self._engines:
                engine.change(event)
        self._process = Process(server, self.created)
        self._families = _by_family([self._process.ledger, *(engine.books.ledger for engine in self._engines)])

    def _go(self, until: float) -> None:
        self._time = until
        for engine in self._engines:
            engine.advance(until)

    def _settle(self) -> None:
        for engine in self._engines:
            self._process.answered(engine.books.settle())
            self._process.rejected(engine.rejected)
            engine.rejected = 0


def _by_family(ledgers: Sequence[Ledger]) -> list[tuple[Metric, list[tuple[Ledger, Child]]]]:
    """Every metric with its children over all ledgers, as a page groups them."""
    families: dict[str, tuple[Metric, list[tuple[Ledger, Child]]]] = {}
    for ledger in ledgers:
        for child in ledger.children:
            families.setdefault(child.metric.name, (child.metric, []))[1].append((ledger, child))
    return list(families.values())
