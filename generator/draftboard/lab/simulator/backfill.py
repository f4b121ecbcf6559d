"""A scenario's past as OpenMetrics text with timestamps, for `promtool tsdb create-blocks-from openmetrics`.

OpenMetrics wants all samples of one metric side by side, in the order of time; servers make them page by page. So each
server is simulated through all its past, its series are written to one file for each family, and the files are joined.
Memory holds one server at a time.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

import numpy as np
from numpy.typing import NDArray

from draftboard.catalogue import PAGE, Metric, around
from draftboard.files import whole
from draftboard.lab.simulator.fleet import Target
from draftboard.lab.simulator.instance import Clock
from draftboard.lab.simulator.shape import Child

_PROMETHEUS_MAKES = (around.UP,)


@dataclass(frozen=True)
class Past:
    """When it is: Unix times of the first and last scrape, and seconds between scrapes."""

    start: int
    end: int
    step: int

    @property
    def scrapes(self) -> range:
        """Their Unix times."""
        return range(self.start, self.end + 1, self.step)


@dataclass
class _Rows:
    """A child's values, scrape by scrape, and the indices of the scrapes that they are from."""

    child: Child
    scrapes: list[int] = field(default_factory=list)
    values: bytearray = field(default_factory=bytearray)

    @property
    def table(self) -> NDArray[np.float64]:
        """A row for each scrape."""
        return np.frombuffer(self.values).reshape(len(self.scrapes), -1)


def backfill(
    targets: Sequence[Target], past: Past, out: Path, progress: Callable[[str, int, int], None] = lambda *_: None
) -> None:
    """Write what a Prometheus would have scraped from all targets. The file appears when it is complete.

    Raises:
        DraftboardError: the file cannot be written.
    """
    with whole(out, "past") as joined, ExitStack() as stack:
        spools = _Spools(joined.parent, stack)
        for done, target in enumerate(targets):
            progress("simulating", done, len(targets))
            _simulate(target, past, spools)
        progress("writing", len(targets), len(targets))
        spools.join(joined)


class _Spools:
    """One file for each family, joined in the end."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        metrics = (*_PROMETHEUS_MAKES, *PAGE)
        self._files: dict[str, TextIO] = {
            metric.name: stack.enter_context((folder / f"{number}.om").open("w+"))
            for number, metric in enumerate(metrics)
        }
        self._metrics = metrics

    def write(self, metric: Metric, lines: Iterator[str]) -> None:
        self._files[metric.name].writelines(lines)

    def join(self, out: Path) -> None:
        """All families that have samples, each under its type and help."""
        with out.open("w") as joined:
            for metric in self._metrics:
                spool = self._files[metric.name]
                if spool.tell():
                    joined.write(f"# TYPE {metric.family} {metric.kind.value}\n")
                    joined.write(f"# HELP {metric.family} {_escaped(metric.help)}\n" if metric.help else "")
                    spool.seek(0)
                    while chunk := spool.read(1 << 20):
                        joined.write(chunk)
            joined.write("# EOF\n")


def _simulate(target: Target, past: Past, spools: _Spools) -> None:
    """One server through all the past, into the spools."""
    instance = target.start(Clock(past.start))
    rows: dict[tuple[str, ...], _Rows] = {}
    up = []
    for index, at in enumerate(past.scrapes):
        instance.advance(at - past.start)
        up.append(float(instance.up))
        if instance.up:
            for metric, shown in instance.pages():
                for child, values in shown:
                    row = rows.setdefault((metric.name, *child.labels.values()), _Rows(child))
                    row.scrapes.append(index)
                    row.values.extend(values.tobytes())
    stamps = [str(at) for at in past.scrapes]
    spools.write(around.UP, _lines([f"up{{{_labels(target.labels)}}}"], stamps, np.array(up)[:, None]))
    for row in rows.values():
        spools.write(
            row.child.metric,
            _lines(_series(row.child, target.labels), [stamps[index] for index in row.scrapes], row.table),
        )


def _series(child: Child, target: dict[str, str]) -> list[str]:
    """The child's series as they stand in sample lines."""
    labels = child.labels | target
    return [
        f"{child.metric.name}{column.suffix}{{{_labels(labels | ({'le': column.le} if column.le else {}))}}}"
        for column in child.columns
    ]


def _labels(labels: dict[str, str]) -> str:
    return ",".join(f'{name}="{_escaped(value)}"' for name, value in sorted(labels.items()))


def _lines(series: Sequence[str], stamps: Sequence[str], values: NDArray[np.float64]) -> Iterator[str]:
    """Sample lines: all series of a metric at one time, then at the next."""
    for stamp, row in zip(stamps, values.tolist(), strict=True):
        for name, value in zip(series, row, strict=True):
            yield f"{name} {value!r} {stamp}\n"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")
