"""What a real Prometheus and a real Alertmanager say of themselves, against what is read of them."""

import json
import re
import shutil
from collections.abc import Iterator

import httpx
import promql_parser
import pytest
from prometheus_client.parser import text_string_to_metric_families

from conftest import ROOT, program
from draftboard.catalogue import CATALOGUE, Metric, Presence
from draftboard.catalogue.around import RULES_MISSED
from draftboard.durations import Duration
from draftboard.prometheus import Server, start_alertmanager, stop
from support.loopback import free_port
from support.rulefiles import groups, nodes, rule_of
from support.waiting import until

pytestmark = pytest.mark.prometheus
READ = [metric for metric in CATALOGUE if metric.presence in {Presence.OF_PROMETHEUS, Presence.OF_ALERTMANAGER}]
ROUTES = {"route": {"receiver": "none"}, "receivers": [{"name": "none"}]}


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[Presence, str]]:
    """The pages of both, once Prometheus has loaded the rules and found the Alertmanager."""
    folder, port = tmp_path_factory.mktemp("monitoring"), free_port()
    (folder / "alertmanager.yml").write_text(json.dumps(ROUTES))
    for rules in (ROOT / "alerts").glob("*.rules.yaml"):
        shutil.copy(rules, folder)
    targets = [{"static_configs": [{"targets": [f"127.0.0.1:{port}"]}]}]
    wiring = {
        "rule_files": ["*.rules.yaml"],
        "alerting": {"alertmanagers": targets},
        "remote_write": [{"url": "http://127.0.0.1:1/"}],
    }
    server = Server(program("prometheus"), folder, Duration(300), json.dumps(wiring))
    alertmanager = start_alertmanager(program("alertmanager"), folder, port)
    try:
        with server.running() as url:
            found = until_it_says(f"{url}/metrics", "prometheus_notifications_errors_total{")
            yield {
                Presence.OF_PROMETHEUS: found,
                Presence.OF_ALERTMANAGER: httpx.get(f"http://127.0.0.1:{port}/metrics").text,
            }
    finally:
        stop(alertmanager)


def until_it_says(url: str, text: str) -> str:
    pages: list[str] = []

    def says() -> bool:
        pages.append(httpx.get(url).text)
        return text in pages[-1]

    until(says, f"{url} says {text}")
    return pages[-1]


@pytest.mark.parametrize("metric", READ, ids=lambda metric: metric.name)
def test_each_series_is_exposed_with_its_kind_and_labels_before_anything_fails(
    metric: Metric, pages: dict[Presence, str]
) -> None:
    found = [
        (family.type, sample.labels)
        for family in text_string_to_metric_families(pages[metric.presence])
        for sample in family.samples
        if sample.name == metric.name
    ]
    assert {kind for kind, _ in found} == {metric.kind.value}
    assert all(labels.keys() >= set(metric.own_labels) for _, labels in found)


def test_the_rule_groups_that_are_watched_are_all_ours(pages: dict[Presence, str], committed: dict[str, str]) -> None:
    watched = nodes(rule_of(committed, "DraftboardRulesFail")["expr"], promql_parser.VectorSelector)
    patterns = {matcher.value for selector in watched for matcher in selector.matchers.matchers}
    told = {
        sample.labels["rule_group"]
        for family in text_string_to_metric_families(pages[Presence.OF_PROMETHEUS])
        for sample in family.samples
        if sample.name == RULES_MISSED.name
    }
    assert {name.partition(";")[2] for name in told} == {group["name"] for group in groups(committed)}
    for pattern in patterns:
        assert all(re.fullmatch(pattern, name) for name in told)
        assert not re.fullmatch(pattern, "/etc/prometheus/rules/node.yaml;node-exporter")
