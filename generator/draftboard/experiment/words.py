"""A plan and a result as documents."""

from datetime import UTC, datetime

from draftboard.durations import Duration
from draftboard.experiment.plan import Experiment
from draftboard.experiment.reading import TIMES, Result
from draftboard.output import Bullets, Document, Heading, Note, Sentence, Table, Text, columns
from draftboard.signals.latency import FELT
from draftboard.signals.signal import NOTHING
from draftboard.status import Status

_ORDER = (
    "The order is random: keep to it, and do not leave out a block that looks odd. Nothing is run by Draftboard. Look "
    "as often as you like: intervals hold at every look."
)
_READ = (
    "Baseline / other arm, from pairs of blocks: the 95 % intervals rest on the random order alone, and hold however "
    "often you look. They cover this fleet and its traffic of that time."
)


def planned(experiment: Experiment) -> Document:
    """The schedule, with the command at the start of each block."""
    rows = tuple(
        (str(block.pair + 1), _when(block.start), experiment.arms[block.arm].name, experiment.arms[block.arm].command)
        for block in experiment.blocks()
    )
    first, second = experiment.arms
    lengths = f"blocks of {Duration(int(experiment.block))}, washout {Duration(int(experiment.washout))}"
    return Document.of(
        (
            Heading(f"{second.name} against {first.name}", Text(f"{len(experiment.first)} pairs of {lengths}")),
            Table(columns("Pair", "At (UTC)", "Arm", "Run"), rows),
            Note(_ORDER),
        )
    )


def read_out(result: Result, experiment: Experiment) -> Document:
    """What it shows so far."""
    status = {"users wait less": Status.GOOD, "users wait longer": Status.BAD}.get(result.says, Status.NEUTRAL)
    first, second = experiment.arms
    means = {True: "stop: more blocks would not change that", False: "go on"}[result.stop]
    rows = tuple(
        (FELT[name].title, NOTHING if found is None else str(found))
        for name in TIMES
        for found in (getattr(result, name),)
    )
    return Document.of(
        (
            Heading(f"{second.name} against {first.name}", Text(result.says, status)),
            Sentence(f"{result.pairs} of {result.planned} pairs of blocks; {means}."),
            Bullets(result.notes, Status.WARN),
            Table(columns("Time", numbers=("Speedup",)), rows),
            Note(_READ),
        )
    )


def _when(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S")
