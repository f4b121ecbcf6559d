"""The stack's configuration as text: what follows from the settings, and what is refused."""

import re
from dataclasses import replace
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from conftest import OBJECTIVES
from draftboard.alerts import ALERTS, SAMPLES_STOPPED, SUBJECTS
from draftboard.build import stack
from draftboard.build.stack import inhibitions
from draftboard.catalogue.known import known_series
from draftboard.errors import DraftboardError
from draftboard.settings import SEVERITIES, Settings, load
from support.rulefiles import loaded

ALL_CHANNELS = {
    "notify": {
        "critical": ["webhook", "slack", "email", "pagerduty"],
        "warning": ["slack"],
        "info": ["webhook"],
        "heartbeat": True,
    },
    "slack": {"channel": "#llm-alerts"},
    "email": {"to": "a@example.com", "sender": "b@example.com", "smarthost": "mx.example.com:587", "username": "draft"},
}
DATASOURCES = "deploy/grafana/provisioning/datasources/draftboard.yaml"
MIMIR = {"url": "https://mimir.example.com/api/v1/push"}
RULER = {**MIMIR, "rules_there": True, "query_url": "https://mimir.example.com/prometheus"}
READ = '{ url = "https://m/push", query_url = "https://m/q" }'
THERE = '{ url = "https://m/push", rules_there = true, query_url = "https://m/q" }'


def settings_with(**tables: Any) -> Settings:
    return Settings.model_validate({"stack": tables})


def rendered(settings: Settings, path: str) -> Any:
    return loaded(stack.text(path, settings, "made by a test"))


def test_no_channel_is_used_until_one_is_named() -> None:
    receivers = rendered(Settings(), stack.ALERTMANAGER)["receivers"]
    assert receivers == [{"name": name} for name in ("critical", "warning", "info", "none", "heartbeat")]


def test_every_secret_is_read_from_a_file() -> None:
    told = rendered(settings_with(**ALL_CHANNELS), stack.ALERTMANAGER)
    secrets = {
        text
        for receiver in told["receivers"]
        for kind, configs in receiver.items()
        if kind != "name"
        for config in configs
        for key, text in config.items()
        if key.endswith("_file")
    } | {told["global"]["smtp_auth_password_file"]}
    assert secrets == {
        f"/run/secrets/{name}"
        for name in (
            "alert_webhook_url",
            "slack_webhook_url",
            "smtp_password",
            "pagerduty_routing_key",
            "heartbeat_url",
        )
    }


def test_a_named_channel_sends_its_resolution_too_and_the_heartbeat_never_does() -> None:
    for receiver in rendered(settings_with(**ALL_CHANNELS), stack.ALERTMANAGER)["receivers"]:
        for kind, configs in receiver.items():
            if kind != "name":
                assert [config["send_resolved"] for config in configs] == [receiver["name"] != "heartbeat"]


def test_email_without_an_address_is_refused() -> None:
    with pytest.raises(ValidationError, match=r"notify by email needs \[stack.email\]"):
        settings_with(notify={"warning": ["email"]})


def test_rules_of_a_remote_ruler_are_not_evaluated_here_too() -> None:
    told = rendered(settings_with(remote_write=[{**RULER, "token": True}]), stack.PROMETHEUS)
    assert "rule_files" not in told
    assert "alerting" not in told
    assert told["remote_write"] == [{**MIMIR, "authorization": {"credentials_file": "/run/secrets/remote_write_token"}}]


def test_rules_stay_here_where_samples_are_only_copied() -> None:
    told = rendered(settings_with(remote_write=[MIMIR]), stack.PROMETHEUS)
    assert told["rule_files"] == ["../rules/*.rules.yaml"]
    assert told["remote_write"] == [MIMIR]


def datasource(*remotes: dict[str, Any]) -> Any:
    """The data source of the dashboards."""
    sources = rendered(settings_with(remote_write=remotes), DATASOURCES)["datasources"]
    (source,) = (source for source in sources if source["uid"] == "draftboard-prometheus")
    return source


def test_grafana_reads_a_remote_store_that_can_be_asked_and_the_rules_stay_here() -> None:
    long_term = {"url": "http://victoria-metrics:8428/api/v1/write", "query_url": "http://victoria-metrics:8428"}
    assert datasource(MIMIR, long_term)["url"] == "http://victoria-metrics:8428"
    assert "rule_files" in rendered(settings_with(remote_write=[long_term]), stack.PROMETHEUS)


def test_grafana_reads_the_records_where_the_rules_are_evaluated() -> None:
    assert datasource()["url"] == "http://prometheus:9090"
    assert datasource(MIMIR)["url"] == "http://prometheus:9090"
    assert datasource(MIMIR, RULER)["url"] == "https://mimir.example.com/prometheus"


def test_grafana_sends_the_token_of_the_ruler_and_no_other() -> None:
    source = datasource({**RULER, "token": True})
    assert source["jsonData"]["httpHeaderName1"] == "Authorization"
    assert source["secureJsonData"] == {"httpHeaderValue1": "Bearer $__file{/run/secrets/remote_write_token}"}
    assert "secureJsonData" not in datasource({**MIMIR, "token": True}, RULER)


def test_a_tenant_is_named_in_writes_and_in_what_grafana_asks() -> None:
    ruler = {**RULER, "tenant": "team-a"}
    (remote,) = rendered(settings_with(remote_write=[ruler]), stack.PROMETHEUS)["remote_write"]
    assert remote["headers"] == {"X-Scope-OrgID": "team-a"}
    source = datasource(ruler)
    assert source["jsonData"]["httpHeaderName2"] == "X-Scope-OrgID"
    assert source["secureJsonData"] == {"httpHeaderValue2": "team-a"}
    both = datasource({**ruler, "token": True})["secureJsonData"]
    assert both == {"httpHeaderValue1": "Bearer $__file{/run/secrets/remote_write_token}", "httpHeaderValue2": "team-a"}


def test_the_label_of_a_replica_for_mimir_s_ha_tracker_is_an_external_label() -> None:
    told = rendered(settings_with(external_labels={"cluster": "prod", "__replica__": "a"}), stack.PROMETHEUS)
    assert told["global"]["external_labels"] == {"cluster": "prod", "__replica__": "a"}


def test_scrapes_have_the_interval_that_the_rules_expect() -> None:
    told = rendered(Settings.model_validate({"rules": {"scrape_interval": "30s"}}), stack.PROMETHEUS)
    assert told["global"]["scrape_interval"] == "30s"
    assert told["global"]["evaluation_interval"] == "1m"


def test_every_limit_of_a_scrape_is_set() -> None:
    told = rendered(Settings(), stack.PROMETHEUS)["global"]
    limits = {key: value for key, value in told.items() if key.endswith("_limit")}
    assert limits.keys() == {
        "sample_limit",
        "label_limit",
        "label_name_length_limit",
        "label_value_length_limit",
        "body_size_limit",
        "target_limit",
    }
    assert all(limits.values())


def test_a_page_of_ten_engines_is_within_the_limits() -> None:
    limits, lines = Settings().stack.limits, (Path(__file__).parents[1] / "data/v0.32.0-ngram-dp2.prom").read_text()
    engines, known = 10 / 2, re.compile("|".join(known_series(Settings().dialect)))
    samples = [line for line in lines.splitlines() if known.fullmatch(re.split(r"[ {]", line, maxsplit=1)[0])]
    assert len(samples) * engines < limits.samples
    assert max(line.count("=") for line in samples) * 2 < limits.labels
    assert len(lines) * engines < limits.megabytes * 1_000_000


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ('alertmanager = "alertmanager"', "must be an address such as alertmanager:9093"),
        ('secrets = "secrets"', "must be an absolute path"),
        ('external_labels = { "le-x" = "1" }', "must be a label name"),
        ('external_labels = { __name__ = "a" }', "must be a label name"),
        ('remote_write = [{ url = "https://m/push", tenant = "a b" }]', "may use only letters"),
        ('external_labels = { region = "a\\"b" }', "may use only letters"),
        ('notify = { critical = ["sms"] }', "stack.notify.critical.0"),
        ("limits = { samples = 1 }", "stack.limits.samples = 1 is not allowed"),
        ('slack = { channel = "#a\\n- b" }', "may use only letters"),
        ('email = { to = "a", sender = "b@c", smarthost = "d:25" }', "must be a mail address"),
        ('remote_write = [{ url = "file:///etc/passwd" }]', "must be an http"),
        ('remote_write = [{ url = "https://m/push", rules_there = true }]', "rules_there needs query_url"),
        (f"remote_write = [{READ}, {READ}]", "Grafana reads one system"),
        (f"remote_write = [{THERE}, {THERE}]", "every alert would come twice"),
    ],
)
def test_a_mistake_is_one_line_that_names_key_and_remedy(tmp_path: Path, table: str, says: str) -> None:
    file = tmp_path / "draftboard.toml"
    file.write_text(f"[stack]\n{table}\n")
    with pytest.raises(DraftboardError) as caught:
        load(file)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def pairs(settings: Settings) -> set[tuple[str, str]]:
    """Each alert that silences another, with that other."""
    return {(one.cause, name) for one in inhibitions(settings) for name in one.explained}


WITHOUT_SAMPLES = {(SAMPLES_STOPPED, alert.name) for alert in ALERTS if alert not in SUBJECTS["monitoring"]}
DESIGNED = {(cause, alert.name) for alert in ALERTS for cause in alert.inhibited_by} | WITHOUT_SAMPLES


def test_no_cause_by_design_is_less_severe_than_what_it_silences() -> None:
    severity = {alert.name: SEVERITIES.index(alert.severity) for alert in ALERTS}
    assert [pair for pair in DESIGNED if severity[pair[0]] < severity[pair[1]]] == []


def test_without_samples_alerts_on_servers_are_silenced_in_the_cluster_that_stopped_alone() -> None:
    (stopped,) = (one for one in inhibitions(Settings()) if one.cause == SAMPLES_STOPPED)
    assert stopped.equal == ("cluster",)
    assert not any(name.startswith("Draftboard") for name in stopped.explained)


def test_an_alert_is_silenced_by_what_explains_it_and_by_nothing_else() -> None:
    assert pairs(load(OBJECTIVES)) == DESIGNED
    rules = rendered(Settings(), stack.ALERTMANAGER)["inhibit_rules"]
    assert len(rules) == len(list(inhibitions(Settings())))
    for rule, one in zip(rules, inhibitions(Settings()), strict=True):
        assert rule["source_matchers"] == [f'alertname="{one.cause}"']
        assert rule["target_matchers"] == [f'alertname=~"{"|".join(one.explained)}"']


def test_only_labels_that_both_alerts_carry_are_compared() -> None:
    """To Alertmanager two absent labels are equal, and an absent one never equals a present one."""
    by_name = {alert.name: alert for alert in ALERTS}
    settings = Settings()
    for alert in ALERTS:
        for cause in map(by_name.__getitem__, alert.inhibited_by):
            one, other = (set(each.level.labels(settings)) for each in (alert, cause))
            assert one <= other or other <= one, f"{cause.name} would silence {alert.name} of other servers too"


def test_no_alert_is_part_of_a_circle_that_silences_itself() -> None:
    """Alertmanager lets an alert silence others while it is silenced itself: a circle would be told by nobody."""
    TopologicalSorter({alert.name: alert.inhibited_by for alert in ALERTS}).prepare()


@settings(deadline=None)
@given(st.fixed_dictionaries({alert.name: st.sampled_from(SEVERITIES) for alert in ALERTS}))
def test_settings_add_no_silence_and_keep_none_by_a_cause_that_is_less_severe(severities: dict[str, str]) -> None:
    found = pairs(Settings.model_validate({"alerts": {name: {"severity": to} for name, to in severities.items()}}))
    now = {name: SEVERITIES.index(severity) for name, severity in severities.items()}
    assert found <= DESIGNED
    for cause, name in found:
        assert severities[cause] != "none"
        assert now[cause] >= now[name]


def overlaid(**alerts: dict[str, Any]) -> Settings:
    return Settings.model_validate({"alerts": alerts})


@pytest.mark.parametrize("cause", ["none", "info", "warning", "critical"])
def test_a_cause_never_silences_a_more_severe_alert(cause: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = (replace(alert, severity="critical", inhibited_by=()) for alert in ALERTS[:2])
    alerts = (replace(first, severity=cause), replace(second, inhibited_by=(first.name,)))
    monkeypatch.setattr(stack, "of_settings", lambda _: alerts)
    assert pairs(Settings()) == ({(first.name, second.name)} if cause == "critical" else set())


@pytest.mark.parametrize(
    "alerts",
    [
        {"VLLMModelDown": {"severity": "info"}},
        {"VLLMModelDown": {"severity": "none"}},
        {"VLLMModelDown": {"enabled": False}},
        {"VLLMModelDown": {"severity": "none"}, "VLLMHTTPErrors": {"severity": "none"}},
    ],
    ids=["lowered", "told to nobody", "disabled", "both told to nobody"],
)
def test_a_cause_that_settings_lowered_or_disabled_silences_no_page(alerts: dict[str, Any]) -> None:
    pair = ("VLLMModelDown", "VLLMHTTPErrors")
    assert pair in pairs(Settings())
    assert pair not in pairs(overlaid(**alerts))


def test_an_alert_that_settings_raised_is_silenced_by_nothing_less_severe() -> None:
    pair = ("SpecDecodeAcceptanceDrop", "SpecDecodeNotPaying")
    assert pair in pairs(Settings())
    assert pair not in pairs(overlaid(SpecDecodeNotPaying={"severity": "critical"}))
    both = {name: {"severity": "critical"} for name in pair}
    assert pair in pairs(overlaid(**both))


def test_a_disabled_alert_is_named_nowhere() -> None:
    name = "VLLMPreemptions"
    text = stack.text(stack.ALERTMANAGER, Settings(), "")
    assert name in text
    assert name not in stack.text(stack.ALERTMANAGER, overlaid(**{name: {"enabled": False}}), "")


def test_a_burning_budget_silences_the_slow_burn_of_its_own_objective_only() -> None:
    name = "VLLMErrorBudgetBurnsSlowly"
    burn, _ = (one for one in inhibitions(load(OBJECTIVES)) if name in one.explained)
    assert burn.cause == "VLLMErrorBudgetBurnsFast"
    assert "slo" in burn.equal


def test_the_heartbeat_is_checked_more_often_than_it_is_sent() -> None:
    """A check just before the next heartbeat is due must not delay it by a whole interval."""
    routes = rendered(Settings(), stack.ALERTMANAGER)["route"]["routes"]
    (beat,) = (route for route in routes if route["receiver"] == "heartbeat")
    assert (beat["group_interval"], beat["repeat_interval"]) == ("1m", "5m")


def test_critical_changes_are_told_sooner() -> None:
    built = settings_with(notify={"group_interval": "7m", "group_interval_critical": "90s"})
    route = rendered(built, stack.ALERTMANAGER)["route"]
    assert route["group_interval"] == "7m"
    assert {one["receiver"]: one.get("group_interval") for one in route["routes"]} == {
        "heartbeat": "1m",
        "critical": "1m30s",
        "warning": None,
        "info": None,
        "none": None,
    }


def test_pagerduty_links_to_a_dashboard_only_where_grafana_has_an_address() -> None:
    def links(**more: Any) -> list[str]:
        built = Settings.model_validate({"stack": ALL_CHANNELS, **more})
        (config,) = rendered(built, stack.ALERTMANAGER)["receivers"][0]["pagerduty_configs"]
        return [link["text"] for link in config["links"]]

    assert links() == ["What to do"]
    assert links(links={"grafana": "https://grafana.example.com"}) == ["What to do", "Dashboard"]


def test_renamed_labels_are_renamed_everywhere() -> None:
    renamed = Settings.model_validate(
        {"labels": {"model_name": "llm", "engine": "rank", "instance": "pod", "job": "service", "spec_method": "how"}}
    )
    lines = "".join(stack.text(path, renamed, "made by a test") for path in stack.TEMPLATES).splitlines()
    text = "\n".join(line for line in lines if not line.lstrip().startswith('- {"'))  # Steps read pages of servers.
    told = rendered(renamed, stack.ALERTMANAGER)
    assert told["route"]["group_by"] == ["cluster", "namespace", "service", "llm"]
    for label in ("model_name", "spec_method", "engine="):
        assert label not in text
