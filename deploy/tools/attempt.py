"""What every way to a tool shares: how it fails, what it says, how it runs a command."""

import os
import subprocess
import sys
from pathlib import Path

COMMAND_SECONDS = 900  # for one command; apt is the slow one
STALL_SECONDS = 10  # to connect, and between two reads


class FetchError(Exception):
    """The run ends here: nothing else may be tried, or nothing else is left."""


class UnavailableError(Exception):
    """The way just tried does not work here or now; the next one may."""


def say(text: str) -> None:
    """Report progress on stderr, so that stdout stays for the result."""
    print(f"fetch.py: {text}", file=sys.stderr, flush=True)


def run(command: list[str], folder: Path) -> str:
    """Run a command in a folder; its first error line is the reason when it fails."""
    name = Path(command[0]).name
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=COMMAND_SECONDS,
            check=False,
        )
    except OSError as error:
        raise UnavailableError(f"{name} does not run here: {error}") from error
    except subprocess.TimeoutExpired as error:
        raise UnavailableError(f"{name} took over {COMMAND_SECONDS} s") from error
    errors = done.stderr.decode(errors="replace")
    if done.returncode:
        lines = errors.strip().splitlines() or [f"exit status {done.returncode}"]
        reason = next((line for line in lines if line.startswith("E:")), lines[-1])
        raise UnavailableError(f"{name} failed: {reason}")
    return done.stdout.decode(errors="replace") + errors
