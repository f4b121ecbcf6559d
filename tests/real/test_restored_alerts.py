"""What an alert that is active keeps when its Prometheus crashes, with the flags of the stack and without them."""

import time
from pathlib import Path

import pytest

from conftest import ROOT, program
from draftboard.durations import Duration
from draftboard.prometheus import Client, Server
from support.rulefiles import loaded
from support.waiting import until

pytestmark = pytest.mark.prometheus

_CONFIGURATION = """
global: {evaluation_interval: 1s}
rule_files: [rules.yml]
"""
_RULES = """
groups:
  - name: outage
    rules:
      - {{alert: Outage, expr: vector(1), for: {pending}}}
"""
_ACTIVE_SECONDS = 5
# An evaluation is dated up to its interval back, and the time since which an alert is active is in whole seconds.
_ROUNDING_SECONDS = 2.5
_GRACE = "--rules.alert.for-grace-period"


def flags_of_the_stack() -> tuple[str, ...]:
    """Those on alerts."""
    compose = loaded((ROOT / "deploy/docker-compose.yml").read_text())
    return tuple(flag for flag in compose["services"]["prometheus"]["command"] if flag.startswith(_GRACE))


def value(url: str, expression: str) -> float:
    """0 where Prometheus knows no such alert yet."""
    with Client(url) as client:
        found = client.query(expression, time.time())
    return found[0].samples[0][1] if found else 0


def last_evaluated(url: str) -> float:
    """Unix time, also of an evaluation before a crash."""
    return value(url, "timestamp(ALERTS_FOR_STATE)")


def active_since(url: str) -> float:
    """Unix time in whole seconds: Prometheus drops the fraction."""
    return value(url, "ALERTS_FOR_STATE")


def crash(server: Server) -> tuple[float, float]:
    """Kill Prometheus while an alert is pending: the seconds for which it was active, and the time of the crash."""
    process, url = server.start()
    until(lambda: last_evaluated(url) - active_since(url) > _ACTIVE_SECONDS, "the alert is active for seconds")
    seconds = last_evaluated(url) - active_since(url)
    process.kill()
    process.wait()
    return seconds, time.time()


@pytest.mark.parametrize("pending", ["5m", "10m"])
def test_a_crash_does_not_restart_the_pending_period_of_an_alert(pending: str, tmp_path: Path) -> None:
    (tmp_path / "rules.yml").write_text(_RULES.format(pending=pending))
    server = Server(program("prometheus"), tmp_path, Duration(300), _CONFIGURATION, flags_of_the_stack())
    active_seconds, crashed = crash(server)
    with server.running() as again:
        until(lambda: last_evaluated(again) > crashed, "the alert is evaluated after the crash")
        assert last_evaluated(again) - active_since(again) > active_seconds - _ROUNDING_SECONDS


def test_prometheus_restores_no_pending_period_under_ten_minutes_by_default(tmp_path: Path) -> None:
    """Why the stack sets the flag: with a release of Prometheus that fails here it is no longer needed."""
    (tmp_path / "rules.yml").write_text(_RULES.format(pending="5m"))
    server = Server(program("prometheus"), tmp_path, Duration(300), _CONFIGURATION)
    _, crashed = crash(server)
    with server.running() as again:
        until(lambda: last_evaluated(again) > crashed, "the alert is evaluated after the crash")
        assert active_since(again) > crashed - _ROUNDING_SECONDS
