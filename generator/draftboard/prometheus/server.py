"""A private Prometheus: on loopback, on a free port of its own choosing, ended by its own process id."""

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from draftboard.durations import Duration
from draftboard.errors import DraftboardError

_ADDRESS = re.compile(r'msg="Listening on".* address=(\S+)')
_READY = 'msg="Server is ready to receive web requests."'
_POLL_SECONDS = 0.02
_PATIENCE = 3000  # polls, so a minute
_STOP_SECONDS = 10


@dataclass(frozen=True)
class Server:
    """Where a private Prometheus keeps its data, and how far back an instant query may look for a sample."""

    program: Path
    folder: Path
    lookback: Duration

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
            process.terminate()
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def start(self, *, lasting: bool = False) -> tuple[subprocess.Popen[bytes], str]:
        """Start it and wait until it answers; a lasting one is no child of the terminal and outlives it.

        Raises:
            DraftboardError: the program cannot run, or stops before it is ready.
        """
        configuration, log = self.folder / "prometheus.yml", self.folder / "prometheus.log"
        configuration.write_text("global: {}\n")
        command = [
            str(self.program),
            f"--config.file={configuration}",
            f"--storage.tsdb.path={self.storage}",
            "--storage.tsdb.retention.time=100y",  # a recording may be old
            "--web.listen-address=127.0.0.1:0",
            f"--query.lookback-delta={self.lookback}",
        ]
        with log.open("wb") as output:
            try:
                process = subprocess.Popen(command, stdout=output, stderr=output, start_new_session=lasting)
            except OSError as error:
                raise DraftboardError(
                    f"{self.program}: cannot run Prometheus: {error.strerror}; set PROMETHEUS, or run `make tools`",
                ) from None
        try:
            return process, self._url(process, log)
        except BaseException:  # also when told to end while waiting
            process.kill()
            process.wait()
            raise

    def _url(self, process: subprocess.Popen[bytes], log: Path) -> str:
        """The address from its log, once it says that it is ready."""
        for _ in range(_PATIENCE):
            text = log.read_text(errors="replace")
            if _READY in text and (address := _ADDRESS.search(text)):
                return f"http://{address[1]}"
            try:
                process.wait(_POLL_SECONDS)
            except subprocess.TimeoutExpired:
                continue
            break
        last = log.read_text(errors="replace").strip().splitlines()[-1:]
        raise DraftboardError(f"{self.program}: Prometheus did not start: {''.join(last)}")
