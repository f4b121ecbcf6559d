"""A private Prometheus: on loopback, on a free port of its own choosing."""

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from draftboard.durations import Duration
from draftboard.prometheus.process import Program, stop

# In whichever order it says both.
READY = re.compile(
    r'(?s)\A(?=.*msg="Server is ready to receive web requests\.").*?msg="Listening on"[^\n]* address=(?P<address>\S+)'
)


@dataclass(frozen=True)
class Server:
    """Where a private Prometheus keeps its data, what it scrapes, and how far back an instant query may look."""

    program: Path
    folder: Path
    lookback: Duration
    configuration: str = "global: {}\n"
    """What it is told: by default to scrape nothing. Paths in it are relative to the folder."""

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
        """Start it and wait until it answers; a lasting one is no child of the terminal and outlives it.

        Raises:
            DraftboardError: the program cannot run, or stops before it is ready.
        """
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
