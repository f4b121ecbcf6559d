"""All servers of a scenario."""

from dataclasses import dataclass

import numpy as np

from draftboard.lab.simulator.instance import Clock, Instance
from draftboard.lab.simulator.scenario import Event, Scenario, Server


@dataclass(frozen=True)
class Target:
    """A server before it is started: which one it is, and what its scrape target is called."""

    server: Server
    labels: dict[str, str]
    """Labels that a scrape configuration would give it."""
    events: tuple[Event, ...]
    seed: np.random.SeedSequence

    def start(self, clock: Clock) -> Instance:
        """The server at the scenario's beginning. Each is by itself: none shares chance with another."""
        seed = np.random.SeedSequence(self.seed.entropy, spawn_key=self.seed.spawn_key)  # one counts what it spawned
        return Instance(self.server, self.events, clock, seed)


def targets(scenario: Scenario, seed: int) -> tuple[Target, ...]:
    """Every server of the scenario. The same seed and scenario make the same numbers."""
    placed = [(server, number) for server in scenario.server for number in range(server.instances)]
    seeds = np.random.SeedSequence(seed).spawn(len(placed))
    return tuple(
        Target(
            server,
            _labels(server, index),
            tuple(event for event in scenario.event if event.concerns(server, number)),
            own_seed,
        )
        for index, ((server, number), own_seed) in enumerate(zip(placed, seeds, strict=True))
    )


def _labels(server: Server, index: int) -> dict[str, str]:
    labels = {"job": "vllm", "instance": f"vllm-{index}:8000", "spec_method": server.method}
    return labels | ({"variant": server.variant} if server.variant else {})
