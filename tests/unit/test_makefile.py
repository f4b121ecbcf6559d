"""What `make` does with settings of the user's, with missing secrets, and with two stacks on one machine."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import ROOT


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with the Makefile and a `docker` that tells how it was called."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / "deploy/secrets").mkdir(parents=True)
    docker = tmp_path / "docker"
    docker.write_text('#!/bin/sh\n[ "$2" = version ] || echo "told: ${BUILD_FOLDER-} $COMPOSE_PROFILES $*"\n')
    docker.chmod(0o755)
    return tmp_path


def make(project: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["make", "--no-print-directory", *words],
        cwd=project,
        env={"PATH": f"{project}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def told(done: subprocess.CompletedProcess[str]) -> list[str]:
    assert done.returncode == 0, done.stderr
    return [line.removeprefix("told: ") for line in done.stdout.splitlines() if line.startswith("told: ")]


def planned(project: Path, *words: str) -> str:
    """The command that would be run, were the virtual environment there."""
    done = make(project, "--dry-run", "--old-file=.venv/.runtime", *words)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def heard(project: Path, *, built: bool = True, env: str = "BUILD_FOLDER=built\n") -> None:
    """Settings of the user's, and the steps that make the stack read them."""
    settings, rules = project / "deploy/my.toml", project / "deploy/built/alerts/alerting.rules.yaml"
    settings.touch()
    (project / "deploy/.env").write_text(env)
    rules.parent.mkdir(parents=True)
    rules.touch()
    later = settings.stat().st_mtime + (1 if built else -1)
    os.utime(rules, (later, later))


@pytest.mark.parametrize("verb", ["build", "check"])
def test_without_settings_of_ones_own_the_committed_files_are_built(project: Path, verb: str) -> None:
    assert planned(project, verb) == f".venv/bin/draftboard {verb} --config deploy/draftboard.toml --out ."


@pytest.mark.parametrize("verb", ["build", "check"])
def test_settings_of_ones_own_are_built_where_git_sees_nothing(project: Path, verb: str) -> None:
    heard(project)
    assert planned(project, verb) == f".venv/bin/draftboard {verb} --config deploy/my.toml --out deploy/built"
    other = planned(project, verb, "CONFIG=other.toml")
    assert other == f".venv/bin/draftboard {verb} --config other.toml --out deploy/built"


def test_the_demo_writes_nothing_into_the_tree(project: Path) -> None:
    programs = [f"{name}=there" for name in ("PROMETHEUS", "PROMTOOL", "ALERTMANAGER", "AMTOOL")]
    commands = planned(project, "--old-file=.venv/.demo", *programs, "demo")
    assert "draftboard replay" in commands
    assert "draftboard build" not in commands


@pytest.mark.parametrize("folder", ["built", "./built/", "'built'", '"built"  '])
def test_the_stack_starts_with_the_users_settings_once_they_are_built_and_mounted(project: Path, folder: str) -> None:
    heard(project, env=f"MODEL=a\nBUILD_FOLDER={folder}\n")
    [line] = told(make(project, "up"))
    assert line.endswith("--file deploy/docker-compose.yml up --detach")


@pytest.mark.parametrize(
    ("built", "env", "says"),
    [
        (True, "#BUILD_FOLDER=built\n", "write BUILD_FOLDER=built into deploy/.env"),
        (False, "BUILD_FOLDER=built\n", "Run: make build"),
    ],
)
def test_the_stack_does_not_start_with_settings_that_nobody_reads(
    project: Path, built: bool, env: str, says: str
) -> None:
    heard(project, built=built, env=env)
    done = make(project, "up")
    assert done.returncode == 2
    assert says in done.stderr
    assert "told" not in done.stdout


@pytest.mark.parametrize("target", ["up", "up-demo"])
def test_missing_secrets_are_one_line_that_says_what_to_do(project: Path, target: str) -> None:
    (project / "deploy/secrets").rmdir()
    (project / "deploy/.env").write_text("STACK_UID=1000\n")
    done = make(project, target)
    assert done.returncode == 2
    assert done.stderr.splitlines()[0] == "deploy/secrets is missing. Run: make secrets"
    assert "told" not in done.stdout


def test_the_demo_shares_neither_data_nor_receivers_with_a_real_installation(project: Path) -> None:
    heard(project)
    [line] = told(make(project, "up-demo"))
    assert line.startswith(".. demo compose ")
    assert " --project-name draftboard-demo up " in line


def test_down_stops_both(project: Path) -> None:
    lines = told(make(project, "down"))
    assert ["--project-name draftboard-demo" in line for line in lines] == [False, True]
    assert all(line.endswith(" down") and " * compose " in line for line in lines)
