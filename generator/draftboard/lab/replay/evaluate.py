"""Evaluating the rules over a recording, OpenMetrics text with timestamps, as Prometheus would have at the time."""

import gzip
import lzma
import math
import re
import tempfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import IO

from draftboard.catalogue import around
from draftboard.catalogue.dialects import DIALECTS
from draftboard.durations import LATEST
from draftboard.errors import DraftboardError
from draftboard.lab import openmetrics
from draftboard.lab.replay.holds import Output
from draftboard.lab.replay.order import Step, in_order
from draftboard.output import Progress, no_progress
from draftboard.prometheus import Client, Promtool, Server
from draftboard.rules import Group, alerting_groups, recording_groups
from draftboard.settings import Settings
from draftboard.signals import Level
from draftboard.signals.traffic import generation_tokens

_SAMPLE = re.compile(
    r'(?P<series>[\w:]+(?:\{(?:[^"}]|"(?:[^"\\]|\\.)*")*\})?) (?P<value>\S+) (?P<time>\S+)(?: # .*)?\n?'
)
_OPEN: Mapping[str, Callable[..., IO[str]]] = {".gz": gzip.open, ".xz": lzma.open}
"""By the suffix of a compressed recording."""
_STRETCH_SECONDS = 7200
"""Of a query: Prometheus limits how many samples one may hold."""
_AHEAD = timedelta(minutes=10)
"""How far after its own time Prometheus accepts samples."""
_LONGEST_LINE = 1 << 20
READ = {name for dialect in DIALECTS.values() for name in dialect.exported} - {
    around.ALERTS.name,
    around.ALERTS_FOR_STATE.name,
}
"""Names of the series that are loaded. A Prometheus' dump holds others, and records and alerts, which are made anew."""


@dataclass(frozen=True)
class Replay:
    """A Prometheus that holds a recording and what the rules made of it, on the rules' grid of times."""

    settings: Settings
    client: Client
    start: float
    end: float
    step: int  # seconds between evaluations


@contextmanager
def replaying(
    source: Path,
    settings: Settings,
    *,
    prometheus: Path,
    promtool: Path,
    keep_in: Path | None = None,
    rules: Sequence[Group] | None = None,
    progress: Progress = no_progress,
) -> Iterator[Replay]:
    """Load a recording, evaluate all rules or those given, and serve both for a `with`; data stays in `keep_in`."""
    steps = in_order((*recording_groups(settings), *alerting_groups(settings)) if rules is None else rules)
    interval = settings.rules.evaluation_interval.seconds
    with ExitStack() as stack:
        folder = keep_in or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="draftboard-")))
        server, samples = _server(folder, settings, prometheus), folder / "samples.om"
        progress("loading the recording", 0, len(steps) + 1)
        first, last = unpack(source, samples)
        until = datetime.fromtimestamp(last, UTC)
        if until > datetime.now(UTC) + _AHEAD:
            raise DraftboardError(f"{source}: the recording ends in the future, at {until:%Y-%m-%d %H:%M} UTC")
        Promtool(promtool).load_openmetrics(samples, server.storage)
        samples.unlink()
        start, end = (side(at / interval) * interval for side, at in ((math.floor, first), (math.ceil, last)))
        client = stack.enter_context(Client(stack.enter_context(server.running())))
        replay = Replay(settings, client, start, end, interval)
        for done, step in enumerate(steps, start=1):
            progress("evaluating the rules", done, len(steps) + 1)
            _evaluate(replay, step)
        _check_read(replay)
        yield replay
    if keep_in:
        Promtool(promtool).settle(server.storage)


def leave_running(folder: Path, settings: Settings, prometheus: Path) -> tuple[int, str]:
    """Serve the data that a replay kept in a folder, by a process that stays: returns its id and the URL."""
    process, url = _server(folder, settings, prometheus).start(lasting=True)
    return process.pid, url


def _server(folder: Path, settings: Settings, program: Path) -> Server:
    """With a look-back of one evaluation: backfilled series end without the marks that would make them stale."""
    scraped, evaluated = settings.rules.scrape_interval, settings.rules.evaluation_interval
    if scraped > evaluated:
        needed = f"a replay needs it no shorter than rules.scrape_interval, {scraped}"
        raise DraftboardError(f"rules.evaluation_interval = {evaluated}: {needed}")
    receives = "storage: {tsdb: {out_of_order_time_window: 100y}}\n"  # what rules make of a past, in any order
    return Server(program, folder, evaluated, receives, flags=("--web.enable-remote-write-receiver",))


def _evaluate(replay: Replay, step: Step) -> None:
    """Evaluate rules and store what they make.

    `promtool tsdb create-blocks-from rules` evaluates each rule over all time, before anything of it is stored.
    """
    outputs = [Output(rule) for rule in step.rules]
    grid = range(int(replay.start), int(replay.end) + 1, replay.step)
    length = 1 if step.reads_itself else max(1, _STRETCH_SECONDS // replay.step)
    for stretch in (grid[at : at + length] for at in range(0, len(grid), length)):
        for output in outputs:
            found = replay.client.query_range(output.rule.expr, stretch[0], stretch[-1], replay.step)
            if made := list(output.of(found, stretch)):
                replay.client.write(made)


def _check_read(replay: Replay) -> None:
    record = str(generation_tokens.record_name(Level.ENGINE, replay.settings))
    if not replay.client.query_range(record, replay.start, replay.end, replay.step):
        raise DraftboardError("the recording holds no vLLM series that the rules read: was a vLLM server scraped?")


def unpack(source: Path, target: Path) -> tuple[float, float]:
    """Write a recording's samples that rules and panels read as plain text; returns the first and last Unix time."""
    opened = _OPEN.get(source.suffix, open)
    try:
        # A label may hold a carriage return, which is no end of a line.
        with (
            opened(source, "rt", encoding="utf-8", newline="\n") as packed,
            target.open("w", encoding="utf-8", newline="\n") as plain,
        ):
            times = set(_copied(packed, plain))
        return min(times), max(times)
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise DraftboardError(f"{source}: cannot read the recording: {error}") from None
    except ValueError as error:
        expected = "OpenMetrics text with a timestamp on every sample, in order"
        raise DraftboardError(f"{source}: not {expected}: {error}") from None


def _copied(packed: IO[str], plain: IO[str]) -> Iterator[float]:
    """The times of the samples that are copied, with all comments."""
    size, series, since = 0, "", 0.0
    for number, line, name, time in _samples(packed):
        if name:
            if name == series and time <= since:  # promtool would leave it out without a word
                raise ValueError(f"line {number}: the samples of a series must follow each other in time")
            series, since = name, time
            yield time
        size += len(line)
        if size > openmetrics.MOST_BYTES:
            raise OSError(f"larger than {openmetrics.MOST_BYTES / 1e9:g} GB unpacked")
        plain.write(line)
    if not series:
        raise ValueError("no sample that the rules read, such as those of vllm:generation_tokens_total")


def _samples(packed: IO[str]) -> Iterator[tuple[int, str, str, float]]:
    """Number and text of each line that is copied, its series and time; comments have neither."""
    known: set[str] = set()
    # A line has a limit, or a file of one endless line would fill the memory.
    for number, line in enumerate(iter(partial(packed.readline, _LONGEST_LINE), ""), start=1):
        if line.startswith("#"):
            yield number, line, "", 0.0
            continue
        rest, _, stamp = line.rpartition(" ")
        name, _, value = rest.rpartition(" ")
        if name not in known:  # a series is parsed once, and wherever its sample has an exemplar
            if re.split("[{ ]", line, maxsplit=1)[0] not in READ:
                continue
            sample = _SAMPLE.fullmatch(line)
            if not sample:
                raise ValueError(f"line {number}")
            name, value, stamp = sample["series"], sample["value"], sample["time"]
            known.add(name)
        time = float(stamp)
        if not 0 <= time < LATEST:
            raise ValueError(f"line {number}: timestamps must be seconds since 1970, not {stamp.rstrip()}")
        if value != "NaN":  # promtool dumps a stale marker so, and would load it as a sample like any other
            yield number, line, name, time
