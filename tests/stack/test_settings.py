"""`make up` with settings of the user's own: what is changed reaches the running containers, and no page is lost."""

import json
import os
import re
import signal
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial

import httpx
import pytest

from draftboard.lab.receivers import Arrival, Receiver
from stack.checkout import Checkout, checkout, remove_volumes
from stack.engine import Engine
from support.waiting import until

pytestmark = pytest.mark.stack

SERVICES = ("prometheus", "alertmanager", "grafana")
STORE = "victoria-metrics"
OPTIONAL = ("dcgm-exporter", "node-exporter", STORE)
OUTAGE = {"alertname": "VLLMTargetDown", "severity": "critical", "job": "test", "instance": "gpu-1:8000"}
SETTINGS = """
[links]
grafana = "{grafana}"
[stack.notify]
critical = ["webhook"]
[[stack.remote_write]]
url = "http://victoria-metrics:8428/api/v1/write"
query_url = "http://victoria-metrics:8428"
"""
# An engine without GPUs has none to reserve.
NO_GPU = "services: {dcgm-exporter: {deploy: {resources: {reservations: !reset null}}}}\n"
ROUND = 90.0
"""Seconds until a change of a critical alert is told: `group_interval`, and a moment."""


@pytest.fixture(scope="module")
def stack(
    docker: Engine, webhook: tuple[Receiver, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Checkout]:
    """The profiles monitoring, exporters and scale, healthy, which tell critical alerts to the receiver."""
    found = checkout(tmp_path_factory.mktemp("stack"), docker)
    found.made("secrets")
    (found.deploy / "secrets/alert_webhook_url").write_text(webhook[1] + "\n")
    (found.deploy / "docker-compose.override.yml").write_text(NO_GPU)
    found.configure(COMPOSE_PROFILES="monitoring,exporters,scale", VLLM_TARGET="gpu-1:8000", BUILD_FOLDER="built")
    found.build(SETTINGS.format(grafana="https://first.example.com"))
    found.made("up")
    found.until_healthy(*SERVICES, "node-exporter", STORE)  # the other one needs a GPU to be healthy
    yield found
    found.made("down")
    remove_volumes(docker)


def dashboards_of_rules(stack: Checkout) -> set[str]:
    """The beginnings of the links to dashboards in loaded rules."""
    groups = stack.prometheus("rules")["groups"]
    links = {rule.get("annotations", {}).get("dashboard_url", "") for group in groups for rule in group["rules"]}
    return {"/".join(link.split("/")[:3]) for link in links if link}


def containers(stack: Checkout) -> dict[str, str]:
    return {service: stack.container(service) for service in SERVICES}


def test_the_override_file_is_read(stack: Checkout) -> None:
    assert stack.container("dcgm-exporter")


def test_the_store_runs_without_privileges_and_without_a_port_of_the_host(stack: Checkout) -> None:
    stack.assert_without_privileges(STORE)
    assert stack.docker.docker("port", stack.container(STORE)) == ""


def kept(stack: Checkout, query: str) -> list[dict[str, list[str]]]:
    """What the store answers to Grafana's container."""
    ask = f"http://{STORE}:8428/api/v1/query?nocache=1&query={query}"
    answer = stack.docker.docker("exec", stack.container("grafana"), "wget", "-q", "-O", "-", ask)
    found: list[dict[str, list[str]]] = json.loads(answer)["data"]["result"]
    return found


def test_samples_records_and_alerts_of_prometheus_are_kept_where_grafana_asks(stack: Checkout) -> None:
    for series in ("up", "fleet:draftboard_heartbeat:bool", "ALERTS"):
        until(partial(kept, stack, series), f"{series} is kept", 180)
    shown = ("exec", stack.container("grafana"), "sh", "-c", "cat /etc/grafana/provisioning/datasources/*")
    assert f"url: http://{STORE}:8428" in stack.docker.docker(*shown)


def test_the_store_keeps_what_it_has_when_it_is_killed_and_lets_nobody_delete_it(stack: Checkout) -> None:
    first = "min(tfirst_over_time(up[1h]))"
    (before,), started = kept(stack, first), stack.inspect(STORE, "{{.State.StartedAt}}")
    os.kill(int(stack.inspect(STORE, "{{.State.Pid}}")), signal.SIGKILL)
    until(lambda: stack.inspect(STORE, "{{.State.StartedAt}}") != started, "it is started again")
    stack.until_healthy(STORE)
    delete = f"http://{STORE}:8428/api/v1/admin/tsdb/delete_series?match[]=up"
    assert stack.docker.tried("exec", stack.container("grafana"), "wget", "-q", "-O", "-", delete).returncode
    (after,) = kept(stack, first)
    assert after["value"][1] == before["value"][1]


def test_settings_that_are_not_built_are_refused(stack: Checkout) -> None:
    newer = time.time() + 60
    os.utime(stack.deploy / "my.toml", (newer, newer))
    try:
        done = stack.make("up")
    finally:
        os.utime(stack.deploy / "my.toml", (0, 0))
    assert done.returncode
    assert "Run: make build" in done.stderr


@pytest.mark.parametrize("target", ["up", "reload"])
def test_built_settings_reach_the_running_prometheus(stack: Checkout, target: str) -> None:
    before = containers(stack)
    stack.build(SETTINGS.format(grafana=f"https://{target}.example.com"))
    stack.made(target)
    assert containers(stack) == before
    until_rules_link_to(stack, f"https://{target}.example.com")


def until_rules_link_to(stack: Checkout, grafana: str) -> None:
    until(lambda: dashboards_of_rules(stack) == {grafana}, f"rules link to {grafana}")


def post(stack: Checkout, labels: dict[str, str], *, ended: bool = False) -> None:
    """Tell Alertmanager that an alert fires or has ended, as Prometheus would."""
    now = datetime.now(UTC)
    ends = now if ended else now + timedelta(minutes=20)
    alert = {"labels": labels, "annotations": {}, "startsAt": now.isoformat(), "endsAt": ends.isoformat()}
    httpx.post(stack.url("alertmanager", "/api/v2/alerts"), json=[alert]).raise_for_status()


def told(receiver: Receiver, status: str, times: int = 1) -> bool:
    """Whether the webhook hears so often of the outage, within one round of notifications from now on."""

    def enough(arrivals: tuple[Arrival, ...]) -> bool:
        return sum(one.status == status and one.labels.items() >= OUTAGE.items() for one in arrivals) >= times

    return receiver.wait_for(enough, ROUND)


def test_an_end_before_a_reload_is_told_and_so_is_the_next_outage(
    stack: Checkout, webhook: tuple[Receiver, str]
) -> None:
    receiver, _ = webhook
    post(stack, OUTAGE)
    assert told(receiver, "firing")
    post(stack, OUTAGE, ended=True)
    stack.made("reload")
    assert told(receiver, "resolved")
    post(stack, OUTAGE)
    assert told(receiver, "firing", times=2)


def of_backup(stack: Checkout, which: int) -> None:
    """Type what docs/operate/scale.md shows to back up (0) or to restore (1)."""
    section = (stack.folder / "docs/operate/scale.md").read_text().partition("\n## Backup\n")[2]
    block = re.findall(r"```console\n(.*?)```", section, re.DOTALL)[which]
    for command in re.findall(r"(?m)^\$ (.*)", block):
        stack.types(command)
    stack.until_healthy(*SERVICES, STORE)


WRITTEN = "/var/lib/grafana/written"


def write(stack: Checkout, word: str) -> tuple[int, int]:
    """A silence, a line of a file of Grafana's and samples; the seconds in which these were taken."""
    now = datetime.now(UTC)
    silence = {
        "matchers": [{"name": "alertname", "value": "None", "isRegex": False}],
        "startsAt": now.isoformat(),
        "endsAt": (now + timedelta(hours=1)).isoformat(),
        "createdBy": "a test",
        "comment": word,
    }
    httpx.post(stack.url("alertmanager", "/api/v2/silences"), json=silence).raise_for_status()
    stack.docker.docker("exec", stack.container("grafana"), "sh", "-c", f"echo {word} >>{WRITTEN}")
    began = int(now.timestamp())
    until(lambda: samples_of_both(stack, began, int(time.time()) + 1), f"samples {word}", 120)
    return began, int(time.time()) + 1


def samples_of_both(stack: Checkout, began: int, ended: int) -> bool:
    """Whether Prometheus and the store hold samples of these seconds."""
    query = f"count_over_time(up{{job='prometheus'}}[{ended - began}s]@{ended})"
    return bool(kept(stack, query) and stack.prometheus(f"query?query={query}")["result"])


def test_a_restored_backup_holds_what_was_there_and_nothing_of_later(stack: Checkout) -> None:
    before = write(stack, "before")
    of_backup(stack, which=0)
    after = write(stack, "after")
    of_backup(stack, which=1)
    silences = httpx.get(stack.url("alertmanager", "/api/v2/silences")).json()
    assert [one["comment"] for one in silences if one["createdBy"] == "a test"] == ["before"]
    in_grafana = ("exec", stack.container("grafana"), "sh", "-c", f"cat {WRITTEN}; echo >>{WRITTEN}")
    assert stack.docker.docker(*in_grafana) == "before"
    assert samples_of_both(stack, *before)
    assert not samples_of_both(stack, *after)


def test_a_profile_that_is_no_longer_set_leaves_no_container(stack: Checkout) -> None:
    stack.configure(COMPOSE_PROFILES="monitoring")
    stack.made("up")
    assert not any(stack.container(service) for service in OPTIONAL)
    stack.until_healthy(*SERVICES)
