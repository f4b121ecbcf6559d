"""`action.yml` of a fresh clone: its steps run from a clean folder, as on GitHub's runner."""

import subprocess
from pathlib import Path

import pytest
import yaml

from conftest import ROOT
from support import composite

pytestmark = pytest.mark.wheel
DATA = ROOT / "tests/data"
SPECULATION = '{"method": "ngram", "num_speculative_tokens": 3, "prompt_lookup_max": 3}'
COMPOSE = f"""\
services:
  vllm:
    image: vllm/vllm-openai:v0.33.0
    command: [--model, M, --speculative-config, '{SPECULATION}']
"""
VALUES = """\
servingEngineSpec:
  modelSpec:
    - name: m
      repository: vllm/vllm-openai
      vllmConfig: {extraArgs: [--model, M, --speculative-model=x]}
"""


@pytest.fixture(scope="module")
def action(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The action's folder after its first step."""
    folder = tmp_path_factory.mktemp("action") / "clone"
    subprocess.run(["git", "clone", "--quiet", ROOT, folder], check=True, timeout=120)
    install, _ = _steps(folder)
    known, workspace = {"github.action_path": str(folder)}, tmp_path_factory.mktemp("workspace")
    done = composite.run(install, known, workspace, tmp_path_factory.mktemp("runner"), {})
    assert done.code == 0, done.errors
    assert not [*workspace.iterdir()]
    return folder


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """The user's checkout: a good Compose file, and Helm values with a flag that is gone."""
    folder = tmp_path / "workspace"
    folder.mkdir()
    (folder / "compose.yaml").write_text(COMPOSE)
    (folder / "values.yaml").write_text(VALUES)
    return folder


def _steps(folder: Path) -> list[dict[str, object]]:
    steps: list[dict[str, object]] = yaml.safe_load((folder / "action.yml").read_text())["runs"]["steps"]
    return steps


def _check(action: Path, workspace: Path, **inputs: str) -> composite.Ran:
    known = composite.values(yaml.safe_load((action / "action.yml").read_text()), action, inputs)
    return composite.run(_steps(action)[1], known, workspace, workspace.parent, {})


@pytest.mark.parametrize(
    ("files", "code", "printed"),
    [("compose.yaml", 0, "all well"), ("compose.yaml\nvalues.yaml", 1, "--speculative-model")],
)
def test_doctor_passes_on_a_good_file_and_fails_on_a_dead_flag(
    action: Path, workspace: Path, files: str, code: int, printed: str
) -> None:
    ran = _check(action, workspace, check="doctor", files=files)
    assert ran.code == code, ran
    assert printed in ran.summary
    assert ran.summary == ran.log


@pytest.mark.parametrize(("speedup", "code", "annotation"), [("", 0, "::notice"), ("3", 1, "::error")])
def test_compare_is_a_gate_with_annotations_and_junit(
    action: Path, workspace: Path, speedup: str, code: int, annotation: str
) -> None:
    pages = [f"--{end}={DATA}/v0.32.0-ngram-pair-{end}.prom" for end in ("before", "after")]
    command = [str(action / ".venv/bin/draftboard"), "report", *pages, "--window=30s", "--method=ngram", "--json"]
    for name in ("plain.json", "eagle.json"):
        with (workspace / name).open("w") as out:
            subprocess.run(command, stdout=out, check=True, timeout=120)
    sides = {"baseline": "plain.json", "candidate": "eagle.json", "junit": "gates.xml"}
    ran = _check(action, workspace, check="compare", max_drop_pp="5", min_speedup=speedup, **sides)
    assert ran.code == code, ran
    assert annotation in ran.errors
    assert "Verdict" in ran.summary
    assert "<testcase" in (workspace / "gates.xml").read_text()
