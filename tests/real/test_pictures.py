"""Idle, off, silent, down and busy servers beside each other: each gives the picture that it should, and no other.

Pages of real vLLM servers are repeated over fifty minutes, as if scraped; counters of the busy one grow.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import grafana
from conftest import program
from draftboard import artifacts
from draftboard.replay import Replay, firings, replaying
from draftboard.settings import Settings
from draftboard.signals import Level, Scope
from draftboard.signals.capacity import kv_cache_usage
from draftboard.signals.latency import per_token
from draftboard.signals.requests import error_ratio, request_rate
from draftboard.signals.slo import budget_left
from draftboard.signals.state import STATES, state, target_up

pytestmark = [pytest.mark.prometheus, pytest.mark.xdist_group("pictures")]

PAGES = Path(__file__).parent.parent / "data"
START, SCRAPES, PACE = 1_795_000_000, 200, 15
# Address, method label, page, and how much of its counters is added with every scrape.
SERVERS = {
    "idle": ("10.0.0.1:8000", "ngram", "ngram-load", 0.0),
    "busy": ("10.0.0.2:8000", "ngram", "ngram-load", 0.1),
    "off": ("10.0.0.3:8000", "none", "baseline", 0.1),
    "silent": ("10.0.0.4:8000", "ngram", "baseline", 0.0),
}
SAMPLE = re.compile(r"^([\w:]+)(?:\{(.*)\})? (\S+)$")
GROWS = re.compile(r"(_total|_bucket|_sum|_count)$")


def scraped(name: str) -> Iterator[str]:
    """The lines of one server over all scrapes, series by series."""
    address, method, page, growth = SERVERS[name]
    yield from over_time("up", target(name, address, method), "1", 0.0)
    for line in (PAGES / f"v0.32.0-{page}.prom").read_text().splitlines():
        found = SAMPLE.match(line)
        if not found or found[1].endswith("_created"):
            continue
        # --disable-log-stats takes away vLLM's own series and leaves those of HTTP and the process.
        if name == "silent" and found[1].startswith("vllm:"):
            continue
        labels = ",".join(part for part in (found[2], target(name, address, method)) if part)
        yield from over_time(found[1], labels, found[3], growth if GROWS.search(found[1]) else 0.0)


def target(name: str, address: str, method: str) -> str:
    return f'job="{name}",instance="{address}",spec_method="{method}"'


def over_time(series: str, labels: str, value: str, growth: float) -> Iterator[str]:
    for scrape in range(SCRAPES):
        yield f"{series}{{{labels}}} {float(value) * (1 + growth * scrape)} {START + PACE * scrape}"


@pytest.fixture(scope="module")
def fleet(settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replay]:
    lines = [line for name in SERVERS for line in scraped(name)]
    lines += over_time("up", 'job="gone",instance="10.0.0.5:8000",spec_method="eagle3"', "0", 0.0)
    lines += over_time("up", 'job="node",instance="10.0.0.5:9100"', "0", 0.0)
    path = tmp_path_factory.mktemp("fleet") / "fleet.om"
    path.write_text("\n".join([*lines, "# EOF\n"]))
    with replaying(path, settings, prometheus=program("prometheus"), promtool=program("promtool")) as replay:
        yield replay


def by_job(replay: Replay, expr: str) -> dict[str, float]:
    at = replay.end - 600
    return {series.labels["job"]: series.samples[0][1] for series in replay.client.query(expr, at)}


def test_each_server_is_in_a_state_of_its_own(fleet: Replay) -> None:
    states = by_job(fleet, Scope(fleet.settings)(state))
    expected = {"idle": "idle", "busy": "drafting", "off": "off", "silent": "silent", "gone": "down"}
    assert states == {job: STATES[name].value for job, name in expected.items()}
    assert len(set(states.values())) == len(expected)


def test_only_servers_of_vllm_are_said_to_be_up_or_down(fleet: Replay) -> None:
    up = by_job(fleet, Scope(fleet.settings, Level.TARGET)(target_up))
    assert up == {"idle": 1, "busy": 1, "off": 1, "silent": 1, "gone": 0}


def test_a_server_without_speculation_has_all_the_latencies(fleet: Replay) -> None:
    for signal in (per_token.mean, per_token.unresolved, per_token.p50):
        assert by_job(fleet, f"max by (job) ({Scope(fleet.settings)(signal)})").keys() == {"busy", "off"}


def test_an_idle_server_has_no_ratio_and_no_quantile_but_its_gauges(fleet: Replay) -> None:
    scope = Scope(fleet.settings)
    assert by_job(fleet, scope(request_rate))["idle"] == 0
    assert "idle" not in by_job(fleet, scope(error_ratio))
    assert "idle" not in by_job(fleet, scope(per_token.mean))
    assert "idle" not in by_job(fleet, f"max by (job) ({scope(budget_left)})")
    assert "idle" in by_job(fleet, scope(kv_cache_usage))


def test_only_what_is_wrong_alerts(fleet: Replay) -> None:
    fired = {(firing.alert, firing.labels["job"]) for firing in firings(fleet)}
    # How well these pages' drafts were accepted is not the question here.
    about_drafts = {(alert, job) for alert, job in fired if alert.startswith(("SpecDecode", "VLLMSpeculation"))}
    assert fired - {(alert, job) for alert, job in about_drafts if job == "busy"} == {
        ("SpecDecodeMetricsMissing", "silent"),
        ("VLLMTargetDown", "gone"),
    }


@pytest.mark.parametrize("edition", ["", "-raw"])
def test_a_panel_that_is_empty_for_want_of_traffic_says_so_and_none_fails(edition: str, fleet: Replay) -> None:
    files = artifacts.render(fleet.settings)
    for path, dashboard in grafana.dashboards(files).items():
        if dashboard["uid"].endswith("-raw") is not bool(edition):
            continue
        for panel in grafana.panels(dashboard):
            for target_ in panel["targets"]:
                expr = grafana.substituted(target_["expr"], dashboard, "5m", {"job": "idle"})
                if not fleet.client.query(expr, fleet.end - 600):
                    assert panel["fieldConfig"]["defaults"]["noValue"], (path, panel["title"])
