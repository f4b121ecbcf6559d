"""What an hour of one engine costs to simulate, scraped every 15 s: `make bench-simulator` prints it by scenario."""

import sys
import tempfile
import time
from pathlib import Path

from draftboard.lab.simulator import find, names
from draftboard.lab.simulator.backfill import backfill
from draftboard.lab.simulator.fleet import Target, targets

HOUR = range(1_800_000_000, 1_800_003_601, 15)


def cpu_seconds(fleet: tuple[Target, ...], folder: Path) -> float:
    """For one hour of all of them, the writing of their past included."""
    before = time.process_time()
    backfill(fleet, HOUR, folder / "past.om")
    return time.process_time() - before


def main() -> None:
    """Print CPU seconds for an engine-hour, scenario by scenario."""
    with tempfile.TemporaryDirectory() as folder:
        cpu_seconds(targets(find("idle"), 1), Path(folder))  # what is done once
        for name in names():
            fleet = tuple({id(target.server): target for target in targets(find(name), 1)}.values())  # one of each kind
            engines = sum(target.server.engines for target in fleet)
            sys.stdout.write(f"{name:24}{cpu_seconds(fleet, Path(folder)) / engines:6.2f} s\n")


if __name__ == "__main__":
    main()
