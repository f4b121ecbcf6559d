"""The wheel, built from what Git tracks, and installed in an environment of its own."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT
from scripts.needs import needs
from support.wheels import IGNORED, PIP, Run, built, tracked


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built in a checkout that is in use."""
    source = tmp_path_factory.mktemp("checkout")
    for path in tracked():
        (source / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, source / path)
    for path in IGNORED:
        (source / path).parent.mkdir(parents=True, exist_ok=True)
        (source / path).write_text("of the user\n")
    return built(source, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment that holds the wheel with its extra `lab`, and nothing else."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    install = [*PIP, f"--python={folder / 'bin/python'}", "install", "--no-compile"]
    subprocess.run([*install, "--constraint", ROOT / "constraints.txt", *needs("lab")], check=True)
    subprocess.run([*install, "--no-deps", wheel], check=True)
    return folder


@pytest.fixture
def run(environment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a program in an empty folder, the current one, which knows nothing of the checkout."""
    monkeypatch.chdir(tmp_path)
    kept = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    clean = {**kept, "PATH": f"{environment / 'bin'}:/usr/local/bin:/usr/bin:/bin", "HOME": str(tmp_path)}

    def runs(*words: str | Path, cwd: Path = tmp_path, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(word) for word in words],
            cwd=cwd,
            env=clean | variables,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    return runs
