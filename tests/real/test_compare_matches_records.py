"""A comparison of two variants in Prometheus against what the rules recorded of the same time of the recorded run."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from conftest import DEMO_SETTINGS
from draftboard.compare import Comparison, compare, recorded
from draftboard.durations import Duration
from draftboard.errors import DraftboardError
from draftboard.lab.replay import Replay
from draftboard.reading import Recorded
from draftboard.report import report
from draftboard.signals import Level, Signal
from draftboard.signals.acceptance import acceptance
from draftboard.signals.latency import end_to_end, first_token, per_token, step
from draftboard.signals.users import measured_speedup

pytestmark = [pytest.mark.prometheus, pytest.mark.xdist_group("demo_run")]

ARMS = ("spec_method=none", "spec_method=ngram")
TIMES = (first_token, per_token, step, end_to_end)
MINUTE_TWO = 1795248973


def asked(replay: Replay, at: float) -> Recorded:
    return Recorded(replay.client.url, replay.settings.rules.rate_window, at=at)


def compared(replay: Replay, at: float) -> Comparison:
    return compare(*recorded(asked(replay, at), ARMS, replay.settings), replay.settings, force=True)


def record(replay: Replay, signal: Signal, method: str, at: float) -> float | None:
    name = signal.record_name(Level.MODEL, replay.settings)
    found = replay.client.query(f'{name}{{spec_method="{method}"}}', at)
    return found[0].samples[0][1] if found else None


def test_speedup_and_every_time_are_those_of_the_records(demo_run: Replay) -> None:
    speedups = values = 0
    for number in range(0, 110, 6):
        at = demo_run.start + 60 + number * demo_run.step
        found = compared(demo_run, at)
        speedup = record(demo_run, measured_speedup, "ngram", at)
        if speedup is not None:
            assert found.measured.speedup == pytest.approx(speedup, rel=1e-9), at
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


def test_parts_of_the_range_are_the_range(demo_run: Replay) -> None:
    for side in recorded(two_minutes(demo_run), ARMS, demo_run.settings):
        assert len(side.model.parts) == 12, "of two scrapes each"
        assert sum(part.requests for part in side.model.parts) == pytest.approx(side.samples, rel=0.05)
        assert sum(part.drafts for part in side.model.parts) == pytest.approx(side.drafts, rel=0.05)


def test_the_report_s_speedup_has_the_interval_of_the_comparison(demo_run: Replay) -> None:
    source = two_minutes(demo_run)
    found = compare(*recorded(source, ARMS, demo_run.settings), demo_run.settings)
    interval = found.measured.speedup_interval
    assert interval
    assert interval.low < interval.value < interval.high
    (model,) = (model for model in report(source, demo_run.settings).models if model.measured_speedup)
    assert model.measured_speedup_interval
    assert (model.measured_speedup_interval.low, model.measured_speedup_interval.high) == (interval.low, interval.high)
    assert model.verdict.reasons[0].endswith(f"(95 %: {interval.low:.2f} to {interval.high:.2f})")


def test_of_a_short_range_there_is_no_interval_and_it_is_said(demo_run: Replay) -> None:
    found = report(asked(demo_run, MINUTE_TWO), demo_run.settings)
    (model,) = (model for model in found.models if model.measured_speedup)
    assert model.measured_speedup_interval is None
    short = "the range is shorter than 8 parts of 2 scrapes: ask over a longer --range"
    assert f"Measured speedup has no 95 % interval: {short}" in model.notes


def two_minutes(replay: Replay) -> Recorded:
    return Recorded(replay.client.url, Duration(120), at=MINUTE_TWO)


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
        (
            ("none", "ngram"),
            "'none' is not a selector: with --prometheus, a side is variant=VALUE or spec_method=VALUE",
        ),
        (("spec_method=", "spec_method=ngram"), "'spec_method=' is not a selector"),
        (("spec_method=ngram", "job=vllm,spec_method=ngram"), "are one model: select two"),
        (("spec_method=eagle", ARMS[1]), "no model for 'spec_method=eagle' "),
        (
            ("job=vllm", ARMS[1]),
            "2 models for 'job=vllm' (available: 'tiny (ngram, job=vllm)', 'tiny (none, job=vllm)'): add a label",
        ),
    ],
)
def test_a_selector_that_is_not_one_model_is_a_mistake(selectors: Any, reason: str, demo_run: Replay) -> None:
    with pytest.raises(DraftboardError) as refused:
        recorded(asked(demo_run, MINUTE_TWO), selectors, demo_run.settings)
    assert reason in str(refused.value)
    assert "\n" not in str(refused.value)


def test_labels_can_be_joined_to_tell_arms_apart(demo_run: Replay) -> None:
    source = Recorded(demo_run.client.url, Duration(60), "tiny", MINUTE_TWO)
    first, second = recorded(source, ("job=vllm,spec_method=none", "spec_method=ngram, job=vllm"), demo_run.settings)
    assert (first.model.method, second.model.method) == ("none", "ngram")
