"""All servers of a scenario: scrape targets with their engines, and what happens to them."""

from dataclasses import dataclass
from operator import attrgetter

import numpy as np

from draftboard.catalogue import Presence, around
from draftboard.lab.simulator.arrivals import Floats
from draftboard.lab.simulator.books import Books, children
from draftboard.lab.simulator.engine import Engine
from draftboard.lab.simulator.scenario import Event, Scenario, Server

_FROM_FIRST = (Presence.HTTP, Presence.PROBE)
"""Of series that begin with their first count."""


@dataclass(frozen=True)
class Target:
    """A server before it is started, and its scrape target."""

    server: Server
    labels: dict[str, str]  # that a scrape configuration would give it
    events: tuple[Event, ...]
    seed: int
    index: int  # its own, so that no server shares random numbers with another


def targets(scenario: Scenario, seed: int) -> tuple[Target, ...]:
    """Every server of the scenario. The same seed and scenario make the same numbers."""
    placed = [(server, number) for server in scenario.server for number in range(server.instances)]
    result = []
    for index, (server, number) in enumerate(placed):
        labels = {"job": "vllm", "instance": f"vllm-{index}:8000", "spec_method": server.method} | server.labels
        variant = {"variant": server.variant} if server.variant else {}
        events = tuple(event for event in scenario.event if event.concerns(server, number))
        result.append(Target(server, labels | variant, events, seed, index))
    return tuple(result)


class Instance:
    """A running server, at its beginning. Times are seconds since the scenario began."""

    def __init__(self, target: Target, epoch: float, speed: float = 1.0) -> None:
        """Start it at a Unix time, to live through so many seconds in one."""
        self.server = target.server
        self.children = children(target.server)  # all series that it ever exposes, in the order of `row`
        self._target = target
        self._events = sorted(target.events, key=attrgetter("at"))
        self._happened: list[Event] = []
        self._epoch, self._speed = epoch, speed
        self._engines: list[Engine] = []
        self._started = 0  # engines, so that none shares random numbers with another
        self._time = 0.0
        self._start(target.server, 0.0)

    def advance(self, until: float) -> None:
        """Go on to a time; events on the way happen at their own time."""
        while self._events and self._events[0].at.seconds <= until:
            event = self._events.pop(0)
            self._go(event.at.seconds)
            self._happened.append(event)
            for engine in self._engines:
                engine.change(event)
            if event.restart is not None:
                server = self.server if event.speculative else self.server.without_speculation()
                self._start(server, event.at.seconds + event.restart.seconds)
        self._go(until)

    @property
    def up(self) -> bool:
        """Whether it answers: not while it restarts."""
        return self._time >= self._born

    @property
    def created(self) -> float:
        """Unix time at which its series began."""
        return self._epoch + self._born / self._speed

    def row(self) -> Floats:
        """Values of all series now; NaN where one is not exposed."""
        for engine in self._engines:
            engine.settle()
        row = self._row.copy()
        for child in self.children:
            off = child.metric.presence is Presence.SPECULATING and not self._speculates
            if off or not self.up or (child.metric.presence in _FROM_FIRST and not row[child.at].any()):
                row[child.at] = np.nan
        return row

    def _start(self, server: Server, at: float) -> None:
        """A new process: nothing is counted yet and no request is under way, but past events keep their effect."""
        self._born, self._speculates = at, server.speculates
        self._row = np.zeros(self.children[-1].at.stop)
        for child in (child for child in self.children if child.metric is around.PROCESS_START_TIME):
            self._row[child.at] = self.created
        self._engines = []
        for number in range(server.engines):
            seed = np.random.SeedSequence(self._target.seed, spawn_key=(self._target.index, self._started))
            books = Books(server, number, self.children, self._row)
            engine = Engine(server, books, at, np.random.default_rng(seed))
            for event in self._happened:
                engine.change(event)
            self._engines.append(engine)
            self._started += 1

    def _go(self, until: float) -> None:
        self._time = until
        for engine in self._engines:
            engine.advance(until)
