"""Objects for a cluster whose user has no Helm: they are those of the chart, in a shell's reach."""

import json
import subprocess
from typing import Any

import pytest
import yaml

from conftest import ROOT
from support.charts import PRESETS, preset, rendered

SCRIPT = ROOT / "deploy/kubernetes/without-helm.sh"
RELEASE = "kube-prometheus-stack"


@pytest.fixture(scope="module")
def printed() -> list[dict[str, Any]]:
    done = subprocess.run(["sh", SCRIPT, RELEASE], capture_output=True, text=True, check=True, cwd="/")
    return list(yaml.safe_load_all(done.stdout))


@pytest.fixture(scope="module")
def chart() -> list[dict[str, Any]]:
    (path,) = (path for path in PRESETS if path.stem == RELEASE)
    return [dict(each) for each in rendered(preset(path))]


def of_kind(objects: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [each for each in objects if each["kind"] == kind]


def test_the_rules_are_those_of_the_chart(printed: list[dict[str, Any]], chart: list[dict[str, Any]]) -> None:
    own, of_chart = (
        {one["metadata"]["name"]: one["spec"] for one in of_kind(all_, "PrometheusRule")} for all_ in (printed, chart)
    )
    assert own == of_chart
    assert {one["metadata"]["labels"]["release"] for one in of_kind(printed, "PrometheusRule")} == {RELEASE}


def test_pods_are_scraped_as_by_the_chart_with_the_samples_that_are_read(
    printed: list[dict[str, Any]], chart: list[dict[str, Any]]
) -> None:
    (own,), (of_chart,) = (of_kind(all_, "PodMonitor") for all_ in (printed, chart))
    assert own["spec"]["selector"] == of_chart["spec"]["selector"]
    (endpoint,), (theirs,) = (one["spec"]["podMetricsEndpoints"] for one in (own, of_chart))
    assert {key: endpoint[key] for key in endpoint if not key.lower().endswith("relabelings")}.items() <= theirs.items()
    kept, kept_by_chart = (set(one["metricRelabelings"].pop()["regex"].split("|")) for one in (endpoint, theirs))
    assert kept == kept_by_chart
    assert endpoint["metricRelabelings"] == theirs["metricRelabelings"]

    def order(rules: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return sorted(rules, key=lambda rule: str(rule["targetLabel"]))

    assert order(endpoint["relabelings"]) == order(theirs["relabelings"])


def test_dashboards_are_the_built_ones_in_objects_that_kubectl_can_apply(printed: list[dict[str, Any]]) -> None:
    maps = of_kind(printed, "ConfigMap")
    names = {path.name for path in (ROOT / "dashboards").glob("*.json")}
    assert {name for one in maps for name in one["data"]} == names
    for one in maps:
        assert one["metadata"]["labels"]["grafana_dashboard"] == "1"
        ((name, text),) = one["data"].items()
        assert json.loads(text) == json.loads((ROOT / "dashboards" / name).read_text())
        assert len(json.dumps(one)) < 1_000_000


def test_without_the_label_it_says_what_to_give() -> None:
    done = subprocess.run(["sh", SCRIPT], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "give the label release that your Prometheus selects objects by" in done.stderr
    assert done.stdout == ""
