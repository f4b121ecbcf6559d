"""The rules before a real promtool: its lint, and the cases of every record and alert."""

import subprocess
from pathlib import Path

import pytest
import yaml

from support import rulefiles

pytestmark = pytest.mark.prometheus

ROOT = Path(__file__).parent.parent
CASES = sorted((ROOT / "tests/rules").glob("*.test.yaml"))


def test_the_rule_files_pass_every_lint(promtool: Path) -> None:
    command = [promtool, "check", "rules", "--lint=all", "--lint-fatal", *sorted((ROOT / "alerts").glob("*.yaml"))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.name.removesuffix(".test.yaml"))
def test_cases(path: Path, promtool: Path) -> None:
    done = subprocess.run([promtool, "test", "rules", path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_record_and_alert_has_named_cases(files: dict[str, str]) -> None:
    rules = rulefiles.rules(files)
    text = ""
    for path in CASES:
        for group in yaml.safe_load(path.read_text())["tests"]:
            assert group.get("name"), f"{path.name}: a group of cases without a name"
            asked = [case["alertname"] for case in group.get("alert_rule_test", [])]
            for case in group.get("promql_expr_test", []):
                asked += [case["expr"], *(sample["labels"] for sample in case.get("exp_samples") or [])]
            text += "\n".join(asked) + "\n"
    made = {rule.get("record") or rule["alert"] for rule in rules}
    assert {name for name in made if name not in text} == set()


# Their value is 1 or absent: there is no boundary to stand on.
WITHOUT_A_BOUNDARY = {"SpecDecodeMetricsMissing", "DraftboardWatchdog"}


@pytest.mark.parametrize("word", ["exactly", "idle"])
def test_every_alert_has_cases_at_its_boundary_and_at_rest(word: str, files: dict[str, str]) -> None:
    alerts = {rule["alert"] for rule in rulefiles.rules(files) if "alert" in rule}
    named = set()
    for path in CASES:
        for group in yaml.safe_load(path.read_text())["tests"]:
            if word in group["name"]:
                named |= {case["alertname"] for case in group.get("alert_rule_test", []) if not case.get("exp_alerts")}
    assert alerts - named == (WITHOUT_A_BOUNDARY if word == "exactly" else set())


def test_every_alert_has_a_quiet_case_and_a_firing_one(files: dict[str, str]) -> None:
    quiet, firing = set(), set()
    for path in CASES:
        for group in yaml.safe_load(path.read_text())["tests"]:
            for case in group.get("alert_rule_test", []):
                (firing if case.get("exp_alerts") else quiet).add(case["alertname"])
    alerts = {rule["alert"] for rule in rulefiles.rules(files) if "alert" in rule}
    assert quiet == alerts
    assert firing == alerts
