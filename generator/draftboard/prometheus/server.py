"""A private Prometheus and a private Alertmanager, both on loopback. `start` raises what `Program.start` does."""

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from draftboard.durations import Duration
from draftboard.prometheus.process import Program, stop

# In either order.
READY = re.compile(
    r'(?s)\A(?=.*msg="Server is ready to receive web requests\.").*?msg="Listening on"[^\n]* address=(?P<address>\S+)'
)


@dataclass(frozen=True)
class Server:
    """A Prometheus on a free port: its data, what it scrapes, and how far back an instant query may look."""

    program: Path
    folder: Path
    lookback: Duration
    configuration: str = "global: {}\n"
    """By default it scrapes nothing. Paths in it are relative to the folder."""

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
        """Start it and wait until it answers; a lasting one outlives this process and its terminal."""
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
            ),
            ready=READY,
            help="set PROMETHEUS, or run `make tools`",
        )
        process, ready = program.start(self.folder / "prometheus.log", lasting=lasting)
        return process, f"http://{ready['address']}"


@dataclass(frozen=True)
class Alertmanager:
    """An Alertmanager without peers: its data, its `alertmanager.yml` with `templates/`, and its port."""

    program: Path
    folder: Path
    port: int

    def start(self) -> subprocess.Popen[bytes]:
        """Start it and wait until it answers."""
        program = Program(
            name="Alertmanager",
            command=(
                self.program,
                f"--config.file={self.folder / 'alertmanager.yml'}",
                f"--storage.path={self.folder / 'data'}",
                f"--web.listen-address=127.0.0.1:{self.port}",
                "--cluster.listen-address=",
                "--data.maintenance-interval=1s",  # when it is killed, it loses at most one second
            ),
            ready=re.compile(r'msg="Listening on"[^\n]* address=127\.0\.0\.1:\d+'),
            help="set ALERTMANAGER, or run `make tools`",
        )
        process, _ = program.start(self.folder / "alertmanager.log")
        return process
