"""A real Prometheus finds simulated servers, scrapes them, and holds what pages of vLLM would have given it."""

from pathlib import Path

import pytest
import yaml

from conftest import program
from draftboard.durations import Duration
from draftboard.lab.simulator import find
from draftboard.lab.simulator.books import PAGE
from draftboard.lab.simulator.fleet import targets
from draftboard.lab.simulator.serve import serving
from draftboard.prometheus import Client, Server
from support.waiting import sampled

pytestmark = pytest.mark.prometheus


def configuration(listed: str) -> str:
    discovered = [{"url": f"http://{listed}/targets", "refresh_interval": "1s"}]
    job = {"job_name": "vllm", "scrape_interval": "2s", "http_sd_configs": discovered}
    return yaml.safe_dump({"scrape_configs": [job]})


def test_prometheus_scrapes_a_fleet_that_it_discovers(tmp_path: Path) -> None:
    fleet = targets(find("baseline-vs-spec"), seed=1)
    with serving(fleet, "127.0.0.1", 0, speed=20) as places:
        server = Server(program("prometheus"), tmp_path, Duration(60), configuration(places[0]))
        with server.running() as url, Client(url) as client:
            served = "count(up == 1 and on (instance) (sum by (instance) (vllm:request_success_total) > 0)) == 2"
            now = sampled(client, served)
            up = client.query("up", now)
            stored = {series.labels["__name__"] for series in client.query('{job="vllm"}', now)}
            bounds = client.query('vllm:inter_token_latency_seconds_bucket{le="1.0", spec_method="eagle3"}', now)
    assert {(series.labels["spec_method"], series.labels["variant"], series.samples[0][1]) for series in up} == {
        ("eagle3", "speculative", 1.0),
        ("none", "plain", 1.0),
    }
    assert {part.name for metric in PAGE for part in metric.parts} <= stored
    assert len(bounds) == 1
