"""What opening pages costs a Prometheus with fleets of several sizes, beside vLLM's own overview: samples."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx

from draftboard.durations import Duration
from draftboard.lab.replay.order import in_order
from draftboard.prometheus import Client
from draftboard.rules import RecordingRule, recording_groups
from draftboard.settings import Settings
from support import grafana
from support.fleets import Fleet, complete, read_beyond, scraped
from support.opened import Span, queries, stretched
from support.rulefiles import rules
from support.vllm_overview import vllm_overview
from support.waiting import until

HOURS, DAY, WEEK = Duration(3 * 3600), Duration(24 * 3600), Duration(7 * 24 * 3600)
PAST = Duration(420)
PACE = 10
EVALUATED = "evaluated"
"""Record of when the last evaluation that is over began."""
POINT = Duration(1)
"""All points of a graph cost alike: one is enough, and of records that have just begun there is no other."""
STRETCH = Duration(120)
"""Of what is read over all that is shown."""


@contextmanager
def evaluated(
    files: Mapping[str, str], settings: Settings, fleets: Sequence[Fleet], folder: Path, program: Path
) -> Iterator[httpx.Client]:
    """A Prometheus with fleets, and all records after one evaluation.

    They are in one group, in the order in which they are read.
    """
    written = {rule["record"]: rule for rule in rules(files, "record")}
    order = (
        rule.record
        for step in in_order(recording_groups(settings))
        for rule in step.rules
        if isinstance(rule, RecordingRule)
    )
    last = {"record": EVALUATED, "expr": "time()"}
    group = {"name": "all", "interval": f"{PACE}s", "rules": [*(written[record] for record in order), last]}
    pages = raw(grafana.dashboards(files)).values()
    exprs = [query.expr for page in pages for query in queries(page, settings, DAY)]
    longer = read_beyond(exprs, PAST)
    running = scraped(fleets, settings, program, folder, [group], past=PAST, read_longer=longer)
    with running as url, Client(url) as client, httpx.Client(base_url=url, timeout=60) as http:
        until(lambda: complete(client, fleets, PAST), "every server is scraped", 180)
        since = time.time()
        until(lambda: client.query(f"{EVALUATED} > {since}", time.time()), "the rules are evaluated", 180)
        yield http


def samples(http: httpx.Client, page: grafana.Json, settings: Settings, fleet: Fleet, shown: Duration) -> float:
    """That Prometheus reads when the page is opened for one of the fleets."""
    sent = queries(page, settings, shown, chosen={"job": fleet.job})
    return stretched(http, sent, Span(time.time(), POINT), shown).samples


def of_vllm(http: httpx.Client, settings: Settings, fleet: Fleet, shown: Duration) -> float:
    """That it reads when vLLM's own overview is opened."""
    sent = vllm_overview(settings, fleet.job, shown, STRETCH)
    return stretched(http, sent, Span(time.time(), POINT), shown).samples


def raw(pages: Mapping[str, grafana.Json]) -> Mapping[str, grafana.Json]:
    """Pages that read raw series."""
    return {path: page for path, page in pages.items() if "/standalone/" in path}
