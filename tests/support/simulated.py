"""Simulated servers for tests: a scenario in a line, and counters read off its pages."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from draftboard.lab.simulator.fleet import Instance, targets
from draftboard.lab.simulator.scenario import Scenario
from draftboard.lab.simulator.serve import page
from draftboard.reading import Pages
from draftboard.report import ModelReport, report
from draftboard.settings import Settings

Values = dict[tuple[str, ...], float]
"""By name of the series and the values of its labels, except model_name and engine."""


def scenario(*events: dict[str, Any], **server: Any) -> Scenario:
    """One kind of server and what happens to it."""
    story = {"story": "A server of which a test knows the truth.", "duration": "1h"}
    return Scenario.model_validate(story | {"server": [{"model": "m"} | server], "event": list(events)})


def started(told: Scenario, seed: int = 1) -> Instance:
    """Its first server."""
    return Instance(targets(told, seed)[0], 1_800_000_000.0)


def values(instance: Instance) -> Values:
    """All series of a server of one engine."""
    row = instance.row()
    return {
        (name, *own(labels)): value
        for child in instance.children
        for (name, labels), value in zip(child.series, row[child.at].tolist(), strict=True)
        if not math.isnan(value)
    }


def own(labels: dict[str, str]) -> list[str]:
    return [text for name, text in labels.items() if name not in {"model_name", "engine"}]


def scrapes(instance: Instance, seconds: int, step: int = 15) -> Iterator[Values]:
    """The series at every scrape while the server is up."""
    for at in range(0, seconds + 1, step):
        instance.advance(at)
        if instance.up:
            yield values(instance)


def with_k(told: Scenario, k: int) -> Scenario:
    """The same servers, started with another K."""
    return told.model_copy(update={"server": tuple(server.model_copy(update={"k": k}) for server in told.server)})


def reported(told: Scenario, settings: Settings, method: str, folder: Path, seconds: int = 1800) -> ModelReport:
    """What the report says of its first server, from two saved pages: after ten minutes, and so much later."""
    instance, pages = started(told), (folder / "before.prom", folder / "after.prom")
    for at, path in zip((600, 600 + seconds), pages, strict=True):
        instance.advance(at)
        path.write_bytes(page(instance))
    (model,) = report(Pages(*pages), settings, method=method).models
    return model


class Tried(NamedTuple):
    """A K, and what the report advises there."""

    k: int
    advice: str


def followed(told: Scenario, settings: Settings, folder: Path, most: int) -> list[Tried]:
    """What comes of changing K as the report of its first server advises, until it asks for no other, or so often."""
    tried: list[Tried] = []
    k = told.server[0].k or 0
    while len(tried) <= most:
        said = reported(with_k(told, k), settings, told.server[0].method, folder)
        tried.append(Tried(k, said.verdict.advice or ""))
        if "shorter" in tried[-1].advice and said.speculation and said.speculation.fastest_k:
            k = said.speculation.fastest_k
        elif "longer" in tried[-1].advice:
            k += 1
        else:
            break
    return tried
