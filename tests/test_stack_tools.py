"""promtool and amtool check the stack's configuration, as committed and with other settings."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from conftest import ROOT, program
from draftboard.alerts import ALERTS, WATCHDOG, Alert
from draftboard.build import render, stack, write
from draftboard.lab.stack_drill.routing import with_stand_ins
from draftboard.lab.stack_drill.server import NAME
from draftboard.settings import Settings
from support.rulefiles import loaded

pytestmark = pytest.mark.prometheus

VARIATIONS = {
    "as committed": {},
    "all channels": {
        "notify": {severity: ["webhook", "slack", "email", "pagerduty"] for severity in ("critical", "warning", "info")}
        | {"heartbeat": True},
        "slack": {"channel": "#llm"},
        "email": {"to": "a@example.com", "sender": "b@example.com", "smarthost": "mx:587", "username": "draft"},
    },
    "rules evaluated elsewhere": {
        "remote_write": [
            {
                "url": "https://mimir.example.com/api/v1/push",
                "token": True,
                "rules_there": True,
                "query_url": "https://mimir.example.com/prometheus",
            }
        ],
        "external_labels": {"cluster": "eu-1", "replica": "a"},
    },
}


def run(tool: str, *arguments: str | Path, within: Path) -> str:
    done = subprocess.run(
        [program(tool), *arguments], cwd=within, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(params=VARIATIONS, scope="module")
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files as containers see them: rules beside the folder of prometheus.yml."""
    out = tmp_path_factory.mktemp("stack")
    made = render(Settings.model_validate({"stack": VARIATIONS[request.param]}))
    write({path: made[path] for path in made if path.startswith(("alerts/alerting", "alerts/rec", "deploy/"))}, out)
    (out / "alerts").rename(out / "deploy/rules")
    return out


def test_promtool_accepts_the_configuration_and_finds_the_rules(folder: Path) -> None:
    said = run("promtool", "check", "config", "--syntax-only", "prometheus.yml", within=folder / "deploy/prometheus")
    assert "SUCCESS" in said


def test_promtool_checks_the_committed_configuration_in_full(tmp_path: Path, files: dict[str, str]) -> None:
    write(files, tmp_path)
    (tmp_path / "alerts").rename(tmp_path / "deploy/rules")
    said = run(
        "promtool",
        "check",
        "config",
        "--lint=all",
        "--lint-fatal",
        "prometheus.yml",
        within=tmp_path / "deploy/prometheus",
    )
    assert re.search(r"SUCCESS: [1-9]\d* rules found", said)


def test_amtool_accepts_the_configuration_and_its_templates(folder: Path) -> None:
    said = run("amtool", "check-config", "alertmanager.yml", within=folder / "deploy/alertmanager")
    assert "1 templates" in said


@pytest.mark.parametrize(("real", "received"), [(False, f"{NAME}-critical"), (True, f"{NAME}-critical,critical")])
def test_alerts_of_a_drill_reach_the_real_receivers_only_where_asked(
    folder: Path, tmp_path: Path, real: bool, received: str
) -> None:
    configuration = loaded((folder / "deploy/alertmanager/alertmanager.yml").read_text())
    changed = with_stand_ins(configuration, f'job="{NAME}"', "http://127.0.0.1:9", real=real)
    (tmp_path / "alertmanager.yml").write_text(yaml.safe_dump(changed))

    def receivers(job: str) -> str:
        test = ("config", "routes", "test", "--config.file=alertmanager.yml")
        return run("amtool", *test, f"job={job}", "severity=critical", within=tmp_path).strip()

    assert (receivers(NAME), receivers("vllm")) == (received, "critical")


def test_amlint_finds_no_route_or_inhibition_that_misses_an_alert(folder: Path) -> None:
    # A receiver without a channel is one that the user has not chosen, or `none`, which tells nobody on purpose.
    options = ("--strict", "--ignore", "empty-receiver", "--rules", str(folder / "deploy/rules/*.rules.yaml"))
    config = folder / "deploy/alertmanager/alertmanager.yml"
    done = subprocess.run(
        [Path(sys.executable).with_name("amlint"), "check", *options, config],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def documented() -> dict[str, str]:
    """Documented receiver by severity, and that of the watchdog."""
    rows = re.findall(r"^\| `(\w+)` \| `(\w+)` \|", (ROOT / "docs/operate/notifications.md").read_text(), re.MULTILINE)
    return dict(rows)


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert.name)
def test_each_alert_reaches_the_receiver_that_the_documentation_says(alert: Alert, settings: Settings) -> None:
    name, severity = alert.name, alert.policy(settings).severity
    said = run(
        "amtool",
        *("config", "routes", "test", "--config.file=deploy/alertmanager/alertmanager.yml"),
        *(f"alertname={name}", f"severity={severity}", "job=vllm", "model_name=llama", "spec_method=eagle3"),
        within=ROOT,
    )
    assert said.split() == [documented()[name if name == WATCHDOG else severity]]


def test_an_alert_of_unknown_severity_goes_to_the_warning_receiver() -> None:
    said = run(
        "amtool",
        *("config", "routes", "test", "--config.file=deploy/alertmanager/alertmanager.yml", "alertname=Other"),
        within=ROOT,
    )
    assert said.split() == ["warning"]


SUMMARY = "Requests end in an error: llama (eagle3) of job vllm in eu-1/prod"
MESSAGE: dict[str, Any] = {
    "status": "firing",
    "receiver": "critical",
    "groupLabels": {"model_name": "llama"},
    "commonLabels": {"model_name": "llama", "severity": "critical", "alertname": "VLLMErrors"},
    "commonAnnotations": {},
    "externalURL": "http://127.0.0.1:9093",
    "alerts": [
        {
            "status": status,
            "labels": {"alertname": "VLLMErrors", "model_name": "llama", "severity": "critical"},
            "annotations": {
                "summary": SUMMARY,
                "description": "llama (eagle3): 7% of requests end in an error.",
                "runbook_url": "https://example.com/VLLMErrors.md",
                "dashboard_url": "https://grafana.example/d/draftboard-latency",
                "command": "promtool query instant http://127.0.0.1:9090 'up{job=\"vllm\"}'",
            },
            "startsAt": "2026-11-21T12:00:00Z",
            "endsAt": "2026-11-21T12:30:00Z",
        }
        for status in ("firing", "resolved")
    ],
}


def message(template: str, data: dict[str, Any], folder: Path) -> str:
    (folder / "data.json").write_text(json.dumps(data))
    return run(
        "amtool",
        *("template", "render", f"--template.glob={ROOT / stack.MESSAGES}", f"--template.data={folder / 'data.json'}"),
        f'--template.text={{{{ template "{template}" . }}}}',
        within=folder,
    ).rstrip("\n")


ONE = {**MESSAGE, "alerts": MESSAGE["alerts"][:1]}


def test_the_title_of_one_alert_is_its_severity_and_summary(tmp_path: Path) -> None:
    assert message("draftboard.title", ONE, tmp_path) == f"CRITICAL: {SUMMARY}"


def test_the_title_counts_only_what_still_fires(tmp_path: Path) -> None:
    assert message("draftboard.title", MESSAGE, tmp_path) == f"CRITICAL: {SUMMARY}"


def alerts(*names: str, status: str = "firing", **labels: str) -> list[dict[str, Any]]:
    return [MESSAGE["alerts"][0] | {"status": status, "labels": {"alertname": name, **labels}} for name in names]


WHERE = {"job": "vllm", "cluster": "eu-1", "namespace": "prod", "severity": "critical"}


@pytest.mark.parametrize(
    ("labels", "place"),
    [
        ({**WHERE, "model_name": "llama"}, "llama in eu-1/prod"),
        (WHERE, "job vllm in eu-1/prod"),
        ({**WHERE, "instance": "gpu-1:8000", "cluster": ""}, "gpu-1:8000 in prod"),
        ({"job": "vllm", "severity": "critical"}, "job vllm"),
        ({"severity": "critical"}, "vLLM"),
    ],
    ids=["a model", "servers", "a server without cluster", "no scope", "no label"],
)
def test_the_title_of_many_alerts_says_how_many_which_and_where(
    tmp_path: Path, labels: dict[str, str], place: str
) -> None:
    many = {**MESSAGE, "alerts": alerts(*["VLLMTargetDown"] * 300), "commonLabels": labels}
    assert message("draftboard.title", many, tmp_path) == f"CRITICAL: 300 alerts: VLLMTargetDown: {place}"
    over = {**many, "status": "resolved", "alerts": alerts(*["VLLMTargetDown"] * 300, status="resolved")}
    assert message("draftboard.title", over, tmp_path) == f"Resolved: 300 alerts: VLLMTargetDown: {place}"


def test_the_title_of_several_kinds_names_each_once(tmp_path: Path) -> None:
    several = {**MESSAGE, "alerts": alerts("VLLMHTTPErrors", "VLLMErrors", "VLLMHTTPErrors"), "commonLabels": WHERE}
    assert message("draftboard.title", several, tmp_path) == (
        "CRITICAL: 3 alerts: VLLMHTTPErrors, VLLMErrors: job vllm in eu-1/prod"
    )


def test_the_text_has_links_to_runbook_and_dashboard(tmp_path: Path) -> None:
    assert message("draftboard.text", MESSAGE, tmp_path) == (
        "VLLMErrors, since 2026-11-21 12:00:00 UTC\n"
        "llama (eagle3): 7% of requests end in an error.\n"
        "What to do: https://example.com/VLLMErrors.md\n"
        "Dashboard: https://grafana.example/d/draftboard-latency\n"
        "Now: promtool query instant http://127.0.0.1:9090 'up{job=\"vllm\"}'\n"
        "\n"
        f"VLLMErrors: over since 2026-11-21 12:30:00 UTC. {SUMMARY}"
    )


def test_the_text_has_no_empty_link(tmp_path: Path) -> None:
    annotations = {"description": "It fails.", "runbook_url": "https://example.com/VLLMErrors.md"}
    without = {**ONE, "alerts": [ONE["alerts"][0] | {"annotations": annotations}]}
    assert message("draftboard.text", without, tmp_path).splitlines()[1:] == [
        "It fails.",
        "What to do: https://example.com/VLLMErrors.md",
    ]


@pytest.mark.parametrize("number", [5, 6, 300])
def test_the_text_of_many_alerts_fits_a_message(tmp_path: Path, number: int) -> None:
    for status in ("firing", "resolved"):
        many = {**MESSAGE, "status": status, "alerts": alerts(*["VLLMTargetDown"] * number, status=status)}
        lines = message("draftboard.text", many, tmp_path).splitlines()
        assert sum(line.startswith("VLLMTargetDown") for line in lines) == 5
        assert (f"... {number} in all" in lines) is (number > 5)


def test_labels_and_texts_reach_the_message_as_they_are(tmp_path: Path) -> None:
    odd = """a"b'c\\d {{ .X }} <b>&amp; ünï"""
    annotations = {"summary": odd, "description": odd, "runbook_url": "https://example.com/"}
    sent = {**ONE, "alerts": [ONE["alerts"][0] | {"annotations": annotations}]}
    assert message("draftboard.title", sent, tmp_path) == f"CRITICAL: {odd}"
    assert odd in message("draftboard.text", sent, tmp_path).splitlines()
