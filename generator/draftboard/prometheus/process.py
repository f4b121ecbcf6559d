"""A server of ours: started, waited for until its log says that it is ready, ended by its own process id."""

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from draftboard.errors import DraftboardError

_POLL_SECONDS = 0.02
_PATIENCE = 3000  # polls, so a minute
_STOP_SECONDS = 10


@dataclass(frozen=True)
class Program:
    """How one kind of server is started, and which words of its log say that it is ready."""

    name: str
    command: Sequence[str | Path]
    ready: re.Pattern[str]
    help: str
    """What to do where the program cannot be run."""

    def start(self, log: Path, *, lasting: bool = False) -> "tuple[subprocess.Popen[bytes], re.Match[str]]":
        """Start it and wait until it is ready; a lasting one is no child of the terminal and outlives it.

        Returns:
            The process, and what `ready` matched in its log.

        Raises:
            DraftboardError: the program cannot run, or stops before it is ready.
        """
        with log.open("wb") as output:
            try:
                process = subprocess.Popen(self.command, stdout=output, stderr=output, start_new_session=lasting)
            except OSError as error:
                raise DraftboardError(
                    f"{self.command[0]}: cannot run {self.name}: {error.strerror}; {self.help}"
                ) from None
        try:
            return process, self._ready(process, log)
        except BaseException:  # also when told to end while waiting
            process.kill()
            process.wait()
            raise

    def _ready(self, process: subprocess.Popen[bytes], log: Path) -> re.Match[str]:
        for _ in range(_PATIENCE):
            if found := self.ready.search(log.read_text(errors="replace")):
                return found
            try:
                process.wait(_POLL_SECONDS)
            except subprocess.TimeoutExpired:
                continue
            break
        last = log.read_text(errors="replace").strip().splitlines()[-1:]
        raise DraftboardError(f"{self.command[0]}: {self.name} did not start: {''.join(last)}")


def stop(process: subprocess.Popen[bytes]) -> None:
    """Ask it to end, and make it end where it does not."""
    process.terminate()
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
