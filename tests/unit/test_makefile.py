"""What `make` does with user settings, with missing secrets, and with two stacks on one machine."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import ROOT


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with the Makefile and a `docker` that prints how it was called."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / "deploy/secrets").mkdir(parents=True)
    docker = tmp_path / "docker"
    docker.write_text('#!/bin/sh\n[ "$2" = version ] || echo "called: ${BUILD_FOLDER-} $COMPOSE_PROFILES $*"\n')
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


def docker_calls(done: subprocess.CompletedProcess[str]) -> list[str]:
    assert done.returncode == 0, done.stderr
    return [line.removeprefix("called: ") for line in done.stdout.splitlines() if line.startswith("called: ")]


def planned(project: Path, *words: str) -> str:
    """The command that would run if the virtual environment existed."""
    done = make(project, "--dry-run", "--old-file=.venv/.runtime", *words)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def user_settings(project: Path, *, built: bool = True, env: str = "BUILD_FOLDER=built\n") -> None:
    """Write user settings and complete the steps that the stack needs to read them."""
    settings, rules = project / "deploy/my.toml", project / "deploy/built/alerts/alerting.rules.yaml"
    settings.touch()
    (project / "deploy/.env").write_text(env)
    rules.parent.mkdir(parents=True)
    rules.touch()
    later = settings.stat().st_mtime + (1 if built else -1)
    os.utime(rules, (later, later))


@pytest.mark.parametrize("verb", ["build", "check"])
def test_without_user_settings_the_committed_files_are_built(project: Path, verb: str) -> None:
    assert planned(project, verb) == f".venv/bin/draftboard {verb} --config deploy/draftboard.toml --out ."


@pytest.mark.parametrize("verb", ["build", "check"])
def test_user_settings_are_built_into_a_folder_that_git_ignores(project: Path, verb: str) -> None:
    user_settings(project)
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
    user_settings(project, env=f"MODEL=a\nBUILD_FOLDER={folder}\n")
    [line] = docker_calls(make(project, "up"))
    assert line.endswith("--file deploy/docker-compose.yml up --detach")


@pytest.mark.parametrize(
    ("built", "env", "says"),
    [
        (True, "#BUILD_FOLDER=built\n", "deploy/built is not mounted. Add BUILD_FOLDER=built to deploy/.env"),
        (False, "BUILD_FOLDER=built\n", "Run: make build"),
    ],
)
def test_the_stack_does_not_start_with_user_settings_that_are_not_built_or_not_mounted(
    project: Path, built: bool, env: str, says: str
) -> None:
    user_settings(project, built=built, env=env)
    done = make(project, "up")
    assert done.returncode == 2
    assert says in done.stderr
    assert "called" not in done.stdout


@pytest.mark.parametrize("target", ["up", "up-demo"])
def test_missing_secrets_are_one_line_with_the_fix(project: Path, target: str) -> None:
    (project / "deploy/secrets").rmdir()
    (project / "deploy/.env").write_text("STACK_UID=1000\n")
    done = make(project, target)
    assert done.returncode == 2
    assert done.stderr.splitlines()[0] == "deploy/secrets is missing. Run: make secrets"
    assert "called" not in done.stdout


def test_the_demo_shares_neither_data_nor_receivers_with_a_real_installation(project: Path) -> None:
    user_settings(project)
    [line] = docker_calls(make(project, "up-demo"))
    assert line.startswith(".. demo compose ")
    assert " --project-name draftboard-demo up " in line


def test_a_reload_signals_both_once_their_configuration_is_valid(project: Path) -> None:
    user_settings(project)
    check_rules, check_routes, signal = docker_calls(make(project, "reload"))
    assert "exec -T prometheus promtool check config " in check_rules
    assert "exec -T alertmanager amtool check-config " in check_routes
    assert signal.endswith(" kill --signal SIGHUP prometheus alertmanager")


def test_an_invalid_configuration_is_not_reloaded(project: Path) -> None:
    docker = project / "docker"
    docker.write_text(docker.read_text() + 'case "$*" in *" amtool "*) exit 1 ;; esac\n')
    done = make(project, "reload")
    assert done.returncode != 0
    assert "amtool" in done.stdout
    assert "SIGHUP" not in "".join(line for line in done.stdout.splitlines() if line.startswith("called: "))


def test_a_reload_needs_settings_that_are_built(project: Path) -> None:
    user_settings(project, built=False)
    done = make(project, "reload")
    assert done.returncode == 2
    assert "Run: make build" in done.stderr


def test_down_stops_both(project: Path) -> None:
    lines = docker_calls(make(project, "down"))
    assert ["--project-name draftboard-demo" in line for line in lines] == [False, True]
    assert all(line.endswith(" down") and " * compose " in line for line in lines)


def test_the_list_of_targets_fits_a_terminal_of_80_columns(project: Path) -> None:
    lines = make(project, "help").stdout.splitlines()
    assert len(lines) > 15
    assert max(map(len, lines)) <= 80


@pytest.mark.xdist_group("together")
def test_of_all_tests_those_of_a_group_share_a_worker_and_what_it_makes(request: pytest.FixtureRequest) -> None:
    """Some versions of pytest and pytest-xdist let groups fall apart without a word: pytest-dev/pytest-xdist#1386."""
    if not getattr(request.config.option, "loadgroup", False):
        pytest.skip("no groups without --dist loadgroup")
    assert request.node.nodeid.endswith("@together")
