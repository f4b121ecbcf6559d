"""Steps of a composite action of GitHub, run as its runner does: a shell, inputs, and the files that a step writes."""

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_EXPRESSION = re.compile(r"\$\{\{ (\S+) \}\}")
_FILES = ("GITHUB_ENV", "GITHUB_OUTPUT", "GITHUB_PATH", "GITHUB_STEP_SUMMARY")


@dataclass(frozen=True)
class Ran:
    """What a step left."""

    code: int
    log: str
    errors: str
    summary: str


def run(
    step: Mapping[str, Any], known: Mapping[str, str], workspace: Path, temporary: Path, program: Mapping[str, str]
) -> Ran:
    """Run a step in a workspace; `known` are the values of expressions, `program` variables in place of the step's."""
    variables = {name: _EXPRESSION.sub(lambda found: known[found[1]], text) for name, text in step["env"].items()}
    files = {name: temporary / name.lower() for name in _FILES}
    for file in files.values():
        file.write_text("")
    runner: dict[str, str | Path] = {
        "CI": "true",
        "GITHUB_ACTIONS": "true",
        "GITHUB_ACTION_PATH": known["github.action_path"],
        "GITHUB_WORKSPACE": workspace,
        "RUNNER_TEMP": temporary,
        **files,
    }
    done = subprocess.run(
        # GitHub's own call of `shell: bash`.
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
        cwd=workspace,
        env={**os.environ, **runner, **variables, **program},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    return Ran(done.returncode, done.stdout, done.stderr, files["GITHUB_STEP_SUMMARY"].read_text())


def values(action: Mapping[str, Any], path: Path, inputs: Mapping[str, str]) -> dict[str, str]:
    """What expressions of an action at a path stand for: these inputs, the others at their defaults."""
    defaults = {name: one.get("default", "") for name, one in action["inputs"].items()}
    given = {name.replace("_", "-"): text for name, text in inputs.items()}
    return {"github.action_path": str(path)} | {f"inputs.{name}": text for name, text in (defaults | given).items()}
