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
from functools import partial
from pathlib import Path
from typing import IO

from draftboard.catalogue import around
from draftboard.catalogue.dialects import DIALECTS
from draftboard.durations import LATEST
from draftboard.errors import DraftboardError
from draftboard.lab import openmetrics
from draftboard.output import Progress, no_progress
from draftboard.prometheus import Client, Promtool, Server
from draftboard.rules import Group, RecordingRule, depths, reads, recording_groups, records_in
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
    recording_rules: Sequence[Group] | None = None,
    progress: Progress = no_progress,
) -> Iterator[Replay]:
    """Load a recording, evaluate all rules or those given, and serve both for a `with`; data stays in `keep_in`."""
    passes = in_passes(recording_groups(settings) if recording_rules is None else recording_rules)
    interval = settings.rules.evaluation_interval.seconds
    with ExitStack() as stack:
        folder = keep_in or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="draftboard-")))
        server, loader = _server(folder, settings, prometheus), Promtool(promtool)
        samples = folder / "samples.om"
        progress("loading the recording", 0, len(passes) + 1)
        first, last = unpack(source, samples)
        loader.load_openmetrics(samples, server.storage)
        start, end = (side(at / interval) * interval for side, at in ((math.floor, first), (math.ceil, last)))
        for done, rules in enumerate(passes, start=1):
            progress("evaluating the rules", done, len(passes) + 1)
            with server.running() as url, Client(url) as client, samples.open("w", encoding="utf-8") as text:
                text.writelines(line for rule in rules for line in _evaluated(client, rule, start, end, interval))
                text.write("# EOF\n")
            loader.load_openmetrics(samples, server.storage)
        samples.unlink()
        with server.running() as url, Client(url) as client:
            replay = Replay(settings, client, start, end, interval)
            _check_read(replay)
            yield replay


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
    return Server(program, folder, lookback=evaluated)


def _evaluated(client: Client, rule: RecordingRule, start: int, end: int, interval: int) -> Iterator[str]:
    """The samples of a record as OpenMetrics.

    `promtool tsdb create-blocks-from rules` asks the same, but writes a block for each rule: ten times the work.
    """
    stretch = max(1, _STRETCH_SECONDS // interval) * interval
    # One rule over all time has no past of its own. Of a greatest value that it keeps, only what is new is evaluated.
    expr, kept = re.subn(rf"max_over_time\({rule.record}\[\w+\]\)", _nothing_yet(rule), rule.expr)
    greatest: dict[str, float] = {}
    for begin in range(start, end + 1, stretch):
        for series in client.query_range(expr, begin, min(begin + stretch - interval, end), interval):
            labels = {name: text for name, text in series.labels.items() if name != "__name__"}
            record = openmetrics.series(rule.record, labels)
            for at, value in series.samples:
                if kept:
                    greatest[record] = max(value, greatest.get(record, at))
                yield f"{record} {greatest.get(record, value)!r} {at:.0f}\n"


def _nothing_yet(rule: RecordingRule) -> str:
    """In place of the rule's own past: 0 for each series of the record that it reads."""
    return f"(0 * {min(records_in(rule.expr) - {rule.record}, default='vector(0)')})"


def _check_read(replay: Replay) -> None:
    record = str(generation_tokens.record_name(Level.ENGINE, replay.settings))
    if not replay.client.query_range(record, replay.start, replay.end, replay.step):
        raise DraftboardError("the recording holds no vLLM series that the rules read: was a vLLM server scraped?")


def in_passes(groups: Sequence[Group]) -> list[list[RecordingRule]]:
    """The recording rules in passes: each reads only records of passes before it.

    A replay evaluates one rule over all time, not all rules at one time, hence a pass for each step of dependency.
    """
    rules = [rule for group in groups for rule in group.rules if isinstance(rule, RecordingRule)]
    depth = depths(reads(rules))
    return [[rule for rule in rules if depth[rule.record] == number] for number in sorted(set(depth.values()))]


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
