"""Two real servers, each started when a test first wants it: one that speculates, one that does not."""

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import ROOT
from draftboard.settings import Settings, load
from support.vllm_server import PER_REQUEST, SPECULATION, Vllm, serving
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
    path = Path(os.environ.get("VLLM", ROOT / ".venv-vllm/bin/vllm"))
    assert path.is_file(), f"{path} is not there: run `make test-vllm`"
    return path


@pytest.fixture(scope="session")
def tiny_model(program: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model, made by the Python that serves it."""
    folder = tmp_path_factory.mktemp("model")
    script = Path(__file__).parents[1] / "support/tiny_model.py"
    done = subprocess.run([program.parent / "python", script, folder], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="session")
def vllm(
    program: Path, tiny_model: Path, stack_settings: Settings, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Vllm]:
    """It speculates, and tells in its answers how well; it has had some traffic."""
    with serving(
        tmp_path_factory.mktemp("vllm"),
        program=program,
        model=tiny_model,
        settings=stack_settings,
        speculation=SPECULATION,
        words=PER_REQUEST,
    ) as server:
        send(server)
        yield server


@pytest.fixture(scope="session")
def plain_vllm(
    program: Path, tiny_model: Path, stack_settings: Settings, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Vllm]:
    """It does not speculate; it has had the same traffic."""
    folder = tmp_path_factory.mktemp("plain")
    with serving(folder, program=program, model=tiny_model, settings=stack_settings) as server:
        send(server)
        yield server
