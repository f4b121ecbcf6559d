"""What the command line loads: help and completion nothing that only a command's work needs."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parent.parent / "data/v0.32.0-ngram-load.prom"
HEAVY = (
    "numpy",
    "matplotlib",
    "grafanalib",
    "pydantic",
    "httpx",
    "jinja2",
    "rich",
    "prometheus_client",
    "statsmodels",
    "yaml",
)
SHOW = """
import json, sys
from draftboard.cli import main
try:
    main()
finally:
    print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""


OWN = {"draftboard", *(f"draftboard.{name}" for name in ("cli", "cli.shared", "durations", "errors", "project"))}
"""All of the package that `--version` loads."""
MOST = 160
"""Modules that it may load, Python's and click's own among them: 126 in Python 3.11."""


def loaded(*words: str, **environment: str) -> tuple[str, set[str]]:
    """What is printed, and which of the heavy packages are loaded."""
    printed, modules = modules_of(*words, **environment)
    return printed, {name.partition(".")[0] for name in modules} & set(HEAVY)


def modules_of(*words: str, **environment: str) -> tuple[str, set[str]]:
    """What is printed, and all that is loaded."""
    command = [sys.executable, "-c", SHOW, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | environment)
    assert done.returncode == 0, done.stderr
    return done.stdout, set(json.loads(done.stderr.splitlines()[-1]))


def completed(words: str) -> tuple[str, set[str]]:
    """What a shell is offered for the last word."""
    asked = {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split(" ")) - 1)}
    return loaded(_DRAFTBOARD_COMPLETE="bash_complete", **asked)


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_version_and_help_load_no_package_but_clicks(option: str) -> None:
    out, heavy = loaded(option)
    assert out
    assert heavy == set()


def test_the_version_loads_a_handful_of_modules() -> None:
    _, modules = modules_of("--version")
    assert {name for name in modules if name.partition(".")[0] == "draftboard"} == OWN
    assert len(modules) <= MOST


def test_a_report_of_a_saved_page_loads_nothing_that_talks_to_servers_or_writes_files() -> None:
    _, heavy = loaded("report", str(PAGE))
    assert heavy == {"pydantic", "rich"}


def test_commands_are_completed_without_loading_any() -> None:
    assert completed("draftboard re") == ("plain,report\nplain,replay\n", set())


@pytest.mark.parametrize(
    ("command", "option"),
    [
        ("report", "--window"),
        ("doctor", "--command"),
        ("compare", "--gpus"),
        ("calibrate", "--rounds"),
        ("build", "--config"),
        ("check", "--config"),
        ("signals", "--json"),
        ("replay", "--keep"),
        ("simulate", "--backfill"),
        ("drill", "--speed"),
        ("demo", "--keep"),
        ("init", "--force"),
        ("stack init", "--upgrade"),
    ],
)
def test_options_are_completed_without_loading_what_the_command_works_with(command: str, option: str) -> None:
    out, heavy = completed(f"draftboard {command} --")
    assert f"plain,{option}" in out.splitlines()
    assert heavy == set()


@pytest.mark.parametrize("command", ["sweep", "plan k"])
def test_options_with_defaults_of_their_room_load_neither_dashboards_nor_the_simulator(command: str) -> None:
    out, heavy = completed(f"draftboard {command} --")
    assert "plain,--json" in out.splitlines()
    assert not heavy & {"numpy", "grafanalib", "matplotlib"}
