"""`action.yml` and `.pre-commit-hooks.yaml`: the step runs in a shell, as on GitHub."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT
from support import composite
from support.rulefiles import loaded

ACTION = loaded((ROOT / "action.yml").read_text())
INSTALL, CHECK = ACTION["runs"]["steps"]
PAGE = ROOT / "tests/data/v0.32.0-ngram-idle.prom"
GOOD = 'vllm serve M --speculative-config \'{"method": "ngram", "num_speculative_tokens": 3, "prompt_lookup_max": 3}\''


def step(tmp_path: Path, **inputs: str) -> tuple[int, str, str, str]:
    """Exit code, log, errors and job summary of the step with these inputs, the others at their defaults."""
    program = {"DRAFTBOARD": str(Path(sys.executable).parent / "draftboard")}
    ran = composite.run(CHECK, composite.values(ACTION, ROOT, inputs), tmp_path, tmp_path, program)
    return ran.code, ran.log, ran.errors, ran.summary


def test_every_input_reaches_the_step_and_none_stands_in_its_script() -> None:
    read = set(re.findall(r"inputs\.([\w-]+)", " ".join(CHECK["env"].values())))
    assert read == set(ACTION["inputs"])
    assert "${{" not in CHECK["run"] + INSTALL["run"]


def test_a_good_command_line_passes_and_the_summary_has_it(tmp_path: Path) -> None:
    code, log, errors, summary = step(tmp_path, check="doctor", command=GOOD, vllm_version="0.32.0")
    assert (code, errors) == (0, "")
    assert summary == log
    assert "all well" in summary or "note" in summary


def test_a_dead_flag_in_one_of_several_files_fails(tmp_path: Path) -> None:
    good, dead = tmp_path / "a compose.yaml", tmp_path / "b.yaml"
    good.write_text("services: {}\n")
    dead.write_text("services:\n  v:\n    image: vllm/vllm-openai\n    command: --model M --speculative-model=x\n")
    code, _, _, summary = step(tmp_path, check="doctor", files=f"{good}\n{dead}\n")
    assert code == 1
    assert "services.v" in summary


@pytest.mark.parametrize(
    ("inputs", "hint"),
    [
        ({"check": "report"}, "neither doctor nor compare"),
        ({"check": "doctor"}, "nothing to examine"),
        ({"check": "doctor", "files": "--help"}, "--help"),
        ({"check": "compare"}, ""),
        ({"check": "compare", "baseline": "none.json", "candidate": "none.json"}, "none.json"),
        ({"check": "doctor", "command": GOOD, "config": "none.toml"}, "none.toml"),
        ({"check": "doctor", "command": GOOD, "token_file": "none"}, "--token-file"),
        ({"check": "doctor", "command": "x; touch $(pwd)/owned `touch owned`"}, "does not start a vLLM server"),
    ],
)
def test_wrong_input_is_exit_code_2_and_says_which(tmp_path: Path, inputs: dict[str, str], hint: str) -> None:
    code, _, errors, _ = step(tmp_path, **inputs)
    assert code == 2
    assert hint in errors
    assert not [*tmp_path.glob("owned*")]


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The report of a pair of pages, saved twice."""
    data, folder = ROOT / "tests/data", tmp_path_factory.mktemp("reports")
    pages = [f"--{end}={data}/v0.32.0-ngram-pair-{end}.prom" for end in ("before", "after")]
    command = [sys.executable, "-m", "draftboard", "report", *pages, "--window=30s", "--method=ngram", "--json"]
    text = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300).stdout
    both = folder / "a.json", folder / "b.json"
    for path in both:
        path.write_text(text)
    return both


def test_a_gate_writes_annotations_junit_and_the_summary(tmp_path: Path, reports: tuple[Path, Path]) -> None:
    baseline, candidate = map(str, reports)
    junit = tmp_path / "gates.xml"
    given: dict[str, Any] = {"baseline": baseline, "candidate": candidate, "junit": str(junit)}
    code, _, errors, summary = step(tmp_path, check="compare", max_drop_pp="5", min_speedup="3", **given)
    assert code == 1
    assert "::notice" in errors
    assert "::error" in errors
    assert "<testcase" in junit.read_text()
    assert "Verdict" in summary


def test_whole_intervals_are_an_input(tmp_path: Path, reports: tuple[Path, Path]) -> None:
    baseline, candidate = map(str, reports)
    given = {"baseline": baseline, "candidate": candidate, "max_drop_pp": "5", "whole_interval": "true"}
    code, _, errors, _ = step(tmp_path, check="compare", **given)
    assert code == 1  # Two pages have no interval: the gate cannot be judged.
    assert "::error" in errors


def test_hooks_are_commands_of_the_package() -> None:
    doctor, check = loaded((ROOT / ".pre-commit-hooks.yaml").read_text())
    named = re.compile(doctor["files"])
    assert all(named.search(name) for name in ("docker-compose.yml", "chart/values.yaml", "k8s/vllm.yaml"))
    assert not named.search("src/settings.yaml")
    assert check["pass_filenames"] is False
