"""Evaluating the rules over a recording, as Prometheus would have done at the time."""

import math
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from draftboard.errors import DraftboardError
from draftboard.lab.replay.recording import unpack
from draftboard.prometheus import Client, Promtool, Server
from draftboard.rules import recording_groups, to_yaml
from draftboard.rules.group import Group, RecordingRule
from draftboard.settings import Settings
from draftboard.signals import Level
from draftboard.signals.traffic import generation_tokens

_RECORD = re.compile(r"[a-z_]+:vllm_\w+:\w+")


@dataclass(frozen=True)
class Replay:
    """A Prometheus that holds a recording and what the rules made of it, on the rules' grid of times."""

    settings: Settings
    client: Client
    start: float
    end: float

    @property
    def step(self) -> int:
        """Seconds between evaluations."""
        return self.settings.rules.evaluation_interval.seconds


@contextmanager
def replaying(
    source: Path,
    settings: Settings,
    *,
    prometheus: Path,
    promtool: Path,
    keep_in: Path | None = None,
    progress: Callable[[str, int, int], None] = lambda *_: None,
) -> Iterator[Replay]:
    """Load a recording, evaluate the rules over it, and serve both for the time of a `with`.

    The data stays in `keep_in`, if that is given. `progress` gets the task, the steps done and their number.

    Raises:
        DraftboardError: the recording, a program or a setting does not allow it.
    """
    passes, interval = in_passes(recording_groups(settings)), settings.rules.evaluation_interval.seconds
    with ExitStack() as stack:
        folder = keep_in or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="draftboard-")))
        server, loader = _server(folder, settings, prometheus), Promtool(promtool)
        progress("loading the recording", 0, len(passes) + 1)
        recording, rules = folder / "recording.om", folder / "pass.rules.yaml"
        first, last = unpack(source, recording)
        loader.load_openmetrics(recording, server.storage)
        recording.unlink()
        start, end = math.floor(first / interval) * interval, math.ceil(last / interval) * interval
        for done, group in enumerate(passes, start=1):
            progress("evaluating the rules", done, len(passes) + 1)
            rules.write_text(to_yaml([group]))
            with server.running() as url:
                loader.load_rules(rules, server.storage, url=url, start=start, end=end)
        with server.running() as url, Client(url) as client:
            yield Replay(settings, client, *_evaluated(client, settings, start, end))


def leave_running(folder: Path, settings: Settings, prometheus: Path) -> tuple[int, str]:
    """Serve the data that a replay kept in a folder, by a process that stays: returns its id and the URL."""
    process, url = _server(folder, settings, prometheus).start(lasting=True)
    return process.pid, url


def _server(folder: Path, settings: Settings, program: Path) -> Server:
    """With a look-back of one evaluation: backfilled series end without the marks that would make them stale."""
    rules = settings.rules
    if rules.scrape_interval > rules.evaluation_interval:
        raise DraftboardError(
            f"rules.evaluation_interval = {rules.evaluation_interval}: a replay needs it no shorter than "
            f"rules.scrape_interval, {rules.scrape_interval}",
        )
    return Server(program, folder, lookback=rules.evaluation_interval)


def _evaluated(client: Client, settings: Settings, start: float, end: float) -> tuple[float, float]:
    """First and last time at which promtool evaluated the rules, read from the records themselves.

    Raises:
        DraftboardError: nothing was recorded.
    """
    interval = settings.rules.evaluation_interval.seconds
    record = generation_tokens.record_at(Level.ENGINE, settings)
    stamps = client.query_range(f"timestamp({record})", start, end, interval)
    if not stamps:
        raise DraftboardError("the recording holds no vLLM series that the rules read: was a vLLM server scraped?")
    offset = stamps[0].samples[0][1] % interval
    return start + offset, start + offset + (end - start - offset) // interval * interval


def in_passes(groups: Sequence[Group]) -> list[Group]:
    """The recording rules in passes: each reads only records of passes before it.

    promtool evaluates one rule over all time, not all rules at one time, hence a pass for each step of dependency.
    """
    number: dict[str, int] = {}
    passes: list[list[RecordingRule]] = []
    for rule in (rule for group in groups for rule in group.rules if isinstance(rule, RecordingRule)):
        before = (number[name] + 1 for name in _RECORD.findall(rule.expr) if name in number)
        number[rule.record] = max(before, default=0)
        if number[rule.record] == len(passes):
            passes.append([])
        passes[number[rule.record]].append(rule)
    return [replace(groups[0], rules=tuple(rules)) for rules in passes]
