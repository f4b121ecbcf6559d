"""What runs on GitHub is pinned, and a release is published only of files that were built and tested under its tag."""

import re
from typing import Any

import pytest
import yaml

from conftest import ROOT

WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


@pytest.fixture(scope="module")
def jobs() -> dict[str, Any]:
    return dict(yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text())["jobs"])


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_every_action_is_pinned_to_a_commit_and_names_its_release(path: Any) -> None:
    used = re.findall(r"(?m)^ *- uses: (.+)$", path.read_text())
    assert used
    assert [one for one in used if not re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", one)] == []


def test_each_step_to_a_release_waits_for_the_one_before(jobs: dict[str, Any]) -> None:
    assert {name: job.get("needs") for name, job in jobs.items()} == {
        "test": None,
        "build": "test",
        "attest": "build",
        "pypi": "attest",
        "files": "pypi",
        "chart": "files",
        "image": "files",
    }
    assert "make test" in [step.get("run") for step in jobs["test"]["steps"]]
    commands = [step["run"] for step in jobs["build"]["steps"] if "run" in step]
    assert commands[0] == 'make dist "TAG=$GITHUB_REF_NAME"'
    assert commands[-1] == "make test-dist"
