"""Shared fixtures: settings, generated files, and a real Prometheus with the recorded run."""

import gc
import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cache
from pathlib import Path

import hypothesis
import pytest

from draftboard.build import render
from draftboard.lab.replay import Replay, replaying
from draftboard.rules import Group
from draftboard.settings import Settings, load

ROOT = Path(__file__).parent.parent
RECORDING = ROOT / "deploy/demo/run-v0.32.0-ngram-vs-baseline.om.xz"
OBJECTIVES = ROOT / "tests/rules/objectives.toml"
DEMO_SETTINGS = ROOT / "deploy/demo/draftboard.toml"


# Prometheus and promtool hold little here, and would use up to half of their time to collect it.
os.environ.setdefault("GOGC", "400")
# Tables in a pipe are as wide as COLUMNS says, here so wide that cells have one line. readline, which pytest imports,
# sets it for programs, past os.environ.
os.environ["COLUMNS"] = "200"

# How fast an example is depends on what else the machine does. Examples depend on the test's code alone, so that a test
# fails only for what a commit changed; `pytest --hypothesis-profile=explore` tries others.
_UNTIMED = hypothesis.settings(deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow], print_blob=True)
hypothesis.settings.register_profile("explore", _UNTIMED)
hypothesis.settings.register_profile("reproducible", _UNTIMED, derandomize=True)
hypothesis.settings.load_profile("reproducible")

Tell = Callable[[str, str], None]
"""Prints a line in the section of a title, when the tests have ended."""
_TOLD = pytest.StashKey[dict[str, list[str]]]()

SECONDS = {
    "real/test_alert_travels": 120,
    "real/test_editions_agree": 60,  # and with it all of the group demo_run
    "test_runbook_commands": 20,
    "real/test_scenarios": 12,
    "test_promtool": 10,
    "test_properties": 60,
    "real/test_notifications": 5,
    "test_simulator": 20,
    "real/": 10,
    "test_calibrate": 9,
    "test_chart": 8,
    "test_compare": 9,
    "test_doctor": 9,
    "test_settings_honoured": 9,
    "test_runbooks": 9,
    "test_simulate": 9,
}
"""Roughly, of CPU or of waiting, by a part of a file's name: the first that fits."""

APART = ("real/test_scenarios", "real/test_notifications", "test_promtool", "test_properties")
"""Files of long tests that share no costly fixture: each goes to the worker that is free."""


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest first, so that no worker is alone with one at the end; a file's tests share what they make."""
    for item in items:
        if not item.get_closest_marker("xdist_group") and not _apart(item.path):
            item.add_marker(pytest.mark.xdist_group(item.path.stem))
    items.sort(key=lambda item: -_seconds(item.path))


@cache
def _apart(path: Path) -> bool:
    return any(part in path.as_posix() for part in APART)


@cache
def _seconds(path: Path) -> int:
    return next((cost for part, cost in SECONDS.items() if part in path.as_posix()), 0)


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Of `-n auto`: one more than there are processors, as some wait for servers; long tests all compute."""
    waiting = config.getoption("markexpr") != "long" and hasattr(os, "sched_getaffinity")
    return len(os.sched_getaffinity(0)) + 1 if waiting else None


def pytest_collection_finish() -> None:
    """All modules and tests stay until the end: they need not be looked through again and again."""
    gc.freeze()


def program(name: str) -> Path:
    """The program of the environment variable PROMETHEUS, DOCKER_COMPOSE, ..., else the fetched one.

    A test that needs one which could not be fetched is skipped. In CI, `make test` fails before that.
    """
    fetched = ROOT / ".tools/bin" / name
    found = Path(os.environ.get(name.upper().replace("-", "_"), fetched))
    if not found.exists() and found.resolve() == fetched.resolve():
        pytest.skip(f"{name} is not in .tools/bin; `make tools` says why")
    return found


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print what was measured and is not asserted."""
    for title, lines in config.stash.get(_TOLD, {}).items():
        terminalreporter.section(title)
        for line in lines:
            terminalreporter.line(line)


@pytest.fixture(scope="session")
def tell(request: pytest.FixtureRequest) -> Tell:
    """Has a line printed when the tests have ended, in the section of a title."""
    return lambda title, line: request.config.stash.setdefault(_TOLD, {}).setdefault(title, []).append(line)


@pytest.fixture
def sigint() -> Iterator[None]:
    """SIGINT interrupts, for the test and the programs that it starts, as in a terminal.

    A shell without job control starts a background process, such as `pytest &`, with SIGINT ignored, and its children
    inherit that.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def settings() -> Settings:
    """The defaults, with objectives declared, without which nothing reads them."""
    return load(OBJECTIVES)


@pytest.fixture(scope="session")
def demo_settings() -> Settings:
    return load(DEMO_SETTINGS)


@pytest.fixture(scope="session")
def files(settings: Settings) -> Mapping[str, str]:
    return render(settings)


@pytest.fixture(scope="session")
def committed() -> Mapping[str, str]:
    """What the defaults build."""
    return render(Settings())


@pytest.fixture(scope="session")
def promtool() -> Path:
    return program("promtool")


@pytest.fixture(scope="session")
def demo_run(demo_settings: Settings) -> Iterator[Replay]:
    """The recorded run with the demo's short windows."""
    with replayed(RECORDING, demo_settings) as replay:
        yield replay


@pytest.fixture(scope="session")
def default_run(settings: Settings) -> Iterator[Replay]:
    """The recorded run with the windows of the committed files."""
    with replayed(RECORDING, settings) as replay:
        yield replay


def replayed(
    recording: Path, settings: Settings, *, rules: Sequence[Group] | None = None, keep_in: Path | None = None
) -> AbstractContextManager[Replay]:
    """A recording with all rules or those given, served for a `with`; data stays in `keep_in`."""
    prometheus, promtool = program("prometheus"), program("promtool")
    return replaying(recording, settings, prometheus=prometheus, promtool=promtool, keep_in=keep_in, rules=rules)
