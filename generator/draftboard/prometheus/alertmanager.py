"""A private Alertmanager: on loopback, alone, on the port that its Prometheus was told."""

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from draftboard.prometheus.process import Program


@dataclass(frozen=True)
class Alertmanager:
    """Where a private Alertmanager keeps what it has told whom, and its `alertmanager.yml` with `templates/`."""

    program: Path
    folder: Path
    port: int

    @property
    def address(self) -> str:
        """As Prometheus is told it."""
        return f"127.0.0.1:{self.port}"

    def start(self) -> subprocess.Popen[bytes]:
        """Start it and wait until it answers.

        Raises:
            DraftboardError: the program cannot run, its configuration is wrong, or its port is taken.
        """
        program = Program(
            name="Alertmanager",
            command=(
                self.program,
                f"--config.file={self.folder / 'alertmanager.yml'}",
                f"--storage.path={self.folder / 'data'}",
                f"--web.listen-address={self.address}",
                "--cluster.listen-address=",  # it has no siblings
                "--data.maintenance-interval=1s",  # killed without notice, it has forgotten one second
            ),
            ready=re.compile(r'msg="Listening on"[^\n]* address=127\.0\.0\.1:\d+'),
            help="set ALERTMANAGER, or run `make tools`",
        )
        process, _ = program.start(self.folder / "alertmanager.log")
        return process
