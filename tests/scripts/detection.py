"""How soon each alert tells of each scenario, by replaying its past under the rules: tests use it, and `make detect`.

Run as a program it writes the page on scenarios.
"""

import argparse
import functools
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from draftboard.durations import Duration
from draftboard.lab.replay import Firing, Replay, firings, replaying
from draftboard.lab.simulator import Scenario, find, names
from draftboard.lab.simulator.backfill import backfill
from draftboard.lab.simulator.fleet import targets
from draftboard.rules import Group, alerting_groups
from draftboard.settings import Settings, load
from support.replays import behind

START = 1_756_800_000
ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/reference/scenarios.md"
HEAD = """# Scenarios

The scenarios of `draftboard simulate --scenario NAME`, the alerts that must fire, and the detection time of each:
minutes from the event that causes it, or from the first sample, to the first evaluation at which it fires. Settings are
the defaults with the objectives of `tests/rules/objectives.toml`. No other alert may fire. Every row is a test.
`make detect` writes this page: edit the scenario files instead.

| scenario | duration | alert | cause at | detection time | at most |
|---|---|---|---|---|---|
"""


@contextmanager
def replayed(
    told: Scenario, folder: Path, programs: tuple[Path, Path], seed: int = 1, *, alerts_only: bool = False
) -> Iterator[Replay]:
    """A Prometheus that holds a scenario's past and what the rules made of it: all, or what alerts read."""
    prometheus, promtool = programs
    past = folder / "past.om"
    backfill(targets(told, seed), range(START, START + told.duration.seconds + 1, 15), past)
    groups = None
    if alerts_only:
        groups, series = read_by_alerts()
        past = _only(series, past)
    with replaying(past, _settings(), prometheus=prometheus, promtool=promtool, rules=groups) as replay:
        yield replay


@functools.cache
def _settings() -> Settings:
    return load(ROOT / "tests/rules/objectives.toml")


@functools.cache
def read_by_alerts() -> tuple[tuple[Group, ...], frozenset[str]]:
    """The recording rules that alerts depend on, and the names of all series that those rules and the alerts read."""
    settings = _settings()
    return behind((rule.expr for group in alerting_groups(settings) for rule in group.rules), settings)


def _only(series: frozenset[str], past: Path) -> Path:
    """The samples of some series, with all comments."""
    found = past.with_name("read.om")
    with past.open() as lines, found.open("w") as kept:
        kept.writelines(line for line in lines if line.partition("{")[0] in series or line.startswith("#"))
    past.unlink()
    return found


def rows(name: str, told: Scenario, fired: list[Firing]) -> list[str]:
    """The lines of a scenario on the page."""
    if not told.expect:
        return [f"| `{name}` | {told.duration} | - | - | - | - |"]
    return [
        f"| `{name}` | {told.duration} | `{expected.alert}` | {expected.since} "
        f"| {_minutes(fired, expected.alert, expected.since)} | {expected.within} |"
        for expected in told.expect
    ]


def _minutes(fired: list[Firing], alert: str, since: Duration) -> str:
    first = min((firing.since for firing in fired if firing.alert == alert), default=None)
    return "never" if first is None else f"{(first - START - since.seconds) / 60:.0f} min"


def main() -> None:
    """Replay every scenario and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prometheus", type=Path, required=True)
    parser.add_argument("--promtool", type=Path, required=True)
    given = parser.parse_args()
    lines = []
    for name in names():
        with tempfile.TemporaryDirectory() as folder:
            told = find(name)
            with replayed(told, Path(folder), (given.prometheus, given.promtool), alerts_only=True) as replay:
                lines += rows(name, told, firings(replay))
        sys.stdout.write("\n".join(lines[-max(1, len(told.expect)) :]) + "\n")
    PAGE.write_text(HEAD + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
