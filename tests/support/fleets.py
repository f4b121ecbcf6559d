"""Fleets of any size that a real Prometheus scrapes: few servers are simulated, the others answer as these do.

A server gives the samples of its last minutes when it is first asked, each with its time, so that the windows of the
rules are full at once; of series that are read over longer, those of the hour before, which stand still. So does what a
real page of vLLM has and the simulator has not.
"""

import itertools
import json
import re
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import isnan
from pathlib import Path
from typing import Any
from wsgiref.types import StartResponse, WSGIEnvironment

import httpx
import promql_parser
import yaml

from conftest import ROOT
from draftboard.build import render, stack
from draftboard.catalogue import serving
from draftboard.durations import Duration
from draftboard.lab import openmetrics
from draftboard.lab.listening import Listener, answering, respond
from draftboard.lab.simulator import Scenario, find
from draftboard.lab.simulator.fleet import Instance, Target, targets
from draftboard.prometheus import Client, Server
from draftboard.settings import Settings
from support.rulefiles import loaded, nodes, series_in

SIMULATED = 10
"""Engines of all five models that are simulated; a fleet is a multiple of them."""
_REAL = ROOT / "tests/data/v0.32.0-ngram-load.prom"
_OLDEST = Duration(3480)
"""Before older samples Prometheus closes its head, half of which is an hour."""
_BUSY = Duration(120)
"""After which requests come and go alike."""
LOOKBACK = Duration(300)
"""That of a Prometheus without flags."""


def read_beyond(exprs: Iterable[str], reach: Duration) -> set[str]:
    """Names of the series that these read over longer than that."""
    found: set[str] = set()
    for expr in exprs:
        for window in nodes(expr, promql_parser.MatrixSelector):
            found |= {str(window.vector_selector.name)} if window.range.total_seconds() > reach.seconds else set()
        for window in nodes(expr, promql_parser.SubqueryExpr):
            found |= series_in(window.expr.prettify()) if window.range.total_seconds() > reach.seconds else set()
    return found


@dataclass(frozen=True)
class Fleet:
    """So many engines of five models, under a job's name."""

    job: str
    engines: int

    def __post_init__(self) -> None:
        assert self.engines % SIMULATED == 0, f"{self.engines} is no multiple of {SIMULATED}"


class _Simulated:
    """A server that is simulated as time goes on, and its pages with their times."""

    def __init__(
        self, target: Target, since: int, settings: Settings, past: Duration, read_longer: Iterable[str]
    ) -> None:
        step = settings.rules.scrape_interval.seconds
        self.labels = target.labels
        self._since, self._step = since, step
        self._begun = since - _BUSY.seconds
        # Its process is older than its traffic, so that its engines start no more.
        self._instance = Instance(target, since - settings.rules.startup.seconds)
        children = self._instance.children
        self._series = [openmetrics.series(name, labels) for child in children for name, labels in child.series]
        names = {name for child in children for name, _ in child.series}
        real = (line.rpartition(" ") for line in _REAL.read_text().splitlines() if not line.startswith("#"))
        self._rest = [(series, value) for series, _, value in real if _name(series) not in names]
        still = [one for one in self._lines(since) if _name(one[0]) in read_longer]
        older = range(since - (_OLDEST.seconds - past.seconds), since, step)
        self._pages = ["".join(_stamped(still, at) for at in older)]
        self.pages(0, since + past.seconds)

    def pages(self, begin: int, now: float) -> tuple[bytes, int]:
        """All from a number on that were due by now, and the number of the next."""
        while (at := self._since + (len(self._pages) - 1) * self._step) <= now:
            self._pages.append(_stamped(self._lines(at), at))
        return "".join(self._pages[begin:]).encode(), len(self._pages)

    def _lines(self, at: int) -> list[tuple[str, str]]:
        """Series and value of every sample."""
        self._instance.advance(at - self._begun)
        values = self._instance.row().tolist()
        exposed = [(name, repr(value)) for name, value in zip(self._series, values, strict=True) if not isnan(value)]
        return exposed + self._rest


def _name(sample: str) -> str:
    return re.split("[{ ]", sample, maxsplit=1)[0]


def _stamped(lines: Iterable[tuple[str, str]], at: int) -> str:
    return "".join([f"{series} {value} {at}000\n" for series, value in lines])


@dataclass
class _Site:
    """All servers, by the path at which each is asked."""

    simulated: Sequence[_Simulated]
    given: dict[str, int] = field(default_factory=dict)  # pages, by path
    turn: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        path = environ["PATH_INFO"]
        number = int(path.rpartition("/")[2]) % len(self.simulated)
        with self.turn:
            text, following = self.simulated[number].pages(self.given.get(path, 0), time.time())
        yield from respond(start, text, "text/plain; version=0.0.4")
        self.given[path] = following  # Only of an answer that was taken.


def simulated() -> Scenario:
    """The fleet of 100 engines of five models, with a tenth of its servers."""
    whole = find("fleet-100")
    few = tuple(one.model_copy(update={"instances": one.instances * SIMULATED // 100}) for one in whole.server)
    return whole.model_copy(update={"server": few})


@contextmanager
def scraped(
    fleets: Sequence[Fleet],
    settings: Settings,
    program: Path,
    folder: Path,
    groups: Sequence[dict[str, Any]],
    *,
    past: Duration,
    read_longer: Iterable[str],
) -> Iterator[str]:
    """A Prometheus that is configured as the stack's and evaluates groups of rules, for a `with`; yields its URL.

    `past` is what servers give at once.
    """
    step = settings.rules.scrape_interval.seconds
    since = int(time.time() - past.seconds) // step * step
    site = _Site([_Simulated(target, since, settings, past, read_longer) for target in targets(simulated(), seed=1)])
    with _listening(site) as address:
        given = [_discovered(address, site.simulated, fleet) for fleet in fleets]
        told = loaded(render(settings)[stack.PROMETHEUS])
        told |= stack.servers(settings, "a test")
        # A first answer is long, as it has all of the past; and a fleet may have more servers than settings expect.
        told["global"] |= {"sample_limit": 0, "body_size_limit": 0, "target_limit": 0}
        told["scrape_configs"][0]["scrape_timeout"] = str(settings.rules.scrape_interval)
        told.pop("alerting", None)
        files = {"targets/fleets.json": json.dumps(list(itertools.chain(*given)))}
        files["rules/all.rules.yaml"] = json.dumps({"groups": list(groups)})
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        (folder / "prometheus").mkdir()
        flags = ("--web.enable-lifecycle",)
        with Server(program, folder / "prometheus", LOOKBACK, yaml.safe_dump(told), flags).running() as url:
            yield url


def stop_scraping(http: httpx.Client, folder: Path) -> None:
    """Leave such a Prometheus running, with all that it has, but without servers and rules."""
    (folder / "prometheus/prometheus.yml").write_text("global: {}\n")
    http.post("/-/reload").raise_for_status()


def complete(client: Client, fleets: Iterable[Fleet], past: Duration) -> bool:
    """Whether each server has been asked, and has given its past."""
    then = time.time() - past.seconds + LOOKBACK.seconds
    found = client.query(f"count({serving.REQUESTS_RUNNING.name})", then)
    return bool(found) and found[0].samples[0][1] == sum(fleet.engines for fleet in fleets)


@contextmanager
def _listening(site: _Site) -> Iterator[str]:
    with Listener("127.0.0.1", 0, site) as listener, answering([listener]):
        yield f"127.0.0.1:{listener.server_port}"


def _discovered(address: str, simulated: Sequence[_Simulated], fleet: Fleet) -> list[dict[str, Any]]:
    """A target for each server of a fleet."""
    copies = fleet.engines // SIMULATED
    return [
        {
            "targets": [address],
            "labels": one.labels
            | {"job": fleet.job, "instance": f"{fleet.job}-{number}:8000"}
            | {"__metrics_path__": f"/{fleet.job}/{number}"},
        }
        for number, one in enumerate(itertools.chain.from_iterable(itertools.repeat(simulated, copies)))
    ]
