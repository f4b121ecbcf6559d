"""Which way imports run, that a new package is held to it too, and that the linter reads every module."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PLACED = ('"errors",', '"errors | hello",')
"""The lowest layer, with the new package in it."""


def lint(configuration: Path, sources: Path) -> subprocess.CompletedProcess[str]:
    """Check the import contracts of a configuration on the package below a folder."""
    linter = str(Path(sys.executable).parent / "lint-imports")
    command = [linter, "--config", str(configuration), "--no-logo", "--no-cache"]
    return subprocess.run(command, cwd=sources, capture_output=True, text=True, check=False)


def lint_with_new_package(folder: Path, source: str, *, placed: bool) -> subprocess.CompletedProcess[str]:
    """The same on a copy of the package with a new package `draftboard.hello`."""
    shutil.copytree(ROOT / "generator/draftboard", folder / "draftboard", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "draftboard/hello").mkdir()
    (folder / "draftboard/hello/__init__.py").write_text(source)
    text = (ROOT / "pyproject.toml").read_text()
    assert PLACED[0] in text
    (folder / "pyproject.toml").write_text(text.replace(*PLACED) if placed else text)
    return lint(folder / "pyproject.toml", folder)


def test_imports_keep_all_contracts() -> None:
    done = lint(ROOT / "pyproject.toml", ROOT / "generator")
    assert done.returncode == 0, done.stdout


def test_a_new_package_in_a_layer_keeps_all_contracts(tmp_path: Path) -> None:
    done = lint_with_new_package(tmp_path, "", placed=True)
    assert done.returncode == 0, done.stdout


def test_a_new_package_outside_the_layers_is_refused(tmp_path: Path) -> None:
    done = lint_with_new_package(tmp_path, "", placed=False)
    assert done.returncode == 1
    assert "data flows one way BROKEN" in done.stdout
    assert "hello" in done.stdout


@pytest.mark.parametrize(
    ("imported", "contract"),
    [
        ("grafanalib", "grafanalib stays behind one package"),
        ("grafanalib.core", "grafanalib stays behind one package"),
        ("numpy", "numpy is needed only by the simulator, and statistics are an extra"),
        ("draftboard.cli", "data flows one way"),
    ],
)
def test_a_new_package_may_not_import(tmp_path: Path, imported: str, contract: str) -> None:
    done = lint_with_new_package(tmp_path, f"import {imported}\n", placed=True)
    assert done.returncode == 1
    assert [line.partition(" BROKEN")[0] for line in done.stdout.splitlines() if " BROKEN" in line] == [contract]
    assert f"draftboard.hello -> {imported.partition('.core')[0]}" in done.stdout


def test_the_linter_reads_every_module() -> None:
    command: list[str | Path] = [Path(sys.executable).parent / "ruff", "check", "--show-files", "--no-cache", "."]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    paths = (path for folder in ("generator", "tests", "deploy") for path in (ROOT / folder).rglob("*.py"))
    modules = {str(path) for path in paths if "node_modules" not in path.parts}  # what npm installs is not ours
    assert modules - set(done.stdout.splitlines()) == set()
