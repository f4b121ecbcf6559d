"""Rules in vmalert on a live fleet: two replicas and two shards scrape it, and one replica dies and comes back.

A Prometheus beside them evaluates the same rules on the same servers.
"""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from subprocess import Popen
from typing import Any

import httpx
import pytest
import yaml

from conftest import ROOT, Tell, program
from draftboard.alerts import WATCHDOG, of_settings
from draftboard.build import render, stack
from draftboard.build.files import ALERTING, RECORDING
from draftboard.durations import Duration
from draftboard.lab.simulator import find
from draftboard.lab.simulator.fleet import targets
from draftboard.lab.simulator.serve import serving
from draftboard.prometheus import Client, Server, stop
from draftboard.rules import RecordingRule, recording_groups
from draftboard.settings import Settings
from draftboard.signals import Level
from draftboard.signals.events import restarts
from draftboard.signals.gains import best_k
from draftboard.signals.traffic import generation_tokens
from support import victoria

pytestmark = pytest.mark.victoria

TITLE = "vmalert against a Prometheus beside it"
FLEET = str(ROOT / "tests/victoria/fleet.toml")
SPEED, FASTER = (3, 5) if victoria.cluster() else (5, 15)
"""Of the fleet, whose first event is after this test, and of all spans of the rules; a cluster is more processes."""
SPANS = ("scrape_interval", "evaluation_interval", "compare_with", "baseline", "startup")
SETTLED, DEAD, BACK = 13, 8, 8
"""Evaluations until the longest chain of records is there, and those around the return of the replica."""
HASTY = "VLLMRequestsAbandoned"
"""An alert that holds two evaluations only: on records of different age it would fire falsely."""
REPLICATED, SHARDED = "vllm", "sharded"
"""The same servers by job: read by two Prometheus servers, and by two vmagents of which each has some."""
NEVER_TWICE, NEVER_HALF = 1.4, 0.7
"""Of a sum of rates, over Prometheus' own: scrapes of both are up to a second apart."""
LAST = 8
"""Evaluations at the end: a series that comes or goes does so later in vmalert."""


@dataclass(frozen=True)
class Run:
    """What both hold when all is over."""

    settings: Settings
    prometheus: Client
    victoria: Client
    agents: tuple[str, ...]
    ruler: str
    settled: float
    ended: float

    def series(self, client: Client, record: str, job: str) -> dict[frozenset[tuple[str, str]], int]:
        """By a series' labels without its job: at how many of the last evaluations it was there."""
        step = self.settings.rules.evaluation_interval.seconds
        found = client.query_range(f'{record}{{job="{job}"}}', self.ended - (LAST - 1) * step, self.ended, step)
        return {
            frozenset((name, text) for name, text in one.labels.items() if name != "job"): len(one.samples)
            for one in found
        }

    def fired(self, client: Client, job: str) -> set[str]:
        """Alerts that fired at some time; the watchdog has no job."""
        asked = f'group by (alertname) (ALERTS{{alertstate="firing", job=~"{job}|"}})'
        return {one.labels["alertname"] for one in client.query_range(asked, self.settled, self.ended, 1)}


def settings(store: victoria.Store | None = None) -> Settings:
    """The defaults, faster; with a store, rules there."""
    default = Settings()
    rules: dict[str, Any] = {name: _faster(getattr(default.rules, name)) for name in SPANS}
    rules["window"] = _faster(default.rules.rate_window)
    policies = {alert.name: alert.policy(default) for alert in of_settings(default)}
    alerts = {
        name: {"for": _faster(own.pending_period), "keep_firing_for": _faster(own.keep_firing_for)}
        for name, own in policies.items()
    }
    alerts[HASTY]["for"] = str(Duration.parse(rules["evaluation_interval"]) * 2)
    told: dict[str, Any] = {"rules": rules, "alerts": alerts}
    if store:
        there = {"url": f"{store.write}/api/v1/write", "query_url": store.read, "rules_there": True}
        told |= {"rules": rules | {"ruler": "vmalert"}, "stack": {"remote_write": [there]}}
    return Settings.model_validate(told)


def _faster(span: Duration) -> str:
    return f"{round(span.seconds / FASTER)}s"


def prometheus(folder: Path, settings: Settings, groups: list[dict[str, Any]]) -> Server:
    """A server configured by the stack's own file, without those of the stack that do not run here."""
    made = render(settings)
    told = yaml.safe_load(made[stack.PROMETHEUS])
    told |= stack.servers(settings, "a test")
    told.pop("alerting", None)
    for path, text in {
        "targets/fleet.yaml": yaml.safe_dump(groups),
        "rules/recording.rules.yaml": made[RECORDING],
        "rules/alerting.rules.yaml": made[ALERTING],
    }.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    (folder / "prometheus").mkdir()
    return Server(program("prometheus"), folder / "prometheus", settings.rules.rate_window, yaml.safe_dump(told))


def agent(
    folder: Path, store: victoria.Store, number: int, interval: Duration, groups: list[dict[str, Any]]
) -> tuple[Popen[bytes], str]:
    """One of two vmagents that share the targets."""
    folder.mkdir()
    job = {"job_name": SHARDED, "scrape_interval": str(interval), "static_configs": groups}
    (folder / "agent.yml").write_text(yaml.safe_dump({"scrape_configs": [job]}))
    shard = "-promscrape.cluster.membersCount=2", f"-promscrape.cluster.memberNum={number}"
    write = f"-remoteWrite.url={store.write}/api/v1/write", f"-remoteWrite.tmpDataPath={folder / 'queue'}"
    return victoria.start(folder, "vmagent", f"-promscrape.config={folder / 'agent.yml'}", *shard, *write)


def ruler(folder: Path, store: victoria.Store, settings: Settings) -> tuple[Popen[bytes], str]:
    """A vmalert that evaluates the rules as they are built for it."""
    folder.mkdir()
    made = render(settings)
    for path in (RECORDING, ALERTING):
        (folder / Path(path).name).write_text(made[path])
    looks_back = f"-datasource.queryStep={settings.rules.rate_window}"
    soon = "-rule.evalDelay=2s", "-remoteWrite.flushInterval=500ms"
    urls = f"-datasource.url={store.read}", f"-remoteRead.url={store.read}", f"-remoteWrite.url={store.write}"
    return victoria.start(
        folder, "vmalert", f"-rule={folder}/*.rules.yaml", *urls, *soon, looks_back, "-notifier.blackhole"
    )


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """Start all, kill a replica and, of a cluster, a store; start the replica again, and wait."""
    folder, here = tmp_path_factory.mktemp("live"), settings()
    fleet = targets(find(FLEET), seed=1)
    with ExitStack() as running:
        places = running.enter_context(serving(fleet, "127.0.0.1", 0, speed=SPEED))
        groups: list[dict[str, Any]] = httpx.get(f"http://{places[0]}/targets", trust_env=False).json()
        store = running.enter_context(victoria.storing(folder, victoria.cluster(), str(here.rules.scrape_interval)))
        there = settings(store)

        def kept(started: tuple[Popen[bytes], str]) -> str:
            running.callback(stop, started[0])
            return started[1]

        beside = kept(prometheus(folder / "beside", here, groups).start())
        replicas = [prometheus(folder / name, there, groups) for name in "ab"]
        kept(replicas[0].start())
        dying, _ = replicas[1].start()
        agents = tuple(
            kept(agent(folder / f"agent{number}", store, number, here.rules.scrape_interval, groups))
            for number in range(2)
        )
        rules = kept(ruler(folder / "ruler", store, there))
        client, other = (running.enter_context(Client(url)) for url in (beside, store.read))
        step = here.rules.evaluation_interval.seconds
        pass_seconds(SETTLED * step)
        settled = time.time()
        dying.kill()
        dying.wait()
        if len(store.holders) > 1:
            next(iter(store.holders.values())).kill()
        pass_seconds(DEAD * step)
        kept(replicas[1].start())
        pass_seconds(BACK * step)
        ended = time.time() - step
        yield Run(here, client, other, agents, rules, settled, ended)


def pass_seconds(seconds: float) -> None:
    """What is tested goes on by itself."""
    time.sleep(seconds)


def test_vmalert_evaluates_every_rule_without_an_error(run: Run) -> None:
    groups = httpx.get(f"{run.ruler}/api/v1/rules", trust_env=False).json()["data"]["groups"]
    rules = [rule for group in groups for rule in group["rules"]]
    assert len(rules) > 150
    assert [(rule["name"], rule["lastError"]) for rule in rules if rule["health"] != "ok" or rule["lastError"]] == []


def test_shards_have_each_target_once(run: Run) -> None:
    scraped = []
    for url in run.agents:
        with Client(url) as agent:
            scraped += [target.labels["instance"] for target in agent.targets()]
    assert sorted(scraped) == sorted(target.labels["instance"] for target in run.prometheus.targets())


@pytest.mark.parametrize("job", [REPLICATED, SHARDED])
def test_sums_are_neither_doubled_nor_halved_nor_missing_while_a_replica_dies_and_returns(
    run: Run, job: str, tell: Tell
) -> None:
    record = generation_tokens.record_name(Level.ENGINE, run.settings)
    step = run.settings.rules.evaluation_interval.seconds

    def total(client: Client, of: str) -> list[float]:
        (found,) = client.query_range(f'sum({record}{{job="{of}"}})', run.settled, run.ended, step)
        return [value for _, value in found.samples]

    reference, tried = total(run.prometheus, REPLICATED), total(run.victoria, job)
    assert len(reference) == len(tried)
    ratios = [one / other for one, other in zip(tried, reference, strict=True)]
    spread = f"median {median(ratios):.3f}, {min(ratios):.2f} to {max(ratios):.2f}"
    tell(TITLE, f"{job}: tokens/s over Prometheus' own at {len(ratios)} evaluations: {spread}")
    assert NEVER_HALF < min(ratios) <= max(ratios) < NEVER_TWICE


@pytest.mark.parametrize("job", [REPLICATED, SHARDED])
def test_the_alerts_that_fire_are_those_of_prometheus(run: Run, job: str, tell: Tell) -> None:
    expected, fired = run.fired(run.prometheus, REPLICATED), run.fired(run.victoria, job)
    tell(TITLE, f"{job}: fired in vmalert {sorted(fired)}, in Prometheus {sorted(expected)}")
    assert fired == expected == {WATCHDOG}


@pytest.mark.parametrize("job", [REPLICATED, SHARDED])
def test_every_record_has_the_series_that_it_has_in_prometheus(run: Run, job: str, tell: Tell) -> None:
    rules = [rule for group in recording_groups(run.settings) for rule in group.rules]
    unlike, compared = {}, 0
    for record in (rule.record for rule in rules if isinstance(rule, RecordingRule)):
        one, other = run.series(run.prometheus, record, REPLICATED), run.series(run.victoria, record, job)
        lasting = {labels for labels, times in (one | other).items() if times == LAST}
        compared += len(lasting)
        if lasting != lasting & one.keys() & other.keys():
            unlike[record] = f"{len(other)} series instead of {len(one)}"
    tell(TITLE, f"{job}: {compared} lasting series of records")
    assert unlike == {}
    assert compared > 500


def test_the_first_sample_of_a_server_is_no_restart(run: Run) -> None:
    record = restarts.record_name(Level.TARGET, run.settings)
    found = run.victoria.query_range(f"max({record})", run.settled, run.ended, 1)
    assert {value for series in found for _, value in series.samples} == {0.0}


@pytest.mark.parametrize("job", [REPLICATED, SHARDED])
def test_vmalert_finds_the_best_k(run: Run, job: str) -> None:
    record = str(best_k.record_name(Level.MODEL, run.settings))
    assert (
        run.series(run.victoria, record, job).keys() == run.series(run.prometheus, record, REPLICATED).keys() != set()
    )
