"""What an alert that is active keeps when its Prometheus crashes, with the flags of the stack and without them."""

import time
from pathlib import Path

import pytest
import yaml

from conftest import ROOT, program
from draftboard.durations import Duration
from draftboard.prometheus import Client, Server
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
_GRACE = "--rules.alert.for-grace-period"


def flags_of_the_stack() -> tuple[str, ...]:
    """Those on alerts."""
    compose = yaml.safe_load((ROOT / "deploy/docker-compose.yml").read_text())
    return tuple(flag for flag in compose["services"]["prometheus"]["command"] if flag.startswith(_GRACE))


def active_since(url: str) -> float | None:
    """Unix time since which the alert is active, as Prometheus has it now."""
    with Client(url) as client:
        found = client.query("ALERTS_FOR_STATE", time.time())
    return found[0].samples[0][1] if found else None


@pytest.mark.parametrize("pending", ["5m", "10m"])
def test_a_crash_does_not_restart_the_pending_period_of_an_alert(pending: str, tmp_path: Path) -> None:
    (tmp_path / "rules.yml").write_text(_RULES.format(pending=pending))
    flags = flags_of_the_stack()
    server = Server(program("prometheus"), tmp_path, Duration(300), _CONFIGURATION, flags)
    process, url = server.start()
    until(lambda: active_since(url) is not None, "the alert is active")
    process.kill()
    process.wait()
    crashed = time.time()
    with server.running() as again:
        until(lambda: 0 < (active_since(again) or 0) < crashed, "the alert is active since before the crash")


def test_prometheus_restores_no_pending_period_under_ten_minutes_by_default(tmp_path: Path) -> None:
    """Why the stack sets the flag: with a release of Prometheus that fails here it is no longer needed."""
    (tmp_path / "rules.yml").write_text(_RULES.format(pending="5m"))
    server = Server(program("prometheus"), tmp_path, Duration(300), _CONFIGURATION)
    process, url = server.start()
    until(lambda: active_since(url) is not None, "the alert is active")
    process.kill()
    process.wait()
    crashed = time.time()
    with server.running() as again:
        until(lambda: (active_since(again) or 0) > crashed, "the alert is active since after the crash")
