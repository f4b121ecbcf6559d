"""All servers of a scenario: scrape targets with their engines, and what happens to them."""

from dataclasses import dataclass

import numpy as np

from draftboard.catalogue import Presence, around
from draftboard.lab.simulator.arrivals import Floats
from draftboard.lab.simulator.books import Books
from draftboard.lab.simulator.engine import Engine
from draftboard.lab.simulator.layout import Child, children
from draftboard.lab.simulator.scenario import Event, Scenario, Server


@dataclass(frozen=True)
class Target:
    """A server before it is started, and its scrape target."""

    server: Server
    labels: dict[str, str]
    """Labels that a scrape configuration would give it."""
    events: tuple[Event, ...]
    seed: tuple[int, int]
    """Of the scenario, and the server's own number: no server shares random numbers with another."""


def targets(scenario: Scenario, seed: int) -> tuple[Target, ...]:
    """Every server of the scenario. The same seed and scenario make the same numbers."""
    placed = [(server, number) for server in scenario.server for number in range(server.instances)]
    return tuple(
        Target(
            server,
            {"job": "vllm", "instance": f"vllm-{index}:8000", "spec_method": server.method}
            | ({"variant": server.variant} if server.variant else {}),
            tuple(event for event in scenario.event if event.concerns(server, number)),
            (seed, index),
        )
        for index, (server, number) in enumerate(placed)
    )


class Instance:
    """A running server, at its beginning. Times are seconds since the scenario began."""

    def __init__(self, target: Target, epoch: float, speed: float = 1.0) -> None:
        """Start it at a Unix time, to live through so many seconds in one."""
        self.server = target.server
        self.children: tuple[Child, ...] = children(target.server)
        """All series that it ever exposes, in the order of `row`."""
        self._seed = target.seed
        self._events = sorted(target.events, key=lambda event: event.at)
        self._happened: list[Event] = []
        self._epoch, self._speed = epoch, speed
        self._starts = 0
        self._time = 0.0
        self._start(target.server, 0.0)

    def advance(self, until: float) -> None:
        """Go on to a time; events on the way happen at their own time."""
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
        return self._epoch + self._born / self._speed

    def row(self) -> Floats:
        """Values of all series now; NaN where one is not exposed."""
        for engine in self._engines:
            engine.settle()
        row = self._row.copy()
        for child in self.children:
            unspeculating = child.metric.presence is Presence.SPECULATING and not self._speculates
            unasked = child.metric.presence is Presence.HTTP and not row[child.at].any()
            if unspeculating or unasked or not self.up:
                row[child.at] = np.nan
        return row

    def _happen(self, event: Event) -> None:
        at = event.at.seconds
        self._go(at)
        self._happened.append(event)
        if event.restart is not None:
            server = self.server if event.speculative else self.server.without_speculation()
            self._start(server, at + event.restart.seconds)
        else:
            for engine in self._engines:
                engine.change(event)

    def _start(self, server: Server, at: float) -> None:
        """A new process: nothing is counted yet and no request is under way, but past events keep their effect."""
        self._born = at
        self._speculates = server.speculates
        self._row = np.zeros(self.children[-1].at.stop)
        for child in (child for child in self.children if child.metric is around.PROCESS_START_TIME):
            self._row[child.at] = self.created
        self._engines = [self._engine(server, number) for number in range(server.engines)]
        for event in self._happened:
            for engine in self._engines:
                engine.change(event)

    def _engine(self, server: Server, number: int) -> Engine:
        seed, index = self._seed
        chance = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(index, self._starts)))
        self._starts += 1
        return Engine(server, Books(server, number, self.children, self._row), self._born, chance)

    def _go(self, until: float) -> None:
        self._time = until
        for engine in self._engines:
            engine.advance(until)
