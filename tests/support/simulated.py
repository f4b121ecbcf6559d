"""Simulated servers for tests: a scenario in a line, and counters read off its pages."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from draftboard.lab.simulator.fleet import targets
from draftboard.lab.simulator.instance import Clock, Instance
from draftboard.lab.simulator.scenario import Scenario

Values = dict[tuple[str, ...], float]
"""By name of the series and the values of its labels, except model_name and engine."""


def scenario(*events: dict[str, Any], **server: Any) -> Scenario:
    """One kind of server and what happens to it."""
    story = {"story": "A server of which a test knows the truth.", "duration": "1h"}
    return Scenario.model_validate(story | {"server": [{"model": "m"} | server], "event": list(events)})


def started(told: Scenario, seed: int = 1) -> Instance:
    """Its first server."""
    return targets(told, seed)[0].start(Clock(1_800_000_000.0))


def values(instance: Instance) -> Values:
    """All series of a server of one engine."""
    return {
        (child.metric.name + column.suffix, *own(child.labels), *([column.le] if column.le else [])): float(value)
        for _, rows in instance.pages()
        for child, row in rows
        for column, value in zip(child.columns, np.asarray(row).tolist(), strict=True)
    }


def own(labels: dict[str, str]) -> list[str]:
    return [text for name, text in labels.items() if name not in {"model_name", "engine"}]


def scrapes(instance: Instance, seconds: int, step: int = 15) -> Iterator[Values]:
    """The series at every scrape while the server is up."""
    for at in range(0, seconds + 1, step):
        instance.advance(at)
        if instance.up:
            yield values(instance)
