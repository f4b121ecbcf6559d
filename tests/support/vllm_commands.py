"""Draftboard's command line, run as its users run it."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

SECONDS = 300


def command(*words: object) -> list[str]:
    """The command line, as words."""
    return [sys.executable, "-m", "draftboard", *map(str, words)]


def draftboard(*words: object) -> subprocess.CompletedProcess[str]:
    """Run it to its end."""
    return subprocess.run(command(*words), capture_output=True, text=True, timeout=SECONDS, check=False)


def succeeded(done: subprocess.CompletedProcess[str]) -> subprocess.CompletedProcess[str]:
    """Require that it had nothing to complain of."""
    assert done.returncode == 0, done.stderr + done.stdout
    return done


@contextmanager
def running(*words: object) -> Iterator[subprocess.Popen[str]]:
    """Start it; at the end it is over, in whatever way."""
    with subprocess.Popen(command(*words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def ended(process: subprocess.Popen[str]) -> subprocess.CompletedProcess[str]:
    """Wait for what was started."""
    out, errors = process.communicate(timeout=SECONDS)
    return subprocess.CompletedProcess(process.args, process.returncode, out, errors)
