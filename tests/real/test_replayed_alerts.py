"""The alerts that a replay reports are those that Prometheus' own rule engine fires on the same samples."""

import json
import subprocess
from bisect import bisect_right
from collections import defaultdict
from decimal import Decimal
from pathlib import Path

import pytest

from conftest import RECORDING
from draftboard import build as build_room
from draftboard.alerts import WATCHDOG
from draftboard.lab.replay import Replay, firings
from support import catalogue, rulefiles
from support.counters import read

pytestmark = [pytest.mark.prometheus, pytest.mark.long, pytest.mark.xdist_group("demo_run")]


def lead(replay: Replay) -> int:
    """Seconds before the recording, so that subqueries, which look at whole multiples of a window, look when they do in
    the replay: promtool's time begins at 0."""
    return int(replay.start % replay.settings.rules.rate_window.seconds)


def input_series(replay: Replay) -> list[dict[str, str]]:
    """The recording on the grid of evaluations: promtool knows only samples at regular times."""
    step = replay.step
    assert lead(replay) % step == 0
    times = [replay.start + index * step for index in range(int((replay.end - replay.start) // step) + 1)]
    series = []
    for name, counters in read(RECORDING, set(catalogue.series())).items():
        for labels, counter in counters.items():
            inside = ",".join(f'{label}="{text}"' for label, text in sorted(labels))
            values = ["_"] * (lead(replay) // step)
            for at in times:
                index = bisect_right(counter.times, at) - 1
                fresh = index >= 0 and at - counter.times[index] < step
                values.append(f"{Decimal(repr(counter.values[index])):f}" if fresh else "stale")
            series.append({"series": f"{name}{{{inside}}}", "values": " ".join(values)})
    return series


def test_a_replay_fires_what_promtool_fires(demo_run: Replay, promtool: Path, tmp_path: Path) -> None:
    files = build_room.render(demo_run.settings)
    for path in ("recording.rules.yaml", "alerting.rules.yaml"):
        (tmp_path / path).write_text(files[f"alerts/{path}"])
    expected = defaultdict(list)
    for firing in firings(demo_run):
        labels = firing.labels | {"alertname": firing.alert, "alertstate": "firing", "severity": firing.severity}
        inside = ",".join(f'{label}="{text}"' for label, text in sorted(labels.items()))
        at = firing.since
        while at <= firing.until:
            expected[round(at - demo_run.start) + lead(demo_run)].append({"labels": f"ALERTS{{{inside}}}", "value": 1})
            at += demo_run.step
    assert expected
    times = range(0, int(demo_run.end - demo_run.start) + lead(demo_run) + 1, demo_run.step)
    alerts = f'ALERTS{{alertstate="firing",alertname!="{WATCHDOG}"}}'
    asked = [{"expr": alerts, "eval_time": f"{at}s", "exp_samples": expected[at]} for at in times]
    test = {
        "rule_files": ["recording.rules.yaml", "alerting.rules.yaml"],
        "evaluation_interval": f"{demo_run.step}s",
        "group_eval_order": [group["name"] for group in rulefiles.groups(files)],
        "tests": [{"interval": f"{demo_run.step}s", "input_series": input_series(demo_run), "promql_expr_test": asked}],
    }
    (tmp_path / "run.test.yaml").write_text(json.dumps(test))  # JSON is YAML

    done = subprocess.run(
        [promtool, "test", "rules", "run.test.yaml"], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stdout + done.stderr
