"""Installation of a real vLLM for tests: a second run does nothing, and a failure is one line."""

import shutil
import subprocess
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from conftest import ROOT
from support.scripts import loaded


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script, on a machine with enough disk, where no command may run."""
    module = loaded("tests/scripts/install_vllm.py", monkeypatch)
    monkeypatch.setattr(module.platform, "system", lambda: "Linux")
    monkeypatch.setattr(module.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1e12))
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("it runs a command"))
    return module


def ended(
    script: ModuleType, into: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> tuple[int, str, str]:
    monkeypatch.setattr("sys.argv", ["install_vllm.py", str(into)])
    code = script.main()
    out, errors = capsys.readouterr()
    return code, out, errors


def test_a_second_run_does_nothing(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / script.DONE).write_text(script.fingerprint())
    code, out, errors = ended(script, tmp_path, monkeypatch, capsys)
    assert (code, errors) == (0, "")
    assert out == f"vLLM 0.32.0 is already in {tmp_path}\n"


def test_another_platform_is_an_error(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(script.platform, "machine", lambda: "arm64")
    code, _, errors = ended(script, tmp_path / "new", monkeypatch, capsys)
    assert code == 2
    assert errors == "install_vllm.py: the pinned build of vLLM requires Linux x86_64; this is Linux arm64\n"
    assert not (tmp_path / "new").exists()


def test_a_full_disk_is_an_error_before_the_download(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=2e9))
    code, _, errors = ended(script, tmp_path / "new", monkeypatch, capsys)
    assert code == 2
    assert errors == f"install_vllm.py: {tmp_path} has 2.0 GB free; 5 GB are required\n"


def test_a_failure_of_pip_is_reduced_to_one_line(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said = "WARNING: slow\nERROR: No matching distribution found for torch==2.13.0\n\n[notice] a newer pip\n"

    def fails(command: tuple[Any, ...], **_: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(command, 1 if "install" in command else 0, "", said)

    monkeypatch.setattr(subprocess, "run", fails)
    code, out, errors = ended(script, tmp_path, monkeypatch, capsys)
    assert (code, out) == (2, "")
    _, last = errors.splitlines()
    assert last == "install_vllm.py: python -m pip failed: ERROR: No matching distribution found for torch==2.13.0"
    assert not (tmp_path / script.DONE).exists()


def test_requirements_are_pinned_by_name_and_version_only() -> None:
    lines = (ROOT / "tests/scripts/vllm-requirements.txt").read_text().splitlines()
    pins = [line for line in lines if not line.startswith("#")]
    assert len(pins) > 100
    assert all(line.count("==") == 1 and "/" not in line for line in pins)
