"""What it costs to open a dashboard, by the number of engines: samples, which do not depend on load."""

import math
import time
from collections.abc import Iterator, Mapping

import httpx
import pytest

from conftest import program
from draftboard.durations import Duration
from draftboard.lab.replay.evaluate import in_passes
from draftboard.prometheus import Client
from draftboard.rules import recording_groups
from draftboard.settings import Settings
from support import grafana
from support.fleets import Fleet, complete, read_beyond, scraped
from support.opened import Span, queries, stretched
from support.rulefiles import rules
from support.waiting import until

pytestmark = [pytest.mark.prometheus, pytest.mark.long]

FEW, MANY = Fleet("few", 10), Fleet("many", 40)
"""In one Prometheus, of which a page shows the one or the other."""
PAST = Duration(420)
PACE = 10
EVALUATED = "evaluated"
"""Record of when the last evaluation that is over began."""
SHOWN = Duration(3 * 3600)
POINT = Duration(120)
"""All points of a graph cost alike: one is enough, at the longest step of three hours."""
FLAT, LINEAR = 0.1, 1.0
BY_ENGINE = {"draftboard-fleet"}
MOST = 18_000_000
"""Samples that vLLM's own overview, not released yet, reads of ten engines in three hours at a point every 15 s."""


def samples(http: httpx.Client, page: grafana.Json, settings: Settings, fleet: Fleet) -> float:
    """That Prometheus reads when the page is opened for one of the fleets."""
    sent = queries(page, settings, SHOWN, chosen={"job": fleet.job})
    return stretched(http, sent, Span(time.time(), POINT), SHOWN).samples


def raw(pages: Mapping[str, grafana.Json]) -> Mapping[str, grafana.Json]:
    """Pages that read raw series."""
    return {path: page for path, page in pages.items() if "/standalone/" in path}


@pytest.fixture(scope="module")
def pages(files: Mapping[str, str]) -> Mapping[str, grafana.Json]:
    return grafana.dashboards(files)


@pytest.fixture(scope="module")
def prometheus(
    files: Mapping[str, str],
    pages: Mapping[str, grafana.Json],
    settings: Settings,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[httpx.Client]:
    """Both fleets, and all records after one evaluation: they are in one group, in the order in which they are read."""
    written = {rule["record"]: rule for rule in rules(files, "record")}
    order = (rule.record for one in in_passes(recording_groups(settings)) for rule in one)
    last = {"record": EVALUATED, "expr": "time()"}
    group = {"name": "all", "interval": f"{PACE}s", "rules": [*(written[record] for record in order), last]}
    exprs = [query.expr for page in raw(pages).values() for query in queries(page, settings, SHOWN)]
    running = scraped(
        [FEW, MANY],
        settings,
        program("prometheus"),
        tmp_path_factory.mktemp("fleets"),
        [group],
        past=PAST,
        read_longer=read_beyond(exprs, PAST),
    )
    with running as url, Client(url) as client, httpx.Client(base_url=url, timeout=60) as http:
        until(lambda: complete(client, [FEW, MANY], PAST), "every server is scraped", 180)
        since = time.time()
        until(lambda: client.query(f"{EVALUATED} > {since}", time.time()), "the rules are evaluated", 180)
        yield http


def test_what_a_page_of_records_reads_grows_with_models_and_not_with_engines(
    prometheus: httpx.Client, pages: Mapping[str, grafana.Json], settings: Settings
) -> None:
    growth = {}
    for page in (page for path, page in pages.items() if path not in raw(pages)):
        few, many = (samples(prometheus, page, settings, fleet) for fleet in (FEW, MANY))
        assert few > 1000, page["uid"]
        growth[page["uid"]] = math.log(many / few) / math.log(MANY.engines / FEW.engines)
    assert {uid: f"{one:.2f}" for uid, one in growth.items() if one > (LINEAR if uid in BY_ENGINE else FLAT)} == {}


def test_opening_a_page_of_raw_series_costs_at_most_what_vllm_s_own_does(
    prometheus: httpx.Client, pages: Mapping[str, grafana.Json], settings: Settings
) -> None:
    read = {page["uid"]: samples(prometheus, page, settings, FEW) for page in raw(pages).values()}
    assert all(one > 1_000_000 for one in read.values()), read
    assert {uid: f"{one:,.0f}" for uid, one in read.items() if one > MOST} == {}
