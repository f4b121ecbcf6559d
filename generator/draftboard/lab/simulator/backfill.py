"""A scenario's past as OpenMetrics text with timestamps, for `promtool tsdb create-blocks-from openmetrics`.

OpenMetrics requires all samples of a metric side by side, in the order of time: one file for each family, joined.
"""

import shutil
from collections.abc import Sequence
from contextlib import ExitStack
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TextIO

import numpy as np

from draftboard.catalogue import around, lens
from draftboard.errors import DraftboardError
from draftboard.files import whole
from draftboard.lab import openmetrics
from draftboard.lab.simulator.arrivals import Floats
from draftboard.lab.simulator.books import PAGE, children
from draftboard.lab.simulator.fleet import Instance, Target
from draftboard.output import Progress, no_progress

_FAMILIES = (around.UP, *PAGE, *lens.METRICS)
_VALUE_BYTES = 7  # Mean length of a value: counters of some digits, and many zeros.
_COPIES = 2  # On disk at the end: each family's own file, and all of them joined.


def estimated_bytes(targets: Sequence[Target], times: range) -> int:
    """The size of the history, before it is made: every line's name and time are known, its value nearly."""
    line, rest = 0, len(f" {times.start} \n") + _VALUE_BYTES
    for _, group in groupby(targets, key=lambda target: id(target.server)):
        first, *others = group
        series = [each for child in children(first.server) if child.metric in _FAMILIES for each in child.series]
        names: list[tuple[str, dict[str, str]]] = [(around.UP.name, {}), *series]
        one = sum(len(openmetrics.series(name, labels | first.labels)) + rest for name, labels in names)
        line += one * (1 + len(others))
    return line * len(times)


def require_room(size: int, out: Path, *, any_size: bool) -> None:
    """Raise DraftboardError where `replay` would refuse a history of that size, or the disk has no room for it."""
    smaller = "take a shorter --backfill, a longer --step or fewer --engines"
    if size > openmetrics.MOST_BYTES and not any_size:
        limit = f"more than the {openmetrics.MOST_BYTES / 1e9:g} GB that `replay` reads"
        raise DraftboardError(f"{out}: about {size / 1e9:.1f} GB, {limit}: {smaller}, or add --any-size")
    try:
        free = shutil.disk_usage(out.parent).free
    except OSError as error:
        raise DraftboardError(f"{out}: cannot write the history: {error.strerror}; choose another path") from None
    if size * _COPIES > free:
        needed = f"needs about {size * _COPIES / 1e9:.1f} GB while it is written, and {free / 1e9:.1f} GB are free"
        raise DraftboardError(f"{out}: {needed}: {smaller}, or choose another disk")


def backfill(targets: Sequence[Target], times: range, out: Path, progress: Progress = no_progress) -> None:
    """Write what a Prometheus would have scraped at these Unix times. The file appears when it is complete."""
    with whole(out, "history") as joined, ExitStack() as stack:
        # Apart from the file that they are joined in, which the user may have named like one of them.
        families = Path(stack.enter_context(TemporaryDirectory(dir=joined.parent)))
        places = {metric.name: families / f"{number}.om" for number, metric in enumerate(_FAMILIES)}
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
    for child in (child for child in instance.children if child.metric in _FAMILIES):
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
