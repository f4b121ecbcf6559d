"""Private processes on loopback: Prometheus and Alertmanager; and promtool."""

import ctypes
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from draftboard.durations import Duration
from draftboard.errors import DraftboardError
from draftboard.project import CHECKOUT

_POLL_SECONDS = 0.02
_PATIENCE = 3000  # polls, so a minute
_STOP_SECONDS = 10
_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None
READY = re.compile(  # in either order
    r'(?s)\A(?=.*msg="Server is ready to receive web requests\.").*?msg="Listening on"[^\n]* address=(?P<address>\S+)'
)


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
            if match := self.ready.search(log.read_text(errors="replace")):
                return match
            try:
                process.wait(_POLL_SECONDS)
            except subprocess.TimeoutExpired:
                continue
            break
        reason = _last_line(log.read_text(errors="replace"))
        raise DraftboardError(f"{self.command[0]}: {self.name} did not start: {reason}")


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
class Server:
    """A Prometheus on a free port: its data, what it scrapes, and how far back an instant query may look."""

    program: Path
    folder: Path
    lookback: Duration
    configuration: str = "global: {}\n"  # scrapes nothing; paths in it are relative to the folder
    flags: tuple[str, ...] = ()

    @property
    def storage(self) -> Path:
        """The folder of its blocks."""
        return self.folder / "data"

    @contextmanager
    def running(self) -> Iterator[str]:
        """Run it for the time of a `with`; yields its URL."""
        process, url = self.start()
        try:
            yield url
        finally:
            stop(process)

    def start(self, *, lasting: bool = False) -> tuple[subprocess.Popen[bytes], str]:
        """Start it, as `Program.start` does, and return its process and URL."""
        configuration = self.folder / "prometheus.yml"
        configuration.write_text(self.configuration)
        program = Program(
            name="Prometheus",
            command=(
                self.program,
                f"--config.file={configuration}",
                f"--storage.tsdb.path={self.storage}",
                "--storage.tsdb.retention.time=100y",  # a recording may be old
                "--web.listen-address=127.0.0.1:0",
                f"--query.lookback-delta={self.lookback}",
                *self.flags,
            ),
            ready=READY,
            help=_obtained("Prometheus 3.5", "PROMETHEUS"),
        )
        process, ready = program.start(self.folder / "prometheus.log", lasting=lasting)
        return process, f"http://{ready['address']}"


def start_alertmanager(program: Path, folder: Path, port: int) -> subprocess.Popen[bytes]:
    """An Alertmanager without peers: a folder with its data, `alertmanager.yml` and `templates/`, and its port."""
    alertmanager = Program(
        name="Alertmanager",
        command=(
            program,
            f"--config.file={folder / 'alertmanager.yml'}",
            f"--storage.path={folder / 'data'}",
            f"--web.listen-address=127.0.0.1:{port}",
            "--cluster.listen-address=",
            "--data.maintenance-interval=1s",  # when it is killed, it loses at most one second
        ),
        ready=re.compile(r'msg="Listening on"[^\n]* address=127\.0\.0\.1:\d+'),
        help=_obtained("Alertmanager 0.28", "ALERTMANAGER"),
    )
    return alertmanager.start(folder / "alertmanager.log")[0]


@dataclass(frozen=True)
class Promtool:
    """promtool 3.5 or newer."""

    program: Path

    def load_openmetrics(self, recording: Path, storage: Path) -> None:
        """Turn an OpenMetrics text with timestamps into blocks of a storage folder."""
        self._run("tsdb", "create-blocks-from", "openmetrics", str(recording), str(storage))

    def settle(self, storage: Path) -> None:
        """Write a stopped server's samples as blocks, without marks that end a series.

        Prometheus has no values of labels for samples that came out of order until it compacts them, which takes hours.
        """
        recording = storage.with_name("settled.om")
        with recording.open("w") as dumped:
            self._run("tsdb", "dump-openmetrics", str(storage), to=dumped)
        shutil.rmtree(storage)
        self.load_openmetrics(recording, storage)
        recording.unlink()

    def _run(self, *arguments: str, to: IO[str] | int = subprocess.PIPE) -> None:
        command = [str(self.program), *arguments]
        try:
            done = subprocess.run(command, stdout=to, stderr=subprocess.PIPE, text=True, check=False)
        except OSError as error:
            reason = f"cannot run promtool: {error.strerror}; {_obtained('Prometheus 3.5', 'PROMTOOL')}"
            raise DraftboardError(f"{self.program}: {reason}") from None
        if done.returncode:
            raise DraftboardError(f"promtool {' '.join(arguments[:3])}: {_last_line(done.stderr or done.stdout)}")


def _obtained(least: str, variable: str) -> str:
    """What to do where a program cannot be run."""
    install = (
        f"run `make tools` in {CHECKOUT}" if CHECKOUT else f"install {least} or newer, https://prometheus.io/download"
    )
    return f"{install}, or set {variable}"


def _last_line(text: str) -> str:
    return "".join(text.strip().splitlines()[-1:])
