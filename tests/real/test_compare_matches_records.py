"""A comparison of two arms in Prometheus against what the rules recorded of the same time of the recorded run."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from conftest import DEMO_SETTINGS
from draftboard.compare import Comparison, Looking, compare, sides
from draftboard.durations import Duration
from draftboard.errors import DraftboardError
from draftboard.lab.replay import Replay
from draftboard.signals import Level, Signal
from draftboard.signals.acceptance import acceptance
from draftboard.signals.latency import end_to_end, first_token, per_token, step
from draftboard.signals.users import measured_speedup

pytestmark = [pytest.mark.prometheus, pytest.mark.xdist_group("demo_run")]

ARMS = ("spec_method=none", "spec_method=ngram")
TIMES = (first_token, per_token, step, end_to_end)
MINUTE_TWO = 1795248973


def looking(replay: Replay, at: float) -> Looking:
    return Looking(prometheus=replay.client.url, span=replay.settings.rules.rate_window, at=at)


def compared(replay: Replay, at: float) -> Comparison:
    return compare(*sides(*ARMS, replay.settings, looking(replay, at)), replay.settings, force=True)


def record(replay: Replay, signal: Signal, method: str, at: float) -> float | None:
    name = signal.record_at(Level.MODEL, replay.settings)
    found = replay.client.query(f'{name}{{spec_method="{method}"}}', at)
    return found[0].samples[0][1] if found else None


def test_speedup_and_every_time_are_those_of_the_records(demo_run: Replay) -> None:
    speedups = values = 0
    for number in range(0, 110, 6):
        at = demo_run.start + 60 + number * demo_run.step
        found = compared(demo_run, at)
        recorded = record(demo_run, measured_speedup, "ngram", at)
        if recorded is not None:
            assert found.measured.speedup == pytest.approx(recorded, rel=1e-9), at
            speedups += 1
        rows = {row.name: row for group in found.groups for row in group.rows}
        for signal in (acceptance, *(said for time in TIMES for said in (time.mean, time.p50, time.p95, time.p99))):
            for method, side in (("none", "baseline"), ("ngram", "candidate")):
                expected = record(demo_run, signal, method, at)
                if expected:
                    assert getattr(rows[signal.name], side).value == pytest.approx(expected, rel=1e-9), signal.name
                    values += 1
    assert speedups > 8
    assert values > 100


def test_around_minute_two_the_run_lost_what_the_readme_says(demo_run: Replay) -> None:
    found = compared(demo_run, MINUTE_TWO)
    assert found.unlike == ()
    assert found.measured.speedup
    assert 0.79 <= found.measured.speedup <= 0.83
    assert found.verdict.says == "users wait longer"


def test_the_command_asks_prometheus_and_gates(demo_run: Replay) -> None:
    command = [sys.executable, "-m", "draftboard", "compare", *ARMS, f"--prometheus={demo_run.client.url}"]
    options = ["--range=1m", f"--at={MINUTE_TWO}", f"--config={DEMO_SETTINGS}", "--min-speedup=1", "--json"]
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=False, env=dict(os.environ))
    assert (done.returncode, done.stderr) == (1, "")
    (gate,) = json.loads(done.stdout)["gates"]
    assert gate["met"] is False
    assert gate["says"].startswith("missed: measured speedup 0.8")


@pytest.mark.parametrize(
    ("selectors", "reason"),
    [
        (("none", "ngram"), "'none' selects nothing: with --prometheus, a side is variant=VALUE or spec_method=VALUE"),
        (("spec_method=", "spec_method=ngram"), "nothing is 'spec_method=' there, but 'tiny (ngram, job=vllm)'"),
        (("spec_method=eagle", ARMS[1]), "nothing is 'spec_method=eagle' there"),
        (("job=vllm", ARMS[1]), "'job=vllm' is 'tiny (ngram, job=vllm)', 'tiny (none, job=vllm)': add a label"),
    ],
)
def test_a_selector_that_is_not_one_model_is_a_mistake(selectors: Any, reason: str, demo_run: Replay) -> None:
    with pytest.raises(DraftboardError) as refused:
        sides(*selectors, demo_run.settings, looking(demo_run, MINUTE_TWO))
    assert reason in str(refused.value)
    assert "\n" not in str(refused.value)


def test_labels_can_be_joined_to_tell_arms_apart(demo_run: Replay) -> None:
    asked = Looking(prometheus=demo_run.client.url, span=Duration(60), at=MINUTE_TWO, model="tiny")
    first, second = sides("job=vllm,spec_method=none", "spec_method=ngram, job=vllm", demo_run.settings, asked)
    assert (first.model.method, second.model.method) == ("none", "ngram")
