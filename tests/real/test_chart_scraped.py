"""A real Prometheus scrapes a pod as the Helm chart's PodMonitor says: the chart's rules find it by their labels."""

import re
from pathlib import Path

import pytest
import yaml

from conftest import ROOT, program
from draftboard.catalogue import serving
from draftboard.durations import Duration
from draftboard.prometheus import Client, Server
from draftboard.settings import load
from support import charts
from support.loopback import answering, page
from support.waiting import sampled

pytestmark = pytest.mark.prometheus

PAGE = ROOT / "tests/data/v0.32.0-ngram-load.prom"
RENAMED = """
selector = 'stage="blue"'
labels = { scope = ["namespace"], job = "service", instance = "address", model_name = "llm", engine = "rank", \
spec_method = "drafter", variant = "arm", host = "machine" }
"""
RECORD = "engine:vllm_num_requests_running:sum"


def configured(steps: list[charts.Object]) -> list[charts.Object]:
    """The operator's relabelling as Prometheus spells it."""
    return [{re.sub(r"[A-Z]", lambda m: f"_{m[0].lower()}", key): of for key, of in one.items()} for one in steps]


def scrape(name: str, objects: list[charts.Object], place: str, **of_pod: str) -> charts.Object:
    """The job that the operator makes of the PodMonitor, for one pod with these labels."""
    (monitor,) = (one for one in objects if one["kind"] == "PodMonitor")
    (endpoint,) = monitor["spec"]["podMetricsEndpoints"]
    labels = {f"__meta_kubernetes_pod_label_{label}": text for label, text in of_pod.items()}
    found = {**labels, "__meta_kubernetes_pod_node_name": "gpu-1", "namespace": "llm"}
    return {
        "job_name": f"podMonitor/llm/{name}/0",
        "scrape_interval": "1s",
        "static_configs": [{"targets": [place], "labels": found}],
        "relabel_configs": configured(endpoint["relabelings"]),
        "metric_relabel_configs": configured(endpoint["metricRelabelings"]),
    }


def expression(objects: list[charts.Object], record: str) -> str:
    """Of a record, in the chart's rules."""
    groups = [group for one in objects if one["kind"] == "PrometheusRule" for group in one["spec"]["groups"]]
    (found,) = (rule["expr"] for group in groups for rule in group["rules"] if rule.get("record") == record)
    return str(found)


def test_the_rules_find_what_the_monitor_scrapes_under_default_and_other_labels(tmp_path: Path) -> None:
    (tmp_path / "draftboard.toml").write_text(RENAMED)
    renamed = charts.built(load(tmp_path / "draftboard.toml"), tmp_path)
    values = {"dashboards": {"kind": "none"}, "rules": {"alerting": False}}
    default, other = (charts.rendered(values, folder=folder) for folder in (charts.FOLDER, renamed))
    with answering(page(PAGE.read_text(), Content_Type="text/plain; version=0.0.4")) as place:
        jobs = [
            scrape("default", default, place, spec_method="ngram"),
            scrape("other", other, place, drafter="ngram", arm="b"),
        ]
        settings = yaml.safe_dump({"scrape_configs": jobs})
        with Server(program("prometheus"), tmp_path, Duration(60), settings).running() as url, Client(url) as client:
            now = sampled(client, f"count(up == 1) == {len(jobs)}")
            every = client.query(expression(default, RECORD), now)
            (second,) = client.query(expression(other, RECORD), now)
            configuration = client.query(serving.CACHE_CONFIG.name, now)
    (first,) = (one for one in every if one.labels["job"] == "vllm")
    model = first.labels["model_name"]
    where = {"namespace": "llm", "job": "vllm", "instance": place}
    assert first.labels == {**where, "model_name": model, "engine": "0", "spec_method": "ngram"}
    where = {"namespace": "llm", "service": "vllm", "address": place}
    assert second.labels == {**where, "llm": model, "rank": "0", "drafter": "ngram", "arm": "b"}
    assert [one.labels.keys() & {"host", "machine"} for one in configuration].count({"host"}) == 1
    for one in configuration:
        assert "gpu-1" in (one.labels.get("host"), one.labels.get("machine"))
        assert {*serving.CACHE_CONFIG.own_labels} <= one.labels.keys()
        assert not {*serving.CACHE_CONFIG_UNREAD} & one.labels.keys()
