"""The texts of alerts, as promtool expands them."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from conftest import ROOT
from draftboard import __version__
from draftboard.build import render
from draftboard.build.files import ALERTING
from draftboard.settings import Settings

pytestmark = pytest.mark.prometheus


def run(promtool: Path, folder: Path, cases: str, files: Mapping[str, str]) -> None:
    """Cases give the records that the alerts read."""
    (folder / "rules.yaml").write_text(files[ALERTING])
    (folder / "cases.yaml").write_text(cases)
    done = subprocess.run(
        [str(promtool), "test", "rules", str(folder / "cases.yaml")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_messages_say_where(promtool: Path, tmp_path: Path, files: dict[str, str]) -> None:
    cases = (ROOT / "tests/rules/messages.yaml").read_text().replace("VERSION", __version__)
    run(promtool, tmp_path, cases, files)


def down(labels: dict[str, str], annotations: dict[str, str]) -> str:
    """Cases in which a server is down, with the labels and annotations that its alert must add."""
    carried = {"region": "eu", "service": "vllm", "pod": "gpu/1 a&b"}
    inside = ",".join(f'{name}="{value}"' for name, value in carried.items())
    alert = {"exp_labels": carried | labels, "exp_annotations": annotations}
    case = {"eval_time": "9m", "alertname": "VLLMTargetDown", "exp_alerts": [alert]}
    series = {"series": f"target:vllm_up:bool{{{inside}}}", "values": "0x9"}
    test = {"name": "down", "input_series": [series], "alert_rule_test": [case]}
    return yaml.safe_dump({"rule_files": ["rules.yaml"], "evaluation_interval": "1m", "tests": [test]})


def test_links_renamed_labels_and_additions_are_expanded(promtool: Path, tmp_path: Path) -> None:
    document = {
        "labels": {"scope": ["region", "tenant"], "job": "service", "instance": "pod"},
        "links": {"grafana": "https://g.example", "runbooks": "https://r.example"},
        "all_alerts": {"labels": {"team": "llm", "tier": "1"}, "annotations": {"desk": "ask {{ $labels.pod }}"}},
        "alerts": {"VLLMTargetDown": {"labels": {"tier": "2"}, "annotations": {"chat": "#gpu"}}},
    }
    who = "gpu/1 a&b of job vllm in eu"
    cases = down(
        {"severity": "warning", "team": "llm", "tier": "2"},
        {
            "summary": f"A vLLM server does not answer: {who}",
            "description": f"{who} does not answer scrapes. Its requests fail, or other servers answer them later.",
            "runbook_url": "https://r.example/VLLMTargetDown.md",
            "dashboard_url": "https://g.example/d/draftboard-latency?var-service=vllm&var-pod=gpu%2F1+a%26b&var-region=eu",
            "desk": "ask gpu/1 a&b",
            "chat": "#gpu",
        },
    )
    run(promtool, tmp_path, cases, render(Settings.model_validate(document)))
