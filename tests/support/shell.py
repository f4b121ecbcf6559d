"""Commands as somebody types them into a shell, whose PATH has the programs."""

import os
import shlex
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from conftest import ROOT, program

Shell = Mapping[str, str]


def shell(folder: Path, programs: Iterable[str] = (), **scripts: str) -> Shell:
    """An environment with `draftboard`, the programs, and scripts of one line, by name; the folder holds them."""
    for name in programs:
        (folder / name).symlink_to(program(name).resolve())
    for name, line in {"draftboard": f"exec {shlex.quote(sys.executable)} -m draftboard", **scripts}.items():
        (folder / name).write_text(f'#!/bin/sh\n{line} "$@"\n')
        (folder / name).chmod(0o755)
    return {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT / "generator")}


def typed(command: str, shell: Shell, folder: Path = ROOT, seconds: float = 60) -> subprocess.CompletedProcess[str]:
    """How it ends and what it prints, typed in a folder."""
    return subprocess.run(
        ["sh", "-c", command], cwd=folder, env=shell, capture_output=True, text=True, check=False, timeout=seconds
    )
