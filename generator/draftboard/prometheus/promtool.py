"""Loading a past into Prometheus' storage, with promtool."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

from draftboard.errors import DraftboardError


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
            last = (done.stderr or done.stdout).strip().splitlines()[-1:]
            raise DraftboardError(f"promtool {' '.join(arguments[:3])}: {''.join(last)}")
