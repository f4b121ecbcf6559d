"""What people are told of outages during which a part of the monitoring is down: times are those of the receiver."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import httpx
import pytest

from draftboard.lab.receivers import Receiver
from stack.checkout import Checkout, checkout, remove_volumes
from stack.engine import Engine
from support.waiting import until

pytestmark = pytest.mark.stack

SETTINGS = """
[stack.notify]
critical = ["webhook"]
repeat_critical = "1m"
"""
HOLDS = {"HeldFiveMinutes": "5m", "HeldTenMinutes": "10m"}
RULES = "groups: [{{name: outages, rules: [{rules}]}}]\n"
RULE = '{{alert: {name}, expr: vector(1), for: {hold}, labels: {{severity: critical, job: "{name}"}}}}'
AWAY = 60
"""Seconds without Prometheus: Alertmanager takes an alert as over that is not sent again for four resend delays."""
PATIENCE = 5 * 60
SECOND = {"alertname": "Outage", "severity": "critical", "job": "second"}


@pytest.fixture(scope="module")
def stack(
    docker: Engine, webhook: tuple[Receiver, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Checkout]:
    """The monitoring alone, with two critical alerts that begin to be pending with it."""
    found = checkout(tmp_path_factory.mktemp("restarts"), docker)
    found.made("secrets")
    (found.deploy / "secrets/alert_webhook_url").write_text(webhook[1] + "\n")
    found.configure(COMPOSE_PROFILES="monitoring", VLLM_TARGET="gpu-1:8000", BUILD_FOLDER="built")
    found.build(SETTINGS)
    rules = ", ".join(RULE.format(name=name, hold=hold) for name, hold in HOLDS.items())
    (found.deploy / "built/alerts/outages.rules.yaml").write_text(RULES.format(rules=rules))
    found.made("up")
    found.until_healthy("prometheus", "alertmanager")
    yield found
    found.made("down")
    remove_volumes(docker)


def heard(receiver: Receiver, name: str) -> list[tuple[str, float]]:
    """What the receiver was told of an alert, and when."""
    return [(one.status, one.at) for one in receiver.arrivals if one.name == name]


def post(stack: Checkout, *, seconds: int) -> None:
    """Tell Alertmanager of the outage, as a Prometheus that then tells no more of it."""
    now = datetime.now(UTC)
    ends = now + timedelta(seconds=seconds)
    alert = {"labels": SECOND, "annotations": {}, "startsAt": now.isoformat(), "endsAt": ends.isoformat()}
    httpx.post(stack.url("alertmanager", "/api/v2/alerts"), json=[alert]).raise_for_status()


def test_an_outage_is_told_though_alertmanager_missed_the_end_of_the_one_before(
    stack: Checkout, webhook: tuple[Receiver, str]
) -> None:
    """Prometheus tells an end for 15 minutes: longer without Alertmanager is as if it were never told.

    Shortened to a minute, and the repetition of critical alerts from 30 minutes to one.
    """
    receiver, _ = webhook
    post(stack, seconds=60)
    until(lambda: heard(receiver, "Outage"), "the first outage is told")
    # Once a minute Alertmanager saves what it has told; when it stops, too.
    stack.docker.docker("stop", stack.container("alertmanager"))
    stopped = time.time()
    until(lambda: time.time() > stopped + AWAY, "the first outage is over")
    stack.docker.docker("start", stack.container("alertmanager"))
    stack.until_healthy("alertmanager")
    post(stack, seconds=600)
    began = time.time()

    def again() -> list[float]:
        return [at - began for status, at in heard(receiver, "Outage") if status == "firing" and at > began]

    until(again, "the second outage is told", PATIENCE)
    print(f"second outage told after {again()[0]:.0f} s")  # noqa: T201  (for `pytest -rP`)


def test_a_crash_of_prometheus_resolves_nothing_and_restarts_no_hold(
    stack: Checkout, webhook: tuple[Receiver, str]
) -> None:
    receiver, _ = webhook
    until(lambda: all(heard(receiver, name) for name in HOLDS), "both alerts are told", 12 * 60)
    stack.docker.docker("kill", stack.container("prometheus"))
    killed = time.time()
    until(lambda: time.time() > killed + AWAY, "a minute without Prometheus")
    stack.docker.docker("start", stack.container("prometheus"))
    ended = receiver.wait_for(
        lambda all_: any(one.status == "resolved" and one.name in HOLDS for one in all_), PATIENCE
    )
    for name in HOLDS:
        print(name, *(f"{status} {at - killed:+.0f} s" for status, at in heard(receiver, name)))  # noqa: T201
    assert not ended
