"""What fleets of 10 to 3,000 engines cost Prometheus: `make bench` writes the page on performance.

Of each fleet: a Prometheus scrapes it and evaluates the rules; what these recorded is repeated over the time that pages
show; then the rules are timed, and every page is opened.
"""

import argparse
import itertools
import math
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

import httpx

from conftest import OBJECTIVES
from draftboard.build import render
from draftboard.durations import Duration
from draftboard.lab import openmetrics
from draftboard.prometheus import Client, Promtool, Series, Server
from draftboard.settings import Settings, load
from scripts import bench_beside, bench_disk
from scripts.performance import PAGE, table
from support import grafana
from support.fleets import LOOKBACK, Fleet, complete, read_beyond, scraped, stop_scraping
from support.opened import Cost, Query, Span, opened, queries, stretched
from support.rulefiles import groups, rules, series_in
from support.waiting import until

FLEETS = (10, 100, 300, 1_000, 3_000)  # Engines.
PAST = Duration(720)  # That servers give at once.
STRETCH = Duration(300)  # Of it, over which queries of raw series are counted.
PACE = 10  # Seconds between evaluations: a fifth of a minute each.
SETTLED = 10  # Evaluations after which every record is there: some read others, in groups that take turns.
ROUNDS = 6  # Evaluations that are timed, and whose values are repeated.
OPENED = 3  # Times that a page is opened, of which the middle one counts.
YESTERDAY = Duration(26 * 3600)  # Of records that rules read over a day or longer.
LAST_HOUR = Duration(90 * 60)  # Of whether servers were up: rules ask this hour, and before.
BLOCK = 7200  # Seconds of one of Prometheus' blocks.
RECORD = "[a-z]+:(vllm|draftboard)_.+"
JOB = "vllm"
MEMORY = re.compile(r"(?m)^process_resident_memory_bytes (\S+)$")
CPU = re.compile(r"(?m)^process_cpu_seconds_total (\S+)$")

HEAD = """# Performance

The cost of fleets of {sizes} engines for a Prometheus. `make bench` writes this page: edit
`tests/scripts/bench.py` instead.

## Opening a dashboard

The time range is {shown}, all variables have their defaults, and collapsed rows stay closed. Samples are those that
Prometheus reads for all queries of the dashboard. The peak is the most samples that a single query holds at a time.
Seconds end with the last response.

{opening}
The exponent is that of a power law from the smallest to the largest fleet: 0 means constant cost, 1 means cost
proportional to the engines. A dashboard on records reads the records of five models in every fleet. Only
`draftboard-fleet` shows single engines in its open rows. With {most} engines the slowest dashboard is
`{slowest_page}`, {slowest_seconds:.2f} s.

## Dashboards on raw series

These are for a few engines without recording rules. The table has their samples over {shown}.

{alone}
{beside}{disk}## Rules

Prometheus evaluates the rules every minute, those on days every four, spread over that time. Their CPU seconds are
those of the process while it evaluates each rule's expression {rounds} times, and does nothing else. Writing what they
record comes on top. Other work on the machine adds less to them than to seconds.

{rules}
Samples are those that Prometheus counts when each rule's expression is evaluated once, with {yesterday} of records;
those of slower groups count by their interval. Reading each scraped series once means all of its samples of five
minutes. Memory is resident, after the rules were timed: {raw_samples} scraped samples a series, the head not yet cut.

With {most} engines the longest group is `{slowest_group}`, and the slowest rule `{slowest_rule}`, {rule_seconds:.2f}
s. The number of rules on models does not depend on the fleet, so their series are a larger share in a small fleet.

## Method

- {date}, Prometheus {version}, {machine}; load average {load:.1f} over five minutes, the benchmark's own work
  included.{note}
- Five models, of which four draft; 4 in 10 engines are one of two data-parallel ranks (`fleet-100` of
  `draftboard simulate`, scaled). Ten engines are simulated, and the others are copies. Prometheus scrapes servers every
  {scrape}. Series of a real vLLM 0.32 that the simulator lacks have constant values.
- The rules run in the groups of their files, every {pace} s rather than every minute to shorten the benchmark. The
  seconds of a group and of a rule are the median of {rounds} evaluations. The last recorded values are repeated over
  {shown}, and over {yesterday} where rules read a day or more. No rule reads more than {yesterday}, although the
  baseline of step costs may read three days, and the attainment of objectives thirty.
- A dashboard is opened {opened} times, and the median counts: variables one after the other, then all queries, six at a
  time as a browser sends them, at the step that Grafana uses on a screen of 1920 pixels. The time excludes Grafana,
  rendering and the network. Grafana queries panels as they are scrolled into view; the benchmark queries all. During
  the measurement nothing is scraped or evaluated.
- Samples of raw series are counted over {stretch} and multiplied. These dashboards are not opened.
"""


@dataclass(frozen=True)
class Measured:
    """One fleet."""

    engines: int
    servers: int
    raw: int  # Active series that were scraped, those of the scrapes themselves included.
    records: int  # Active series that rules added.
    groups: dict[str, float]  # Seconds of an evaluation, by name.
    slowest: tuple[str, float]  # Rule, and its seconds.
    pages: dict[str, Cost]  # By uid, of records.
    standalone: dict[str, Cost]  # By uid, of raw series: counted over a stretch, not opened.
    read: float  # Samples that rules read in a minute.
    cpu: float  # Seconds of a processor in which it evaluates the rules of a minute.
    memory: float  # Resident bytes of Prometheus.


class Bench:
    """Fleets of any size, measured with the same rules and pages."""

    def __init__(self, settings: Settings, prometheus: Path, promtool: Path) -> None:
        self.settings, self._prometheus, self._promtool = settings, prometheus, Promtool(promtool)
        self._files = render(settings)
        self._groups = [one | {"interval": f"{PACE}s"} for one in groups(self._files)]
        all_pages = grafana.dashboards(self._files)
        self._pages = {one["uid"]: one for path, one in all_pages.items() if "/standalone/" not in path}
        self._standalone = {one["uid"]: one for path, one in all_pages.items() if "/standalone/" in path}
        self.shown = settings.dashboards.time_range

    def measure(self, engines: int) -> Measured:
        """All of one fleet."""
        began = time.monotonic()

        def tell(what: str) -> None:
            sys.stdout.write(f"{engines:4} engines, {time.monotonic() - began:4.0f} s: {what}\n")
            sys.stdout.flush()

        fleet = Fleet(JOB, engines)
        with tempfile.TemporaryDirectory(prefix="draftboard-bench-") as name, ExitStack() as stack:
            folder = Path(name)
            started = time.time()
            tell("scraping the fleet")
            running = scraped(
                [fleet],
                self.settings,
                self._prometheus,
                folder,
                self._groups,
                past=PAST,
                read_longer=read_beyond(self._exprs(), PAST),
            )
            with running as url, Client(url) as client, httpx.Client(base_url=url, timeout=600) as http:
                until(lambda: complete(client, [fleet], PAST), "every server is scraped", 1_200)
                tell("waiting for the records")
                time.sleep(SETTLED * PACE)
                tell("writing the past")
                self._write_past(client, folder, started)
                until(lambda: client.query(f"count(up offset {LAST_HOUR // 2})", time.time()), "the past", 600)
                tell("timing the rules")
                timed = self._timed(http)
                raw, records = (
                    int(
                        client.query(f'count({{__name__!="", __name__{how}"{RECORD}|ALERTS.*"}})', time.time())[
                            0
                        ].samples[0][1]
                    )
                    for how in ("!~", "=~")
                )
                servers = len(client.targets())
                memory = float(MEMORY.findall(http.get("/metrics").text)[0])
                end = time.time() // 60 * 60
                stop_scraping(http, folder)
                tell("evaluating each rule")
                read, cpu = self._evaluated(http, end)
                tell("counting samples of raw series")
                standalone = {
                    uid: stretched(http, self._queries(page), Span(end, STRETCH), self.shown)
                    for uid, page in self._standalone.items()
                }
            tell("opening the pages")
            quiet = Server(self._prometheus, folder / "prometheus", LOOKBACK)
            http = stack.enter_context(httpx.Client(base_url=stack.enter_context(quiet.running()), timeout=600))
            pages = {uid: self._opened(http, page, end) for uid, page in self._pages.items()}
            tell("done")
        by_group, by_rule = (
            {name: median(one[name] for one in rounds) for name in rounds[0]} for rounds in zip(*timed, strict=True)
        )
        slowest = max(by_rule, key=by_rule.__getitem__)
        of_rules = by_group, (slowest, by_rule[slowest])
        return Measured(engines, servers, raw, records, *of_rules, pages, standalone, read, cpu, memory)

    def _exprs(self) -> Iterator[str]:
        """Of all rules and of pages that read raw series."""
        yield from (rule["expr"] for rule in rules(self._files))
        yield from (query.expr for page in self._standalone.values() for query in self._queries(page))

    def _queries(self, page: grafana.Json) -> list[Query]:
        return list(queries(page, self.settings, self.shown))

    def _opened(self, http: httpx.Client, page: grafana.Json, end: float) -> Cost:
        tries = [opened(http, page, self.settings, Span(end, self.shown)) for _ in range(OPENED)]
        return sorted(tries, key=lambda one: one.seconds)[OPENED // 2]

    def _timed(self, http: httpx.Client) -> list[tuple[dict[str, float], dict[str, float]]]:
        """Seconds of each group and of each rule, evaluation by evaluation."""
        found = []
        for _ in range(ROUNDS):
            time.sleep(PACE)
            told = http.get("/api/v1/rules").json()["data"]["groups"]
            wrong = [rule["lastError"] for group in told for rule in group["rules"] if rule.get("lastError")]
            assert not wrong, wrong[:3]
            by_rule = {rule["name"]: rule["evaluationTime"] for group in told for rule in group["rules"]}
            found.append(({group["name"]: group["evaluationTime"] for group in told}, by_rule))
        return found

    def _evaluated(self, http: httpx.Client, at: float) -> tuple[float, float]:
        """Samples that all rules read in a minute, and seconds of a processor that they take."""
        read = cpu = 0.0
        intervals: dict[str, list[str]] = {}
        for group in groups(self._files):
            intervals.setdefault(group["interval"], []).extend(rule["expr"] for rule in group["rules"])
        for interval, exprs in intervals.items():
            share = 60 / Duration.parse(interval).seconds
            begun = float(CPU.findall(http.get("/metrics").text)[0])
            for expr in exprs * ROUNDS:
                answer = http.post("/api/v1/query", data={"query": expr, "time": at, "stats": "all"})
                samples = answer.raise_for_status().json()["data"]["stats"]["samples"]["totalQueryableSamples"]
                read += share * samples / ROUNDS
            cpu += share * (float(CPU.findall(http.get("/metrics").text)[0]) - begun) / ROUNDS
        return read, cpu

    def _write_past(self, client: Client, folder: Path, end: float) -> None:
        """What the rules recorded last, over and over until the fleet was first scraped, as blocks."""
        now, pace = time.time(), self.settings.rules.evaluation_interval.seconds
        exprs = [rule["expr"] for rule in rules(self._files)]
        shown = {name for page in self._pages.values() for one in self._queries(page) for name in series_in(one.expr)}
        read, far = shown | read_beyond(exprs, PAST), read_beyond(exprs, self.shown)
        # Records of engines that neither an open row nor a rule looks back at would only take time to write.
        records = [
            one
            for one in client.query_range(f'{{__name__=~"{RECORD}"}}', now - ROUNDS * PACE, now, PACE)
            if one.labels["__name__"] in read or not one.labels["__name__"].startswith(("engine:", "target:"))
        ]
        lasting = (
            _Repeated(records, end - self.shown.seconds - pace, end, pace),
            _Repeated(
                [one for one in records if one.labels["__name__"] in far],
                end - YESTERDAY.seconds,
                end - self.shown.seconds - pace,
                pace,
            ),
            _Repeated(
                client.query("up", now), end - LAST_HOUR.seconds, end, self.settings.rules.scrape_interval.seconds
            ),
        )
        with tempfile.TemporaryDirectory(dir=folder) as name:
            for number, repeated in enumerate(lasting):
                for block, lines in repeated.blocks():
                    at = Path(name) / f"{number}-{block}.om"
                    with at.open("w") as text:
                        text.writelines(lines)
                        text.write("# EOF\n")
                    self._promtool.load_openmetrics(at, folder / "prometheus/data")
                    at.unlink()


@dataclass(frozen=True)
class _Repeated:
    """Series whose values are repeated, from a time to another."""

    series: Sequence[Series]
    begin: float
    end: float
    step: int

    def blocks(self) -> Iterator[tuple[int, Iterator[str]]]:
        """OpenMetrics lines, by the start of the block that they belong to."""
        times = range(math.ceil(self.begin / self.step) * self.step, int(self.end), self.step)
        for block, inside in itertools.groupby(times, key=lambda at: at // BLOCK * BLOCK):
            yield block, self._lines(list(inside))

    def _lines(self, times: Sequence[int]) -> Iterator[str]:
        for one in self.series:
            name = openmetrics.series(one.labels["__name__"], one.unnamed)
            values = itertools.cycle(f"{name} {value!r} " for _, value in one.samples)
            yield "".join([f"{sample}{at}\n" for sample, at in zip(values, times, strict=False)])


def growth(costs: Mapping[int, Cost]) -> float:
    """Exponent of the power law through the samples of the smallest and the largest fleet."""
    least, most = min(costs), max(costs)
    return math.log(costs[most].samples / costs[least].samples) / math.log(most / least)


def by_page(fleets: Sequence[Measured], costs: Callable[[Measured], Mapping[str, Cost]]) -> dict[str, dict[int, Cost]]:
    """Of each page, by number of engines."""
    return {uid: {one.engines: costs(one)[uid] for one in fleets} for uid in costs(fleets[0])}


def written(fleets: Sequence[Measured], settings: Settings, version: str, note: str) -> str:
    """The page."""
    sizes = [f"{one.engines:,} engines" for one in fleets]
    records = by_page(fleets, lambda one: one.pages)
    raw = by_page(fleets, lambda one: one.standalone)
    least, largest = fleets[0], fleets[-1]

    def added(fleet: Measured) -> float:
        return (fleet.records - least.records) / (fleet.engines - least.engines)

    def once(fleet: Measured) -> float:
        return fleet.raw * settings.rules.rate_window.seconds / settings.rules.scrape_interval.seconds

    slowest_page = max(largest.pages, key=lambda uid: largest.pages[uid].seconds)
    slowest_group = max(largest.groups, key=lambda name: largest.groups[name])
    opening = table(
        ["dashboard", *(f"samples, {size}" for size in sizes), "exponent", f"peak, {sizes[-1]}"]
        + [f"s, {size}" for size in sizes],
        (
            [
                *(f"`{uid}`", *(f"{one.samples / 1e6:.2f} M" for one in costs.values())),
                *(f"{growth(costs):z.2f}", f"{costs[largest.engines].peak:,}"),
                *(f"{one.seconds:.2f}" for one in costs.values()),
            ]
            for uid, costs in records.items()
        ),
    )
    alone = table(
        ["dashboard", *(f"samples, {size}" for size in sizes), "exponent"],
        (
            [f"`{uid}`"] + [f"{one.samples / 1e6:,.1f} M" for one in costs.values()] + [f"{growth(costs):z.2f}"]
            for uid, costs in raw.items()
        ),
    )
    rules = table(
        ["", *sizes],
        (
            ["servers", *(f"{one.servers:,}" for one in fleets)],
            ["CPU seconds a minute", *(f"{one.cpu:.2f}" for one in fleets)],
            ["share of one processor", *(f"{one.cpu / 60:.1%}" for one in fleets)],
            ["longest group, seconds", *(f"{max(one.groups.values()):.2f}" for one in fleets)],
            ["active series that are scraped", *(f"{one.raw:,}" for one in fleets)],
            ["active series that rules add", *(f"{one.records:,}" for one in fleets)],
            ["added series per further engine", *("" if one is least else f"{added(one):.0f}" for one in fleets)],
            ["share of the scraped series", *(f"{one.records / one.raw:.1%}" for one in fleets)],
            ["samples that rules read in a minute", *(f"{one.read:,.0f}" for one in fleets)],
            ["times reading each scraped series once", *(f"{one.read / once(one):.2f}" for one in fleets)],
            ["memory of Prometheus", *(f"{one.memory / 1e6:,.0f} MB" for one in fleets)],
        ),
    )
    return HEAD.format(
        sizes=", ".join(f"{one.engines:,}" for one in fleets),
        raw_samples=PAST.seconds // settings.rules.scrape_interval.seconds,
        shown=settings.dashboards.time_range,
        opening=opening,
        alone=alone,
        beside=bench_beside.measured(),
        disk=bench_disk.measured(),
        rules=rules,
        most=f"{largest.engines:,}",
        slowest_page=slowest_page,
        slowest_seconds=largest.pages[slowest_page].seconds,
        slowest_group=slowest_group,
        slowest_rule=largest.slowest[0],
        rule_seconds=largest.slowest[1],
        date=datetime.now(UTC).date(),
        version=version,
        machine=machine(),
        note=f" {note}" if note else "",
        load=os.getloadavg()[1],
        scrape=settings.rules.scrape_interval,
        stretch=STRETCH,
        opened=OPENED,
        rounds=ROUNDS,
        yesterday=YESTERDAY,
        pace=PACE,
    )


def machine() -> str:
    """Processors, their model, and memory."""
    models = re.findall(r"(?m)^model name\s*: (.+)$", Path("/proc/cpuinfo").read_text())
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    return f"{os.cpu_count()} processors ({models[0] if models else platform.machine()}), {memory:.0f} GB of memory"


def main() -> None:
    """Measure all fleets and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prometheus", type=Path, required=True)
    parser.add_argument("--promtool", type=Path, required=True)
    parser.add_argument("--note", default="", help="a sentence on the circumstances, for the page")
    given = parser.parse_args()
    settings = load(OBJECTIVES)
    told = subprocess.run([given.prometheus, "--version"], capture_output=True, text=True, check=True).stdout
    bench = Bench(settings, given.prometheus, given.promtool)
    fleets = [bench.measure(engines) for engines in FLEETS]
    PAGE.write_text(written(fleets, settings, told.split()[2], given.note))
    sys.stdout.write(f"{PAGE}\n")


if __name__ == "__main__":
    main()
