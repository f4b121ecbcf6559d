"""Shared fixtures: settings, generated files, and a real Prometheus with the recorded run."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from draftboard.build import render
from draftboard.lab.replay import Replay, replaying
from draftboard.settings import Settings, load

ROOT = Path(__file__).parent.parent
RECORDING = ROOT / "deploy/demo/run-v0.32.0-ngram-vs-baseline.om.gz"
DEMO_SETTINGS = ROOT / "deploy/demo/draftboard.toml"


def program(name: str) -> Path:
    """The program of the environment variable PROMETHEUS, DOCKER_COMPOSE, ..., else the fetched one."""
    return Path(os.environ.get(name.upper().replace("-", "_"), ROOT / ".tools/bin" / name))


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
    return Settings()


@pytest.fixture(scope="session")
def demo_settings() -> Settings:
    return load(DEMO_SETTINGS)


@pytest.fixture(scope="session")
def files(settings: Settings) -> dict[str, str]:
    return render(settings)


@pytest.fixture(scope="session")
def promtool() -> Path:
    return program("promtool")


@pytest.fixture(scope="session")
def demo_run(demo_settings: Settings) -> Iterator[Replay]:
    """The recorded run with the demo's short windows."""
    with _replay(demo_settings) as replay:
        yield replay


@pytest.fixture(scope="session")
def default_run(settings: Settings) -> Iterator[Replay]:
    """The recorded run with the settings of the committed files."""
    with _replay(settings) as replay:
        yield replay


def _replay(settings: Settings):  # noqa: ANN202  (a context manager)
    return replaying(RECORDING, settings, prometheus=program("prometheus"), promtool=program("promtool"))
