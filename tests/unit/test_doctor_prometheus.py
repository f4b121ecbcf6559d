"""Scrapes and rules of a Prometheus, examined without one."""

import dataclasses
import json
from http.server import BaseHTTPRequestHandler

import pytest

from draftboard.catalogue import speculation
from draftboard.catalogue.dialects import DIALECTS, Dialect
from draftboard.doctor import examine_prometheus, loaded, prometheus
from draftboard.doctor.finding import Finding, Severity
from draftboard.doctor.prometheus import Stored
from draftboard.doctor.series import Server, all_readers, named
from draftboard.errors import DraftboardError
from draftboard.prometheus import Client, LoadedRule, Target
from draftboard.rules import RELEASES, RecordingRule, alerting_groups, recording_groups, records
from draftboard.settings import Settings
from support.command_line import run
from support.loopback import Answer, answering, page

SETTINGS = Settings()
STATE = "model:vllm_spec_decode_state:enum_rate5m"
SERVER = Server("a:8000 of job vllm", frozenset({speculation.DRAFTS.name}), method="eagle3")
STORED = Stored((SERVER,), {}, frozenset({STATE}))
TARGET = Target({"job": "vllm", "instance": "a:8000"}, "15s", "")


def every_rule(settings: Settings = SETTINGS) -> list[LoadedRule]:
    groups = (*recording_groups(settings), *alerting_groups(settings))
    return [
        LoadedRule(rule.record if isinstance(rule, RecordingRule) else rule.alert, group.name, "")
        for group in groups
        for rule in group.rules
    ]


def of_rules(rules: list[LoadedRule] | None, stored: Stored = STORED) -> list[Finding]:
    return list(prometheus.of_rules(rules, stored, SETTINGS, all_readers(SETTINGS)))


def of_scrapes(*targets: Target, stored: Stored = STORED) -> list[Finding]:
    return [f for f in prometheus.of_scrapes(targets, stored, SETTINGS) if f.severity is not Severity.NOTE]


def test_loaded_rules_that_record_have_no_finding() -> None:
    assert of_rules(every_rule()) == []


def test_a_rule_that_cannot_be_evaluated_is_a_problem_in_prometheus_words() -> None:
    first, *others = every_rule()
    (found,) = of_rules([dataclasses.replace(first, error="many-to-many matching not allowed"), *others])
    assert (found.severity, found.where) == (Severity.PROBLEM, first.name)
    assert "many-to-many matching" in found.what


def test_a_broken_rule_of_another_project_is_ignored() -> None:
    assert of_rules([*every_rule(), LoadedRule("other:rule", "other", "broken")]) == []


def test_rules_that_are_missing_are_counted_and_named() -> None:
    rules = [rule for rule in every_rule() if rule.name != "VLLMErrors"]
    (found,) = of_rules(rules)
    assert f"1 of {len({r.name for r in every_rule()} - {*RELEASES.values()})} are not loaded: VLLMErrors" in found.what
    assert found.empty.alerts == ("VLLMErrors",)


def test_rules_that_recorded_nothing_are_a_warning() -> None:
    (found,) = of_rules(every_rule(), dataclasses.replace(STORED, beside=frozenset()))
    assert found.severity is Severity.WARNING


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=lambda one: one.name)
@pytest.mark.parametrize("tier", ["alerts", "standard", "full"])
def test_every_tier_records_what_shows_that_its_rules_are_evaluated(tier: str, dialect: Dialect) -> None:
    settings = Settings.model_validate({"rules": {"tier": tier}}).speaking(dialect)
    stored = dataclasses.replace(STORED, beside=frozenset(records(settings)))
    assert list(prometheus.of_rules(every_rule(settings), stored, settings, all_readers(settings))) == []


def test_rules_of_a_larger_tier_are_of_no_other_window() -> None:
    settings = Settings.model_validate({"rules": {"tier": "alerts"}})
    found = list(prometheus.of_rules(every_rule(), STORED, settings, all_readers(settings)))
    assert len(found) == 1
    assert "loaded rules of Draftboard's groups are not in this build" in found[0].what


def test_rules_of_another_window_are_a_problem_with_both_names() -> None:
    other = STATE.replace("5m", "2m")
    loaded = [dataclasses.replace(rule, name=rule.name.replace("rate5m", "rate2m")) for rule in every_rule()]
    recorded = dataclasses.replace(STORED, beside=frozenset({other}))
    for found in (*of_rules(loaded), *of_rules([], recorded)):
        assert (found.severity, found.where) == (Severity.PROBLEM, "rules")
        assert found.what == f"built with another window: {other} exists, {STATE} does not"
        assert "--config" in found.fix
        assert STATE in found.empty.records


def test_records_that_another_server_evaluates_are_a_note() -> None:
    (found,) = of_rules(None)
    assert found.severity is Severity.NOTE
    assert "another server evaluates them" in found.what


@pytest.mark.parametrize("interval", ["500ms", "15s", "30s", "1m"])
def test_a_scrape_interval_that_the_windows_fit_has_no_finding(interval: str) -> None:
    assert of_scrapes(dataclasses.replace(TARGET, interval=interval)) == []


def test_a_scrape_interval_longer_than_the_windows_fit_is_a_warning() -> None:
    (found,) = of_scrapes(dataclasses.replace(TARGET, interval="1m15s"))
    assert found.severity is Severity.WARNING
    assert found.what.startswith("longer than 1m,")
    assert 'rules.scrape_interval = "1m15s"' in found.fix


def test_a_scrape_interval_too_long_for_the_window_is_a_problem() -> None:
    (found,) = of_scrapes(dataclasses.replace(TARGET, interval="1m16s"))
    assert found.severity is Severity.PROBLEM
    assert "the window of 5m, which must contain 4 scrapes" in found.what


def test_targets_of_other_jobs_are_ignored() -> None:
    assert of_scrapes(Target({"job": "node", "instance": "a:9100"}, "10m", "broken")) == []


def test_two_targets_with_the_same_labels_are_a_problem() -> None:
    (found,) = of_scrapes(TARGET, TARGET)
    assert "2 targets have the same labels" in found.what


def test_a_server_in_two_jobs_is_a_warning() -> None:
    twice = dataclasses.replace(STORED, jobs_by_instance={"a:8000": {"vllm", "gpu"}})
    (found,) = of_scrapes(TARGET, stored=twice)
    assert "scraped by 2 jobs: gpu, vllm" in found.what


def test_a_failed_scrape_is_a_problem_without_the_address_that_may_hold_a_password() -> None:
    error = 'Get "http://u:s3cr3t@a:8000/metrics": dial tcp: connection refused'
    (found,) = of_scrapes(dataclasses.replace(TARGET, error=error))
    assert found.what == "the last scrape failed: dial tcp: connection refused"
    assert "s3cr3t" not in repr(found)


def test_many_servers_are_counted_not_listed() -> None:
    servers = [Server(f"s{n}", frozenset()) for n in range(9)]
    assert named(servers, servers) == "all 9 servers"
    assert named(servers[:6], servers) == "s0, s1, s2, s3 and 2 more"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (page("<html>"), "not a Prometheus server"),
        (page("[]"), "not a Prometheus server"),
        (page('{"status": "success", "data": []}'), "not a Prometheus server"),
        (page('{"status": "success"}'), "not a Prometheus server"),
        (page("{}", 401), "--token-file"),
        (page("no such page", 404), "(HTTP 404 for /api/v1/query): give Prometheus' own address with its path prefix"),
        (page("<html>bad gateway</html>", 502), "no response (HTTP 502): see the log of the server"),
    ],
    ids=["a page", "a list", "a list of data", "no data", "a closed door", "another path", "a failing proxy"],
)
def test_a_server_that_is_not_a_prometheus_is_an_error(answer: Answer, words: str) -> None:
    with (
        answering(answer) as place,
        Client(f"http://u:s3cr3t@{place}") as client,
        pytest.raises(DraftboardError) as error,
    ):
        examine_prometheus(client, SETTINGS, 0.0)
    assert words in str(error.value)
    assert "s3cr3t" not in str(error.value)


def _ruler(loaded: list[LoadedRule]) -> Answer:
    """A ruler's API, as Mimir, Thanos and vmalert have it: rules, and nothing else."""
    rules = [{"name": rule.name, "query": rule.query, "type": "recording", "health": "ok"} for rule in loaded]
    content = json.dumps({"status": "success", "data": {"groups": [{"name": "draftboard", "rules": rules}]}})
    asked = page(content), page("not found", 404)
    return lambda request: asked[not request.path.endswith("/api/v1/rules")](request)


def test_the_rules_of_another_server_are_compared_with_the_build() -> None:
    store = page(json.dumps({"status": "success", "data": {"resultType": "vector", "result": []}}))
    few = [rule for rule in every_rule() if rule.name != "VLLMErrors"]
    with answering(store) as stores, answering(_ruler(few)) as rules, Client(stores) as client, Client(rules) as ruler:
        examination = examine_prometheus(client, SETTINGS, 0.0, ruler=ruler)
    (found,) = [one for one in examination.findings if one.where == "rules"]
    assert "are not loaded: VLLMErrors" in found.what


def test_rules_are_read_once_for_all_that_is_examined(capsys: pytest.CaptureFixture[str]) -> None:
    store = page(json.dumps({"status": "success", "data": {"resultType": "vector", "result": []}}))
    paths, rules = list[str](), _ruler([*every_rule()])

    def counting(request: BaseHTTPRequestHandler) -> None:
        paths.append(request.path)
        rules(request)

    with answering(store) as stores, answering(counting) as ruler:
        run("doctor", "--prometheus", stores, "--ruler", ruler, "--cost", capsys=capsys)
    assert paths == ["/api/v1/rules"]


def test_a_ruler_that_does_not_answer_is_an_error() -> None:
    store = page(json.dumps({"status": "success", "data": {"resultType": "vector", "result": []}}))
    with (
        answering(store) as stores,
        answering(page("no", 503)) as rules,
        Client(stores) as client,
        Client(rules) as ruler,
        pytest.raises(DraftboardError, match="503"),
    ):
        examine_prometheus(client, SETTINGS, 0.0, ruler=ruler)


@pytest.mark.parametrize(
    ("kept", "rule", "says"),
    [
        (["1296000"], "r[30d]", "samples of 15 days, and rules look back 30d"),
        (["1296000"], "r[4w2d:5m]", "samples of 15 days, and rules look back 30d"),
        (["2592000"], "r[30d]", ""),
        ([], "r[30d]", ""),
        (["1296000", "1296000"], "r[30d]", ""),
        (["1296000"], "r[5m]", ""),
    ],
)
def test_retention_that_is_shorter_than_rules_look_back_is_found(kept: list[str], rule: str, says: str) -> None:
    rows = [{"metric": {"instance": str(number)}, "value": [0, one]} for number, one in enumerate(kept)]
    answer = page(json.dumps({"status": "success", "data": {"resultType": "vector", "result": rows}}))
    rules = [LoadedRule("r", "draftboard-x", "", query=rule), LoadedRule("own", "own", "", query="r[1y]")]
    with answering(answer) as place, Client(place) as client:
        found = list(loaded.of_short_retention(rules, client, 0))
    assert [one.where for one in found] == (["retention by time", "retention by size"] if says else [])
    assert all(says in one.what for one in found)
