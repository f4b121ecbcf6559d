"""Run the unit tests with the lowest or the highest versions that pyproject.toml allows.

Usage: python tests/scripts/floors.py lowest|highest PYTHON
"""

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
RESOLUTIONS = {"lowest": "lowest-direct", "highest": "highest"}


def main() -> int:
    """Install, print the versions, run the tests."""
    which, python = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        environment, versions = Path(folder, "environment"), Path(folder, "versions.txt")
        options = ("--python", python, "--resolution", RESOLUTIONS[which])
        extras = ("--all-extras", "--group", "dev", "--output-file", versions)
        uv("pip", "compile", "--quiet", *options, *extras, "pyproject.toml")
        sys.stdout.write(versions.read_text())
        sys.stdout.flush()
        uv("venv", "--quiet", "--python", python, environment)
        into = ("--quiet", "--python", environment / "bin/python")
        uv("pip", "install", *into, "--requirement", versions)
        uv("pip", "install", *into, "--no-deps", "--editable", ".")
        tests = ("-n", "auto", "--dist", "loadgroup", "-m", "not prometheus and not long", "tests/unit")
        return subprocess.run([environment / "bin/pytest", *tests], cwd=ROOT, check=False).returncode


def uv(*words: str | Path) -> None:
    """Run uv in the repository."""
    subprocess.run(["uv", *words], cwd=ROOT, check=True)


if __name__ == "__main__":
    sys.exit(main())
