"""Two real servers, each started when a test first wants it: one that speculates, one that does not.

Others are of one module, and end with it.
"""

import signal
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from conftest import ROOT, Tell
from draftboard.settings import Settings, load
from support.measured import Measure, Measured, measured
from support.vllm_server import PER_REQUEST, SPECULATION, Start, Started, Vllm, installed_program, serving
from support.vllm_traffic import send

STACK_SETTINGS = ROOT / "deploy/draftboard.toml"


@pytest.fixture(scope="session", autouse=True)
def orderly_end() -> None:
    """Whoever ends the tests ends the servers: as on Ctrl-C, so on SIGTERM."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)


@pytest.fixture(scope="session")
def stack_settings() -> Settings:
    """Those of the compose stack, with its finer histograms."""
    return load(STACK_SETTINGS)


@pytest.fixture(scope="session")
def program() -> Path:
    """VLLM, or what `make test-vllm` installs."""
    return installed_program("test-vllm")


@pytest.fixture(scope="session")
def models(program: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of the model and its drafters, made by the Python that serves them."""
    folder = tmp_path_factory.mktemp("models")
    script = Path(__file__).parents[1] / "support/tiny_model.py"
    done = subprocess.run([program.parent / "python", script, folder], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="session")
def tiny_model(models: Path) -> Path:
    """The model."""
    return models / "target"


@pytest.fixture(scope="session")
def start(program: Path, tiny_model: Path, stack_settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Start:
    """Starts a server of the model, with options of its own, for the time of a `with`."""

    def starting(
        name: str,
        speculation: str = "",
        words: str = "",
        port: int | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> Started:
        return serving(
            tmp_path_factory.mktemp(name),
            program=program,
            model=tiny_model,
            settings=stack_settings,
            speculation=speculation,
            words=words,
            port=port,
            variables=variables,
        )

    return starting


@pytest.fixture(scope="session")
def vllm(start: Start) -> Iterator[Vllm]:
    """It speculates, and tells in its answers how well; it has had some traffic."""
    with start("vllm", SPECULATION, PER_REQUEST) as server:
        send(server)
        yield server


@pytest.fixture(scope="session")
def plain_vllm(start: Start) -> Iterator[Vllm]:
    """It does not speculate; it has had the same traffic."""
    with start("plain") as server:
        send(server)
        yield server


@pytest.fixture(scope="session")
def measure(
    plain_vllm: Vllm, stack_settings: Settings, tell: Tell, tmp_path_factory: pytest.TempPathFactory
) -> Measure:
    """Measures the speedup of a server that drafts in a certain way; it is told when the tests have ended."""

    def measuring(drafting: Vllm, method: str) -> Measured:
        found = measured(drafting, plain_vllm, tmp_path_factory.mktemp("measured"), stack_settings, method)
        tell("speedup: measured by time per output token, and expected", f"{method}: {found}")
        return found

    return measuring
