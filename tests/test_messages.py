"""The texts of alerts, as promtool expands them."""

import re
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import promql_parser
import pytest
import yaml

from conftest import ROOT, program
from draftboard import REVISION
from draftboard.build import render
from draftboard.build.files import ALERTING
from draftboard.durations import Duration
from draftboard.prometheus import Promtool, Server
from draftboard.settings import Settings
from support.hostile import ENCODABLE, escaped
from support.rulefiles import loaded
from support.waiting import until

pytestmark = pytest.mark.prometheus

COMMAND = "docker compose --file deploy/docker-compose.yml exec prometheus promtool query instant http://127.0.0.1:9090"


def run(promtool: Path, folder: Path, cases: str, files: Mapping[str, str]) -> None:
    """Cases give the records that the alerts read."""
    (folder / "rules.yaml").write_text(files[ALERTING])
    (folder / "cases.yaml").write_text(cases)
    done = subprocess.run(
        [str(promtool), "test", "rules", str(folder / "cases.yaml")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_messages_say_where(promtool: Path, tmp_path: Path, files: dict[str, str]) -> None:
    cases = (ROOT / "tests/rules/messages.yaml").read_text().replace("REVISION", REVISION)
    cases = cases.replace("PROMTOOL", COMMAND)
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
        "runbooks": {"platform": "host", "prometheus": "https://p.example"},
        "all_alerts": {"labels": {"team": "llm", "tier": "1"}, "annotations": {"desk": "ask {{ $labels.pod }}"}},
        "alerts": {"VLLMTargetDown": {"labels": {"tier": "2"}, "annotations": {"chat": "#gpu"}}},
    }
    who = "gpu/1 a&b of job vllm in eu"
    cases = down(
        {"severity": "warning", "team": "llm", "tier": "2"},
        {
            "summary": f"A vLLM server does not answer: {who}",
            "description": f"{who} does not answer scrapes. Its requests fail, or other servers answer them later.",
            "runbook_url": "https://r.example/VLLMTargetDown.md?HOST=gpu%2F1+a%26b",
            "dashboard_url": "https://g.example/d/draftboard-latency?var-service=vllm&var-pod=gpu%2F1+a%26b&var-region=eu",
            "command": "promtool query instant https://p.example "
            """'target:vllm_up:bool{region="eu",service="vllm",pod="gpu/1 a&b"}'""",
            "desk": "ask gpu/1 a&b",
            "chat": "#gpu",
        },
    )
    run(promtool, tmp_path, cases, render(Settings.model_validate(document)))


PLAIN = "meta-llama/Llama-3.3-70B@fp8"
HOSTILE = sorted({text for text in ENCODABLE.values() if text})


def test_no_label_leaves_its_place_in_the_command(promtool: Path, tmp_path: Path) -> None:
    """Prometheus expands the annotation, a shell splits it: promtool gets one query, of exactly that label."""
    rules = loaded(render(Settings.model_validate({"runbooks": {"platform": "host"}}))[ALERTING])
    alerts = (rule for group in rules["groups"] for rule in group["rules"] if "alert" in rule)
    annotations = {rule["alert"]: rule["annotations"] for rule in alerts}
    command, why = annotations["VLLMModelDown"]["command"], annotations["SpecDecodeAcceptanceDrop"]["explanation"]
    one = {"alert": "Hostile", "expr": "hostile", "annotations": {"command": command, "explanation": why}}
    (tmp_path / "prometheus.yml").write_text("global: {evaluation_interval: 1s}\nrule_files: [rules.yml]\n")
    (tmp_path / "rules.yml").write_text(yaml.safe_dump({"groups": [{"name": "one", "rules": [one]}]}))
    now = time.time()
    exposed = (f'hostile{{model_name="{escaped(name)}"}} 1 {now:.0f}\n' for name in (*HOSTILE, PLAIN))
    (tmp_path / "samples.om").write_text(f"{''.join(exposed)}# EOF\n", encoding="utf-8")
    Promtool(promtool).load_openmetrics(tmp_path / "samples.om", tmp_path / "data")
    server = Server(program("prometheus"), tmp_path, Duration(3600), (tmp_path / "prometheus.yml").read_text())

    def firing(url: str) -> list[dict[str, Any]]:
        found = httpx.get(f"{url}/api/v1/alerts", trust_env=False).json()["data"]["alerts"]
        return list(found)

    with server.running() as url:
        until(lambda: len(firing(url)) == len(HOSTILE) + 1, "an alert for each name")
        told = 0
        for alert in firing(url):
            command, name = alert["annotations"]["command"], alert["labels"]["model_name"]
            done = subprocess.run(
                ["sh", "-c", command.replace("promtool", "printf '%s\\0'", 1)], capture_output=True, check=True
            )
            *before, query, end = done.stdout.decode().split("\0")
            assert (before[:2], end, done.stderr) == (["query", "instant"], "", b""), command
            assert query.isprintable(), query
            selector = promql_parser.parse(query)
            assert isinstance(selector, promql_parser.VectorSelector), query
            (matcher,) = selector.matchers.matchers
            assert (matcher.name, matcher.value) == ("model_name", name), command
            explained = alert["annotations"]["explanation"].replace("draftboard", "printf '%s\\0'", 1)
            done = subprocess.run(["sh", "-c", explained], capture_output=True, check=True)
            words = done.stdout.decode().split("\0")
            plain = re.fullmatch(r"[\w./:@+-]+", name, re.ASCII)
            model = ["--model", name] if plain else []
            assert words == [*["history", "--prometheus", "http://127.0.0.1:9090", "--explain"], *model, ""]
            told += bool(plain)
    assert 0 < told < len(HOSTILE)
