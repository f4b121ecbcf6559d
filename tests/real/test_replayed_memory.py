"""Rules that read what they, or one another, made before have in a replay the values that Prometheus gives them."""

import json
import lzma
import subprocess
from pathlib import Path

import httpx
import pytest

from conftest import program, replayed
from draftboard.lab.replay.order import Step, in_order
from draftboard.lab.simulator.backfill import backfill
from draftboard.lab.simulator.fleet import targets
from draftboard.lab.simulator.scenario import Scenario
from draftboard.prometheus import Client, Server
from draftboard.rules import RecordingRule, alerting_groups, recording_groups
from draftboard.settings import Settings
from draftboard.signals import Level
from draftboard.signals.advice import advice
from draftboard.signals.traffic import generation_tokens
from support import catalogue, rulefiles
from support.counters import read

pytestmark = [pytest.mark.prometheus, pytest.mark.long]

PACE, MINUTES = 60, 150
TOLD = {
    "story": "A drafter breaks, and the only server of another model goes down.",
    "duration": f"{MINUTES}m",
    "server": [
        {"model": "broken", "method": "eagle3", "k": 3, "load": {"rate": 1.0}},
        {"model": "gone", "load": {"rate": 1.0}},
    ],
    "event": [
        {"at": "75m", "model": "broken", "requests": [{"alpha": 0.08}]},
        {"at": "30m", "model": "gone", "restart": "20m"},
    ],
}


def input_series(recording: Path) -> list[dict[str, str]]:
    """Samples from the first second of Unix time on, where promtool begins; a series ends with a stale marker."""
    result = []
    for name, counters in read(recording, set(catalogue.series())).items():
        for labels, counter in counters.items():
            inside = ",".join(f'{label}="{text}"' for label, text in sorted(labels))
            values = dict(zip(counter.times, counter.values, strict=True))
            row = (repr(values[at]) if at in values else "stale" for at in range(0, 60 * MINUTES + 1, PACE))
            result.append({"series": f"{name}{{{inside}}}", "values": " ".join(row)})
    return result


def as_one_group(steps: list[Step], files: dict[str, str]) -> dict[str, object]:
    """All rules in a replay's order. In groups, one reads of another what that made an evaluation ago."""
    written = {rule.get("record") or rule["alert"]: rule for rule in rulefiles.rules(files)}
    names = (rule.record if isinstance(rule, RecordingRule) else rule.alert for step in steps for rule in step.rules)
    return {"groups": [{"name": "all", "rules": [written[name] for name in names]}]}


def test_rules_that_read_their_own_past_replay_as_promtool_evaluates_them(
    settings: Settings, files: dict[str, str], promtool: Path, tmp_path: Path
) -> None:
    plain, recording = tmp_path / "past.om", tmp_path / "past.om.xz"
    backfill(targets(Scenario.model_validate(TOLD), 1), range(0, 60 * MINUTES + 1, PACE), plain)
    recording.write_bytes(lzma.compress(plain.read_bytes(), preset=0))
    steps = in_order((*recording_groups(settings), *alerting_groups(settings)))
    own = [rule.record for step in steps if step.reads_itself for rule in step.rules if isinstance(rule, RecordingRule)]
    asked, times = f'{{__name__=~"{"|".join(own)}|ALERTS"}}', range(0, 60 * MINUTES + 1, 5 * PACE)
    advised = str(advice.record_name(Level.MODEL, settings))
    with replayed(recording, settings) as replay:
        found = {at: replay.client.query(asked, at) for at in times}
        remembered = [replay.client.query(f"{advised} == 5", 60 * MINUTES)]
    assert remembered[0]
    tests = [
        {
            "expr": asked,
            "eval_time": f"{at}s",
            "exp_samples": [
                {
                    "labels": f"{{{','.join(f'{name}={json.dumps(text)}' for name, text in series.labels.items())}}}",
                    "value": series.samples[0][1],
                }
                for series in found[at]
            ],
        }
        for at in times
    ]
    test = {
        "rule_files": ["rules.json"],
        "evaluation_interval": f"{PACE}s",
        "tests": [{"interval": f"{PACE}s", "input_series": input_series(recording), "promql_expr_test": tests}],
    }
    (tmp_path / "rules.json").write_text(json.dumps(as_one_group(steps, files)))
    (tmp_path / "run.json").write_text(json.dumps(test))

    done = subprocess.run(
        [promtool, "test", "rules", "run.json"], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert {name for at in times for name in {series.labels["__name__"] for series in found[at]}} >= {advised, "ALERTS"}
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_kept_replay_knows_the_labels_of_what_rules_made(settings: Settings, tmp_path: Path) -> None:
    """The variables of dashboards ask for them."""
    recording, kept = tmp_path / "past.om", tmp_path / "kept"
    kept.mkdir()
    scenario = Scenario.model_validate(TOLD | {"duration": "10m", "event": []})
    backfill(targets(scenario, 1), range(0, 601, PACE), recording)
    record = generation_tokens.record_name(Level.MODEL, settings)
    with replayed(recording, settings, keep_in=kept) as replay:
        made = replay.client.query_range(str(record), 0, 600, PACE)

    with (
        Server(program("prometheus"), kept, settings.rules.evaluation_interval).running() as url,
        Client(url) as client,
    ):
        asked = {"match[]": str(record), "start": "0", "end": "600"}
        answer = httpx.get(f"{url}/api/v1/label/model_name/values", params=asked).json()
        again = client.query_range(str(record), 0, 600, PACE)

    assert answer["data"] == ["broken", "gone"]
    assert [(one.labels, one.samples) for one in again] == [(one.labels, one.samples) for one in made]
