"""Tools are taken where they are new enough; what cannot be had is said with the way out. No network is asked."""

import re
import stat
import subprocess
import sys
from pathlib import Path

from conftest import ROOT

SCRIPT = ROOT / "deploy/tools/fetch.py"
BINARIES = {"prometheus": "3.5.0", "promtool": "3.5.0", "alertmanager": "0.33.1", "amtool": "0.33.1"}


def pretended(folder: Path, versions: dict[str, str]) -> None:
    (folder / "bin").mkdir()
    for name, version in versions.items():
        program = folder / "bin" / name
        program.write_text(f"#!/bin/sh\necho {name}, version {version}\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)


def fetch(folder: Path, *tools: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), *tools, "--into", str(folder)]
    # No apt-get here, so that nothing is downloaded either.
    return subprocess.run(command, env={"PATH": "/nowhere"}, capture_output=True, text=True, timeout=60, check=False)


def test_several_that_are_there_are_left_as_they_are(tmp_path: Path) -> None:
    pretended(tmp_path, {**BINARIES, "docker-compose": "2.40.3"})
    done = fetch(tmp_path, "prometheus", "alertmanager", "docker-compose")
    assert done.returncode == 0, done.stderr
    assert re.findall(r"(?m)^(\S+) (\S+) is already in", done.stdout) == [
        ("prometheus", "3.5.0"),
        ("alertmanager", "0.33.1"),
        ("docker-compose", "2.40.3"),
    ]


def test_one_that_is_too_old_and_cannot_be_had_names_the_variable_to_set(tmp_path: Path) -> None:
    pretended(tmp_path, {"docker-compose": "2.23.0"})
    done = fetch(tmp_path, "docker-compose")
    assert done.returncode == 2
    assert "no sum of it is known well enough" in done.stderr
    assert done.stderr.endswith("Set DOCKER_COMPOSE to existing binaries of 2.24 or newer.\n")


def test_sums_are_whole() -> None:
    sums = re.findall(r'"(?:linux|darwin)-\w+": "([^"]*)"', SCRIPT.read_text())
    assert len(sums) == len(set(sums)) == 6
    assert all(re.fullmatch("[0-9a-f]{64}", text) for text in sums)
