"""What people are sent of outages while a part of the monitoring is down: times are those of the receivers."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import httpx
import pytest
import yaml

from draftboard.lab.receivers import Message, StandIns
from stack.checkout import Checkout, checkout, remove_volumes
from stack.engine import Engine
from support.waiting import until

pytestmark = pytest.mark.stack

CHANNELS = ("webhook", "slack", "pagerduty")
SETTINGS = """
[stack.notify]
critical = ["webhook", "slack", "pagerduty"]
repeat_critical = "1m"
"""
HOLDS = {"HeldFiveMinutes": "5m", "HeldTenMinutes": "10m"}
RULES = "groups: [{{name: outages, rules: [{rules}]}}]\n"
RULE = (
    "{{alert: {name}, expr: vector(1), for: {hold}, annotations: {{summary: {name}}}, "
    'labels: {{severity: critical, job: "{name}"}}}}'
)
AWAY = 60
"""Seconds without a program."""
FORGOTTEN = 4 * 120 + 90
"""Seconds after which Alertmanager has told the end of an alert that is not sent again: four resend delays, a round."""
PATIENCE = 5 * 60
SECOND = {"alertname": "Outage", "severity": "critical", "job": "second"}


@pytest.fixture(scope="module")
def stack(
    docker: Engine, stand_ins: tuple[StandIns, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Checkout]:
    """The monitoring alone, with two critical alerts that begin to be pending with it."""
    found, (_, url) = checkout(tmp_path_factory.mktemp("restarts"), docker), stand_ins
    found.made("secrets")
    secrets = {
        "alert_webhook_url": f"{url}/webhook",
        "slack_webhook_url": f"{url}/slack",
        "pagerduty_routing_key": "key",
    }
    for name, text in secrets.items():
        (found.deploy / "secrets" / name).write_text(text + "\n")
    found.configure(COMPOSE_PROFILES="monitoring", VLLM_TARGET="gpu-1:8000", BUILD_FOLDER="built")
    found.build(SETTINGS)
    routes = found.deploy / "built/deploy/alertmanager/alertmanager.yml"
    configuration = yaml.safe_load(routes.read_text())
    configuration["global"]["pagerduty_url"] = f"{url}/pagerduty"  # The one address that is no secret of the user's.
    routes.write_text(yaml.safe_dump(configuration))
    rules = ", ".join(RULE.format(name=name, hold=hold) for name, hold in HOLDS.items())
    (found.deploy / "built/alerts/outages.rules.yaml").write_text(RULES.format(rules=rules))
    found.made("up")
    found.until_healthy("prometheus", "alertmanager")
    yield found
    found.made("down")
    remove_volumes(docker)


def heard(stand_ins: StandIns, name: str, channel: str = "") -> list[Message]:
    """What the channels were sent of an alert."""
    return [one for one in stand_ins.arrivals if name in one.title and channel in ("", one.channel)]


def everywhere(stand_ins: StandIns, name: str, since: float = 0) -> bool:
    """Whether each channel was sent since a Unix time that an alert fires."""
    told = {one.channel for one in heard(stand_ins, name) if one.status == "firing" and one.at > since}
    return told == {*CHANNELS}


def show(stand_ins: StandIns, name: str, since: float) -> None:
    """Print who was sent what, and when: for `pytest -rP`."""
    for channel in CHANNELS:
        words = (f"{one.status} {one.at - since:+.0f} s" for one in heard(stand_ins, name, channel))
        print(name, channel, *words, sep=", ")  # noqa: T201


def post(stack: Checkout, *, seconds: int) -> None:
    """Send Alertmanager the outage, as a Prometheus that then sends no more of it."""
    now = datetime.now(UTC)
    ends = now + timedelta(seconds=seconds)
    annotations = {"summary": SECOND["alertname"]}
    alert = {"labels": SECOND, "annotations": annotations, "startsAt": now.isoformat(), "endsAt": ends.isoformat()}
    httpx.post(stack.url("alertmanager", "/api/v2/alerts"), json=[alert]).raise_for_status()


def test_an_outage_is_told_though_alertmanager_missed_the_end_of_the_one_before(
    stack: Checkout, stand_ins: tuple[StandIns, str]
) -> None:
    """Prometheus tells an end for 15 minutes: longer without Alertmanager is as if it were never told.

    Shortened to a minute, and the repetition of critical alerts from 30 minutes to one.
    """
    receivers, _ = stand_ins
    post(stack, seconds=60)
    until(lambda: everywhere(receivers, "Outage"), "the first outage is told")
    # Once a minute Alertmanager saves what it has told; when it stops, too.
    stack.docker.docker("stop", stack.container("alertmanager"))
    stopped = time.time()
    until(lambda: time.time() > stopped + AWAY, "the first outage is over")
    stack.docker.docker("start", stack.container("alertmanager"))
    stack.until_healthy("alertmanager")
    post(stack, seconds=600)
    began = time.time()
    until(lambda: everywhere(receivers, "Outage", began), "the second outage is told", PATIENCE)
    show(receivers, "Outage", began)


def test_a_crash_of_prometheus_resolves_nothing_and_restarts_no_hold(
    stack: Checkout, stand_ins: tuple[StandIns, str]
) -> None:
    receivers, _ = stand_ins
    until(lambda: all(everywhere(receivers, name) for name in HOLDS), "both alerts are told", 12 * 60)
    stack.docker.docker("kill", stack.container("prometheus"))
    killed = time.time()
    until(lambda: time.time() > killed + AWAY, "a minute without Prometheus")
    stack.docker.docker("start", stack.container("prometheus"))

    def ended(all_: tuple[Message, ...]) -> bool:
        return any(one.status == "resolved" and name in one.title for one in all_ for name in HOLDS)

    resolved = receivers.wait_for(ended, killed + FORGOTTEN - time.time())
    for name in HOLDS:
        show(receivers, name, killed)
    assert not resolved
    # What is not sent would not be resolved either.
    assert all(everywhere(receivers, name, killed + FORGOTTEN - PATIENCE) for name in HOLDS)
