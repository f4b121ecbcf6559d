"""Programs: servers that run until they are stopped by their own process id, and promtool, which loads a past."""

import ctypes
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from draftboard.errors import DraftboardError

_POLL_SECONDS = 0.02
_PATIENCE = 3000  # polls, so a minute
_STOP_SECONDS = 10
_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None


@dataclass(frozen=True)
class Program:
    """How one kind of server is started, and which words of its log say that it is ready."""

    name: str
    command: Sequence[str | Path]
    ready: re.Pattern[str]
    help: str  # what to do where the program cannot be run

    def start(self, log: Path, *, lasting: bool = False) -> "tuple[subprocess.Popen[bytes], re.Match[str]]":
        """Start it and wait until it is ready; returns the process, and what `ready` matched in its log.

        A lasting one outlives this process and its terminal; others end with this process.

        Raises:
            DraftboardError: the program cannot run, or stops before it is ready.
        """
        with log.open("wb") as output:
            try:
                process = subprocess.Popen(
                    self.command,
                    stdout=output,
                    stderr=output,
                    start_new_session=lasting,
                    preexec_fn=None if lasting else _end_with_parent,  # noqa: PLW1509  (a system call takes no lock)
                )
            except OSError as error:
                reason = f"cannot run {self.name}: {error.strerror}; {self.help}"
                raise DraftboardError(f"{self.command[0]}: {reason}") from None
        try:
            return process, self._ready(process, log)
        except BaseException:  # an interrupt while waiting, too
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
        said = _last_line(log.read_text(errors="replace"))
        raise DraftboardError(f"{self.command[0]}: {self.name} did not start: {said}")


def _end_with_parent() -> None:
    """On Linux the kernel terminates the child when its parent dies, however that happens."""
    if _LIBC:
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def stop(process: subprocess.Popen[bytes]) -> None:
    """Terminate it, and kill it if it does not end."""
    process.terminate()
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@dataclass(frozen=True)
class Promtool:
    """promtool 3.5 or newer."""

    program: Path

    def load_openmetrics(self, recording: Path, storage: Path) -> None:
        """Turn an OpenMetrics text with timestamps into blocks of a storage folder."""
        self._run("tsdb", "create-blocks-from", "openmetrics", str(recording), str(storage))

    def load_rules(self, rules: Path, storage: Path, *, url: str, start: float, end: float) -> None:
        """Evaluate recording rules over a server's past, each as a range query, into blocks of a storage folder.

        A rule sees only what the server held before: rules that read other rules' records need a pass of their own.
        Evaluations are at an offset that promtool derives from the group's name and the file's name as given; hence the
        bare name here, so that a replay in another folder gives the same numbers.
        """
        span = [f"--start={start:.3f}", f"--end={end:.3f}", f"--url={url}", f"--output-dir={storage.resolve()}"]
        self._run("tsdb", "create-blocks-from", "rules", "--quiet", *span, rules.name, folder=rules.parent)

    def _run(self, *arguments: str, folder: Path | None = None) -> None:
        command = [str(self.program), *arguments]
        try:
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        except OSError as error:
            raise DraftboardError(
                f"{self.program}: cannot run promtool: {error.strerror}; set PROMTOOL, or run `make tools`",
            ) from None
        if done.returncode:
            raise DraftboardError(f"promtool {' '.join(arguments[:3])}: {_last_line(done.stderr or done.stdout)}")


def _last_line(text: str) -> str:
    return "".join(text.strip().splitlines()[-1:])
