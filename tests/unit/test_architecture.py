"""Which way imports run, and that every file can be read in one sitting."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
SOURCES = sorted((ROOT / "generator/draftboard").rglob("*.py"))


def test_imports_run_one_way_and_grafanalib_stays_behind_one_package() -> None:
    command = [
        Path(sys.executable).parent / "lint-imports",
        "--config",
        ROOT / "pyproject.toml",
        "--no-logo",
        "--no-cache",
    ]
    done = subprocess.run(command, cwd=ROOT / "generator", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_source_file_is_read_in_one_sitting(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 300
