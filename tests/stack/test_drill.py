"""`draftboard drill --stack` on the running demo: who is sent what, and that nothing stays behind."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from conftest import ROOT
from draftboard.alerts import WATCHDOG
from draftboard.lab.receivers import Receiver
from draftboard.lab.stack_drill.server import NAME
from stack.checkout import Checkout, checkout, remove_volumes
from stack.engine import PROJECTS, Engine
from support.waiting import until

pytestmark = pytest.mark.stack

CHANNELS = ["webhook", "slack", "pagerduty"]
SETTINGS = """
[rules]
scrape_interval = "5s"
down_after = "20s"
evaluation_interval = "10s"
[stack.notify]
critical = ["webhook", "slack", "pagerduty"]
warning = ["webhook"]
group_wait = "5s"
group_interval_critical = "10s"
repeat_critical = "2m"
[alerts.DraftboardAlertmanagerDown]
for = "10s"
"""
LONG = 15 * 60
AWAY = 20 * 60
PROMETHEUS_TELLS_AN_END = 15 * 60
SERVICES = ("prometheus", "alertmanager")


@pytest.fixture(scope="module")
def demo(docker: Engine, webhook: tuple[Receiver, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Checkout]:
    """The demo's stack with short times, whose webhook is the user's."""
    found = checkout(tmp_path_factory.mktemp("drilled"), docker, project=PROJECTS[1])
    found.made("secrets")
    (found.deploy / "secrets/alert_webhook_url").write_text(webhook[1])
    if docker.is_private:  # It has no bridge.
        override = found.deploy / "docker-compose.override.yml"
        override.write_text("services: {simulator: {build: {network: host}}}\n")
    (found.folder / "short.toml").write_text(SETTINGS)
    build = [sys.executable, "-m", "draftboard", "build", "--config", "short.toml", "--out", "."]
    subprocess.run(build, cwd=found.folder, capture_output=True, check=True)
    found.made("up-demo")
    found.until_healthy(*SERVICES)
    yield found
    found.made("down")
    remove_volumes(docker)


def drill(demo: Checkout, *options: str) -> subprocess.Popen[str]:
    """The command, as typed elsewhere than in the stack's folder."""
    environment = {**demo.docker.environment, "PYTHONPATH": str(ROOT / "generator")}
    command = [sys.executable, "-m", "draftboard", "drill", "--stack", "--json", *options]
    output = subprocess.PIPE
    return subprocess.Popen(command, cwd="/", env=environment, text=True, stdout=output, stderr=output)


def outcome(drilled: subprocess.Popen[str], seconds: float = LONG) -> dict[str, Any]:
    out, err = drilled.communicate(timeout=seconds)
    assert out, err
    found: dict[str, Any] = json.loads(out)
    for one in found["moments"]:
        print(f"{one['after_seconds']:6.0f} s  {one['who']:9}  {one['what']}")  # noqa: T201  (for `pytest -rP`)
    assert (found["failures"], drilled.returncode) == ([], 0)
    return found


def sent(found: dict[str, Any], channel: str) -> list[str]:
    """Firing or resolved, in order, without what is repeated."""
    every = [one["what"].partition(":")[0] for one in found["moments"] if one["who"] == f"critical {channel}"]
    return [now for before, now in zip(["", *every], every, strict=False) if now != before]


def of_drill(receiver: Receiver, since: float = 0) -> list[tuple[str, str]]:
    """Name and status of what the user's own webhook was sent since a Unix time of the drill, or of what it kills."""
    absent = "DraftboardAlertmanagerDown"
    found = (one for one in receiver.arrivals if NAME in one.labels.values() or one.name == absent)
    return [(one.name, one.status) for one in found if one.at > since]


def until_calm(demo: Checkout) -> None:
    """Wait until Prometheus has found its Alertmanager: with short times it alerts on that at its start."""

    def known() -> set[str]:
        return {one["labels"]["alertname"] for one in demo.prometheus("alerts")["alerts"]}

    until(lambda: WATCHDOG in known() and "DraftboardAlertmanagerDown" not in known(), "Alertmanager is found", 300)


def footprint(demo: Checkout) -> dict[str, object]:
    """What a drill must leave as it was."""
    alertmanager = demo.deploy / "alertmanager"
    return {
        "configuration": {path.name: path.read_bytes() for path in alertmanager.glob("*.yml*")},
        "targets": sorted(path.name for path in (demo.deploy / "prometheus/targets").iterdir()),
        "running": [demo.inspect(service, "{{.State.Running}}") for service in SERVICES],
        "loaded": httpx.get(demo.url("alertmanager", "/api/v2/status")).json()["config"]["original"],
    }


def silences(demo: Checkout) -> list[str]:
    every = httpx.get(demo.url("alertmanager", "/api/v2/silences")).json()
    return [one["comment"] for one in every if one["status"]["state"] == "active"]


def test_an_outage_is_told_that_begins_while_alertmanager_is_killed_and_all_else_goes_where_it_always_goes(
    demo: Checkout, webhook: tuple[Receiver, str]
) -> None:
    receiver, _ = webhook
    until_calm(demo)
    before, began = footprint(demo), time.time()
    drilled = drill(demo)
    until(lambda: footprint(demo)["loaded"] != before["loaded"], "the drill has begun")
    ends = (datetime.now(UTC) + timedelta(minutes=5)).isoformat()
    another = {"labels": {"alertname": "Another", "severity": "critical"}, "annotations": {}, "endsAt": ends}
    httpx.post(demo.url("alertmanager", "/api/v2/alerts"), json=[another]).raise_for_status()
    found = outcome(drilled)
    assert found["channels"] == CHANNELS
    for channel in CHANNELS:
        assert sent(found, channel) in (["firing", "resolved"], ["firing", "resolved", "firing", "resolved"])
    assert of_drill(receiver, began) == []
    assert "Another" in {one.name for one in receiver.arrivals}
    assert footprint(demo) == before
    assert silences(demo) == ["a drill kills Alertmanager"]


def test_an_outage_is_told_after_twenty_minutes_without_alertmanager_in_which_the_one_before_ended(
    demo: Checkout, webhook: tuple[Receiver, str]
) -> None:
    """Prometheus tells an end for 15 minutes: it is lost for good, not late."""
    receiver, _ = webhook
    until_calm(demo)
    before, began = footprint(demo), time.time()
    found = outcome(drill(demo, "--away", "20m"), 2 * LONG + AWAY)
    at = {one["what"]: one["after_seconds"] for one in found["moments"]}
    killed, back = at["alertmanager is killed"], at["alertmanager is started again"]
    assert back - killed >= AWAY
    assert (
        killed <= at["outage 1 ends"] < at["outage 2 begins: the server answers 503"] < back - PROMETHEUS_TELLS_AN_END
    )
    for channel in CHANNELS:
        of_channel = [one for one in found["moments"] if one["who"] == f"critical {channel}"]
        assert not [one for one in of_channel if killed < one["after_seconds"] < back]
        (first, *_) = (one for one in of_channel if one["after_seconds"] > back)
        assert first["what"].startswith("firing: ")
        assert first["after_seconds"] < at["outage 2 ends"]
    assert of_drill(receiver, began) == []
    assert footprint(demo) == before


def test_a_page_holds_while_prometheus_is_killed_and_reaches_the_real_receivers_where_asked(
    demo: Checkout, webhook: tuple[Receiver, str]
) -> None:
    receiver, _ = webhook
    before, began = footprint(demo), time.time()
    found = outcome(drill(demo, "--kill", "prometheus", "--real-receivers", "--project", PROJECTS[1]))
    for channel in CHANNELS:
        assert sent(found, channel) == ["firing", "resolved", "firing", "resolved"]
    both = {("VLLMModelDown", status) for status in ("firing", "resolved")}
    until(lambda: both <= {*of_drill(receiver, began)}, "the real receiver is sent the page and its end")
    assert footprint(demo) == before


def test_a_drill_that_is_broken_off_starts_what_it_killed_and_pages_nobody(
    demo: Checkout, webhook: tuple[Receiver, str]
) -> None:
    receiver, _ = webhook
    before, told = footprint(demo), len(of_drill(receiver))
    drilled = drill(demo)
    until(lambda: demo.inspect("alertmanager", "{{.State.Running}}") == "false", "Alertmanager is killed", LONG)
    drilled.send_signal(signal.SIGTERM)
    time.sleep(0.5)
    drilled.send_signal(signal.SIGTERM)  # Whoever asks once is impatient.
    drilled.communicate(timeout=120)
    assert drilled.returncode == 128 + signal.SIGTERM
    assert footprint(demo) == before
    assert "a drill was broken off" in silences(demo)
    gone = time.time() + 90  # Prometheus forgets the target, Alertmanager has waited for its group.
    until(lambda: time.time() > gone, "the outage is forgotten", 100)
    assert len(of_drill(receiver)) == told
