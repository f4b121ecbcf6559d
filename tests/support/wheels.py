"""What Git tracks, and the wheel of a folder."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from conftest import ROOT

PIP = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")
IGNORED = ("deploy/.env", "deploy/my.toml", "deploy/secrets/vllm_api_key", "deploy/built/alerts/alerting.rules.yaml")
"""Files of users in a checkout, secrets among them."""
Run = Callable[..., subprocess.CompletedProcess[str]]


def tracked(under: str = ".") -> list[str]:
    """Paths of files below a folder of the repository."""
    listed = subprocess.run(["git", "ls-files", "-z", under], cwd=ROOT, capture_output=True, text=True, check=True)
    return listed.stdout.rstrip("\0").split("\0")


def built(source: Path, into: Path) -> Path:
    """The wheel of a source folder."""
    subprocess.run([*PIP, "wheel", "--no-deps", "--wheel-dir", into, source], check=True)
    (wheel,) = into.glob("*.whl")
    return wheel
