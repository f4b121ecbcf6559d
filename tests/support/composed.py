"""What Docker Compose makes of the stack: the real program resolves anchors, profiles and variables."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from conftest import ROOT, program

DEPLOY = ROOT / "deploy"
FILE = DEPLOY / "docker-compose.yml"
EXAMPLES = sorted((DEPLOY / "examples").glob("*.env"))
PROFILES = (
    "gpu",
    "demo",
    "monitoring",
    "gpu,baseline",
    "gpu,load",
    "gpu,baseline,load",
    "monitoring,exporters",
    "gpu,scale",
)
EVERY = "gpu,demo,baseline,load,scale"
OWNER = {"STACK_UID": "1000", "STACK_GID": "1000"}
SHELL = {name: os.environ[name] for name in ("PATH", "HOME", "DOCKER_CONFIG") if name in os.environ}
"""What Docker needs to find Compose. What else the shell of a developer holds is no part of a test."""


def compose(*arguments: str, env_files: tuple[Path, ...], **variables: str) -> subprocess.CompletedProcess[str]:
    """Run it with these variables alone."""
    files = [word for file in env_files for word in ("--env-file", str(file))]
    return subprocess.run(
        [str(program("docker-compose")), "--file", str(FILE), *files, *arguments],
        env={**SHELL, **variables},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def configured(profiles: str, *examples: Path, **variables: str) -> dict[str, Any]:
    """The whole configuration, as it would be started."""
    done = compose(
        "config",
        "--format=json",
        env_files=(DEPLOY / ".env.example", *examples),
        COMPOSE_PROFILES=profiles,
        **{**OWNER, **variables},
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told
