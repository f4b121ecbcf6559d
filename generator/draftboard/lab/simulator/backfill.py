"""A scenario's past as OpenMetrics text with timestamps, for `promtool tsdb create-blocks-from openmetrics`.

OpenMetrics requires all samples of a metric side by side, in the order of time: one file for each family, joined.
"""

import shutil
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TextIO

import numpy as np

from draftboard.catalogue import around
from draftboard.files import whole
from draftboard.lab import openmetrics
from draftboard.lab.simulator.arrivals import Floats
from draftboard.lab.simulator.books import PAGE
from draftboard.lab.simulator.fleet import Instance, Target
from draftboard.output import Progress

_FAMILIES = (around.UP, *PAGE)


def backfill(targets: Sequence[Target], times: range, out: Path, progress: Progress = lambda *_: None) -> None:
    """Write what a Prometheus would have scraped at these Unix times. The file appears when it is complete."""
    with whole(out, "history") as joined, ExitStack() as stack:
        places = {metric.name: joined.parent / f"{number}.om" for number, metric in enumerate(_FAMILIES)}
        spools: dict[str, TextIO] = {name: stack.enter_context(at.open("w+")) for name, at in places.items()}
        for done, target in enumerate(targets):
            progress("simulating", done, len(targets))
            _simulate(target, times, spools)
        progress("writing", len(targets), len(targets))
        with joined.open("w") as text:
            for metric, spool in ((metric, spools[metric.name]) for metric in _FAMILIES):
                if spool.tell():
                    text.write(f"# TYPE {metric.family} {metric.kind.value}\n")
                    text.write(f"# HELP {metric.family} {openmetrics.escaped(metric.help)}\n" if metric.help else "")
                    spool.seek(0)
                    shutil.copyfileobj(spool, text)
            text.write("# EOF\n")


def _simulate(target: Target, times: range, spools: dict[str, TextIO]) -> None:
    instance = Instance(target, times.start)
    table = np.empty((len(times), instance.children[-1].at.stop))
    up = np.empty((len(times), 1))
    for index, at in enumerate(times):
        instance.advance(at - times.start)
        table[index], up[index] = instance.row(), instance.up
    stamps = np.array(times)
    spools[around.UP.name].write(_lines([("up", target.labels)], stamps, up))
    for child in instance.children:
        values = table[:, child.at]
        exposed = ~np.isnan(values[:, 0])
        series = [(name, labels | target.labels) for name, labels in child.series]
        spools[child.metric.name].write(_lines(series, stamps[exposed], values[exposed]))


def _lines(series: Sequence[tuple[str, dict[str, str]]], stamps: Floats, values: Floats) -> str:
    """Sample lines: all series of a metric at one time, then at the next."""
    names = [openmetrics.series(name, labels) for name, labels in series]
    rows = zip(stamps.tolist(), values.tolist(), strict=True)
    return "".join(
        [f"{name} {value!r} {stamp}\n" for stamp, row in rows for name, value in zip(names, row, strict=True)]
    )
