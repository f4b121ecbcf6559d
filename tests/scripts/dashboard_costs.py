"""What it costs to open each dashboard, by number of engines: tests use it, and `make bench-dashboards`.

Run as a program it writes the page on performance.
"""

import argparse
import math
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import httpx

from draftboard.build import render
from draftboard.durations import Duration
from draftboard.lab.replay import Replay, replaying
from draftboard.lab.simulator import Scenario, find
from draftboard.lab.simulator.backfill import backfill
from draftboard.lab.simulator.fleet import targets
from draftboard.rules import Group
from draftboard.settings import Settings, load
from support import grafana

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/reference/performance.md"
START = 1_800_000_000
FLEETS = (10, 50, 200)  # Engines.
SCREEN = 1920  # Pixels across, of which a panel shows one point each.
SHOWN = Duration(3 * 3600)
LEAD = Duration(3600)  # The longest window of a query on raw series that is not of days.
STRETCH = Duration(900)
_ROUND = (15, 20, 30, 60, 120, 300, 600)
"""Steps in seconds that Grafana rounds to, from the scrape interval up."""


HEAD = """# Performance

What Prometheus reads when a dashboard is opened, in millions of samples, for a range of three hours. Panels ask for a
point a minute. All variables have their defaults, and collapsed rows stay closed. The fleets serve five models
(`draftboard simulate --scenario fleet-100`, scaled). Made by `make bench-dashboards`: edit the script, not this page.

Dashboards of records cost what the number of models costs: their exponent is 0; `draftboard-latency` also shows
servers one by one. Dashboards of raw series (`-raw`) cost what the engines cost: their exponent is near 1.

| dashboard | 10 engines | 50 | 200 | exponent | s, 10 engines | 50 | 200 |
|---|---|---|---|---|---|---|---|
"""
TAIL = """

- Samples are those that Prometheus counts (`stats=all`), of every query of the panels and annotations; the short ones
  that fill variables are left out. They are counted over the last {minutes} minutes and multiplied to three hours. With
  ten engines the three hours were read, too: no dashboard differs by {apart:.1%} or more.
- The exponent is that of a power law from 10 to 200 engines: 0 is flat, 1 doubles with the engines.
- Seconds are the sum of all queries, one after the other, on one machine that was busy with other work: they compare
  dashboards, and say nothing of yours.
- vLLM's own overview, not released yet, reads 18 million samples of ten engines in three hours at a point every 15 s.
"""


class Query(NamedTuple):
    """What a panel, or an annotation, sends when a dashboard is opened."""

    expr: str
    step: int  # Seconds between points; 0 of a table, which asks once.


@dataclass(frozen=True)
class Cost:
    """Samples that Prometheus reads, and seconds that it takes."""

    samples: float = 0
    seconds: float = 0

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(self.samples + other.samples, self.seconds + other.seconds)

    def __mul__(self, factor: float) -> "Cost":
        return Cost(self.samples * factor, self.seconds * factor)


def fleet(engines: int) -> Scenario:
    """Five models with so many engines: a hundred in the built-in scenario."""
    whole = find("fleet-100")
    server = tuple(one.model_copy(update={"instances": one.instances * engines // 100}) for one in whole.server)
    return whole.model_copy(update={"server": server})


@contextmanager
def past(
    engines: int,
    settings: Settings,
    programs: tuple[Path, Path],
    rules: Sequence[Group] | None = None,
    stretch: Duration = STRETCH,
) -> Iterator[Replay]:
    """A Prometheus that holds what a fleet has exposed, and the records of some rules or all."""
    prometheus, promtool = programs
    times = range(START, START + LEAD.seconds + stretch.seconds + 1, settings.rules.scrape_interval.seconds)
    with tempfile.TemporaryDirectory() as folder:
        recording = Path(folder) / "past.om"
        backfill(targets(fleet(engines), seed=1), times, recording)
        with replaying(recording, settings, prometheus=prometheus, promtool=promtool, recording_rules=rules) as replay:
            yield replay


def opened(dashboard: grafana.Json, settings: Settings) -> Iterator[Query]:
    """The queries of a dashboard that is opened with all variables at their defaults; collapsed rows ask nothing."""
    for panel in (one for one in dashboard["panels"] if one["type"] not in {"row", "text"}):
        across = SCREEN * panel["gridPos"]["w"] // 24
        for target in panel["targets"]:
            step = _step(across, Duration.parse(target.get("interval") or panel["interval"]))
            yield _sent(target["expr"], dashboard, settings, step, once=target["instant"])
    for annotation in dashboard["annotations"]["list"]:
        if annotation["enable"] and "target" in annotation:
            step = _step(SCREEN, Duration.parse(annotation["target"]["interval"]))
            yield _sent(annotation["target"]["expr"], dashboard, settings, step, once=False)


def _step(across: int, least: Duration) -> int:
    exact = SHOWN.seconds / across
    return max(least.seconds, next((step for step in _ROUND if step >= exact), _ROUND[-1]))


def _sent(expr: str, dashboard: grafana.Json, settings: Settings, step: int, *, once: bool) -> Query:
    scrape = settings.rules.scrape_interval.seconds
    window = Duration(max(step + scrape, 4 * scrape))
    sent = grafana.substituted(expr, dashboard, str(window), interval=str(Duration(step)))
    return Query(sent, 0 if once else step)


def cost(queries: Iterable[Query], replay: Replay, stretch: Duration = STRETCH) -> Cost:
    """Of all queries over the shown range, from a stretch at the end of the past."""
    with httpx.Client(base_url=replay.client.url, timeout=300) as http:
        return sum((_asked(http, query, replay.end, stretch) for query in queries), Cost())


def _asked(http: httpx.Client, query: Query, end: float, stretch: Duration) -> Cost:
    asked: dict[str, object] = {"query": query.expr, "stats": "all", "time": end}
    if query.step:
        # As many points as steps, so that the whole range is a multiple of the stretch.
        asked |= {"start": end - stretch.seconds + query.step, "end": end, "step": query.step}
    began = time.perf_counter()
    answer = http.post("/api/v1/query_range" if query.step else "/api/v1/query", data=asked)
    taken = time.perf_counter() - began
    answer.raise_for_status()
    samples = answer.json()["data"]["stats"]["samples"]["totalQueryableSamples"]
    return Cost(samples, taken) * (SHOWN.seconds / stretch.seconds if query.step else 1)


def costs(replay: Replay, *, inside: str = "", stretch: Duration = STRETCH) -> dict[str, Cost]:
    """By uid, of the dashboards in a folder or in all."""
    made = render(replay.settings)
    pages = grafana.dashboards({path: made[path] for path in made if path.startswith(inside or "dashboards/")})
    return {page["uid"]: cost(opened(page, replay.settings), replay, stretch) for page in pages.values()}


def rows(measured: Mapping[int, Mapping[str, Cost]]) -> Iterator[str]:
    """A line of the page for each dashboard: samples by number of engines, how they grow, and seconds."""
    fewest, most = min(measured), max(measured)
    for uid, least in measured[fewest].items():
        each = [measured[engines][uid] for engines in sorted(measured)]
        growth = math.log(each[-1].samples / least.samples) / math.log(most / fewest)
        counted = " | ".join(f"{one.samples / 1e6:,.2f}" for one in each)
        timed = " | ".join(f"{one.seconds:.1f}" for one in each)
        yield f"| `{uid}` | {counted} | {growth:.2f} | {timed} |"


def main() -> None:
    """Measure every dashboard with each fleet and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prometheus", type=Path, required=True)
    parser.add_argument("--promtool", type=Path, required=True)
    given = parser.parse_args()
    settings, programs = load(ROOT / "tests/rules/objectives.toml"), (given.prometheus, given.promtool)
    measured = {}
    for engines in FLEETS:
        with past(engines, settings, programs) as replay:
            measured[engines] = costs(replay)
        total = sum(measured[engines].values(), Cost())
        sys.stdout.write(f"{engines} engines: {total.samples / 1e6:,.1f} million samples in {total.seconds:.0f} s\n")
        sys.stdout.flush()
    with past(FLEETS[0], settings, programs, stretch=SHOWN) as replay:
        whole = costs(replay, stretch=SHOWN)
    apart = max(abs(measured[FLEETS[0]][uid].samples / one.samples - 1) for uid, one in whole.items())
    bound = (math.floor(apart * 1000) + 1) / 1000
    PAGE.write_text(HEAD + "\n".join(rows(measured)) + TAIL.format(apart=bound, minutes=STRETCH.seconds // 60))


if __name__ == "__main__":
    main()
