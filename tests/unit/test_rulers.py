"""Rule files for each ruler: the same rules, within what it takes."""

import json
import re
from collections.abc import Mapping
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import pytest

from conftest import OBJECTIVES, ROOT
from draftboard.build import render
from draftboard.build.files import ALERTING, RECORDING
from draftboard.build.scraping import relabelings
from draftboard.catalogue import around, serving
from draftboard.rulers import IN_ORDER, RULERS, Ruler
from draftboard.rules import LINKS, LONGEST_QUERY, ROOM, AlertingRule, RecordingRule, alerting_groups, recording_groups
from draftboard.settings import Settings, load
from support.command_line import run
from support.moments import mixed
from support.rulefiles import loaded, present_in, records_in

PATHS = (RECORDING, ALERTING)
GROUP = {"name", "interval", "rules"}
RULE = {"record", "expr", "alert", "for", "labels", "annotations"}
OF_GROUPS: dict[Ruler, set[str]] = {
    "prometheus": {*GROUP, "query_offset"},
    "mimir": {*GROUP, "query_offset"},
    "thanos": {*GROUP, "query_offset", "partial_response_strategy"},
    "vmalert": {*GROUP, "eval_delay", "params"},
    "gmp": GROUP,
}
"""Keys of a group, where the settings ask for an offset."""
LONGEST_GROUP, MOST_GROUPS = 20, 70
"""Defaults of Mimir for a tenant: -ruler.max-rules-per-rule-group, -ruler.max-rule-groups-per-tenant."""
ADDED = 2
"""Rules that a team may add to a group."""
MOST_LABELS = 30
"""Default of Mimir for a series, its name included: -validation.max-label-names-per-series."""
LARGEST_RESOURCE = 262_144
"""Bytes that `kubectl apply` may keep of a resource, in its annotation."""


@pytest.fixture(scope="module")
def built() -> dict[Ruler, dict[str, str]]:
    """The rule files of each ruler, with an offset."""

    def files(ruler: Ruler) -> dict[str, str]:
        made = render(Settings.model_validate({"rules": {"ruler": ruler, "query_offset": "90s"}}))
        return {path: made[path] for path in PATHS}

    return {ruler: files(ruler) for ruler in RULERS}


def test_what_the_stack_stores_of_vllms_longest_series_has_as_few_labels_as_mimir_takes() -> None:
    settings = Settings()
    lines = (ROOT / "tests/data/v0.32.0-ngram-load.prom").read_text().splitlines()
    (line,) = (line for line in lines if line.startswith(serving.CACHE_CONFIG.name + "{"))
    exposed = set(re.findall(r'(\w+)="', line))
    (kept,) = (step["regex"].split("|") for step in relabelings(settings) if step["action"] == "labelkeep")
    of_targets = {*kept} & {"__name__", "instance", "job", *settings.labels.scope, *settings.stack.scrape.labels}
    assert len(exposed) > MOST_LABELS > len((exposed & {*kept}) | of_targets | {*settings.stack.external_labels})


def groups(files: dict[str, str]) -> list[dict[str, Any]]:
    documents = [loaded(files[path]) for path in PATHS]
    return [group for document in documents for group in document.get("spec", document)["groups"]]


def rules(files: dict[str, str]) -> list[dict[str, Any]]:
    return [rule for group in groups(files) for rule in group["rules"]]


@pytest.mark.parametrize("ruler", RULERS)
def test_every_ruler_gets_the_same_rules_in_groups_that_it_takes(
    ruler: Ruler, built: dict[Ruler, dict[str, str]]
) -> None:
    found = groups(built[ruler])
    assert len(found) == len({group["name"] for group in found}) <= MOST_GROUPS
    assert max(len(group["rules"]) for group in found) <= LONGEST_GROUP - ADDED
    assert {key for group in found for key in group} == OF_GROUPS[ruler]
    compared = RULE - {"for"} if ruler == "gmp" else {*RULE, "keep_firing_for"}

    def parts(rule: dict[str, Any]) -> dict[str, Any]:
        in_place = ruler not in IN_ORDER and "record" in rule
        return {key: rule[key] for key in compared & rule.keys() if key != "expr" or not in_place}

    assert [parts(rule) for rule in rules(built[ruler])] == [parts(rule) for rule in rules(built["prometheus"])]


GOING_ON = {"target:vllm_known:bool", "service:vllm_gone:bool", "service:vllm_silent:bool"}
"""They go on from their own past: what is new is known, gone or silent one evaluation later."""

BESIDE_HEALTH = {
    "model:vllm_health:next_step": 2,
    "model:vllm_health:cause": 1,
    "model:vllm_spec_decode_next_gain:ratio_rate5m": 1,
    "model:vllm_health:rank": 2,
}
"""What dashboards show beside the health and the advice, too long without their records: records beyond the third."""


def read_by_vmalert(settings: Settings) -> dict[str, frozenset[str]]:
    """Series and records whose present each record reads."""
    rules = [rule for group in recording_groups(settings, "vmalert") for rule in group.rules]
    return {rule.record: present_in(rule.expr) - GOING_ON for rule in rules if isinstance(rule, RecordingRule)}


def evaluations_late(read: Mapping[str, frozenset[str]]) -> dict[str, int]:
    """How many evaluations after the series that a record is of vmalert writes it."""
    row: dict[str, int] = {}
    for record in TopologicalSorter(read).static_order():
        row[record] = max((row[below] for below in read.get(record, ())), default=-1) + 1
    return row


@pytest.mark.parametrize("scope", [["cluster", "namespace"], ["region", "cluster", "namespace", "team"]])
def test_vmalert_reads_no_more_than_three_records_in_a_row(scope: list[str]) -> None:
    """It sees each one evaluation late (docs/operate/existing.md)."""
    labels = Settings.model_validate({"labels": {"scope": scope}}).labels
    read = read_by_vmalert(load(OBJECTIVES).model_copy(update={"labels": labels}))
    row = evaluations_late(read)
    assert max(row[record] for record in read.keys() - BESIDE_HEALTH.keys()) == LINKS
    assert {record: row[record] - LINKS for record in BESIDE_HEALTH} == BESIDE_HEALTH


def test_no_alert_reads_what_vmalert_records_beside_health() -> None:
    settings = load(OBJECTIVES)
    alerts = [rule for group in alerting_groups(settings) for rule in group.rules if isinstance(rule, AlertingRule)]
    assert alerts
    assert [rule.alert for rule in alerts if BESIDE_HEALTH.keys() & records_in(rule.expr)] == []


def test_what_reads_raw_series_in_vmalert_reads_all_of_one_moment() -> None:
    read = read_by_vmalert(load(OBJECTIVES))
    assert [
        record for record, names in read.items() if names & read.keys() and names - read.keys() - {around.ALERTS.name}
    ] == []


def test_requests_of_a_service_that_vmalert_subtracts_or_divides_are_of_one_evaluation() -> None:
    """Of all requests an evaluation ago and those in time now, a rise of traffic would make negative bad ones."""
    settings = load(OBJECTIVES)
    late = evaluations_late(read_by_vmalert(settings))
    by_delay: dict[int, list[dict[str, str]]] = {}
    for rule in (rule for group in recording_groups(settings, "vmalert") for rule in group.rules):
        if isinstance(rule, RecordingRule):
            by_delay.setdefault(late[rule.record], []).append({"record": rule.record, "expr": rule.expr})
    as_late = [{"name": f"{delay}", "rules": by_delay[delay]} for delay in sorted(by_delay)]
    found = mixed({"late.rules.yaml": json.dumps({"groups": as_late})})
    # Ratios of models and engines, such as costs, change slowly: one of an evaluation ago serves.
    assert {rule for rule in found if rule.startswith("service:")} == set()
    assert found


@pytest.mark.parametrize("ruler", RULERS)
def test_rules_leave_room_for_longer_labels_below_the_longest_query(
    ruler: Ruler, built: dict[Ruler, dict[str, str]]
) -> None:
    assert max(len(rule["expr"]) for rule in rules(built[ruler])) < ROOM * LONGEST_QUERY


def test_thanos_and_vmalert_take_a_partial_answer_for_an_error(built: dict[Ruler, dict[str, str]]) -> None:
    assert all(group["partial_response_strategy"] == "abort" for group in groups(built["thanos"]))
    assert all(group["params"] == {"deny_partial_response": ["1"]} for group in groups(built["vmalert"]))
    assert {group["eval_delay"] for group in groups(built["vmalert"])} == {"1m30s"}


def test_managed_prometheus_gets_resources_with_durations_of_go_and_no_key_that_it_lacks(
    built: dict[Ruler, dict[str, str]],
) -> None:
    resources = {path: loaded(text) for path, text in built["gmp"].items()}
    assert {one["metadata"]["name"] for one in resources.values()} == {"draftboard-recording", "draftboard-alerting"}
    assert {(one["apiVersion"], one["kind"]) for one in resources.values()} == {
        ("monitoring.googleapis.com/v1", "ClusterRules")
    }
    assert max(len(text.encode()) for text in built["gmp"].values()) < LARGEST_RESOURCE
    assert {key for rule in rules(built["gmp"]) for key in rule} == RULE
    durations = [rule["for"] for rule in rules(built["gmp"]) if "for" in rule]
    durations += [group["interval"] for group in groups(built["gmp"])]
    assert all(re.fullmatch(r"[1-9]\d*s", duration) for duration in durations)


def test_the_command_builds_for_a_ruler_and_checks_what_it_built(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    thanos = ("--ruler", "thanos", "--out", tmp_path)
    assert run("build", *thanos, capsys=capsys)[0] == 0
    assert "partial_response_strategy" in (tmp_path / ALERTING).read_text()
    assert run("check", *thanos, capsys=capsys)[0] == 0
    code, _, error = run("build", "--ruler", "cortex", capsys=capsys)
    assert (code, "'cortex' is not one of" in error) == (2, True)


def test_the_stack_loads_no_rules_that_its_prometheus_cannot_read() -> None:
    path = "deploy/prometheus/prometheus.yml"
    read = {ruler: render(Settings.model_validate({"rules": {"ruler": ruler}}))[path] for ruler in RULERS}
    assert [ruler for ruler, text in read.items() if "rule_files" in loaded(text)] == ["prometheus"]
