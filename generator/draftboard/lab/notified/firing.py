"""When which alert fired: by the series ALERTS that Prometheus recorded, or by evaluating the rules over the past."""

import math
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from draftboard.alerts import WATCHDOG, of_settings
from draftboard.durations import Duration
from draftboard.errors import DraftboardError
from draftboard.lab import openmetrics
from draftboard.lab.notified.result import Basis
from draftboard.lab.replay.evaluate import READ, Replay, replaying
from draftboard.lab.replay.holds import stretches
from draftboard.lab.replay.story import firings
from draftboard.output import Progress
from draftboard.prometheus import Client
from draftboard.settings import Settings
from draftboard.signals import Level
from draftboard.signals.states import target_up

_WHOLE = 0.95
"""Share of the scraped time that counts as all of it: a restart takes some evaluations."""
_AT_ONCE = Duration.parse("0s")


@dataclass(frozen=True, eq=False)
class Fired:
    """An alert for one series, from its first to its last evaluation (Unix seconds)."""

    alert: str
    severity: str
    labels: Mapping[str, str]
    since: float
    until: float

    @property
    def key(self) -> tuple[object, ...]:
        """What Alertmanager takes for the same alert, whenever it fires."""
        return self.alert, self.severity, *sorted(self.labels.items())


@dataclass(frozen=True)
class Past:
    """What fired in a time, on what basis, and in which share of that time anything was scraped."""

    fired: tuple[Fired, ...]
    start: float
    end: float
    basis: Basis
    scraped: float


@dataclass(frozen=True)
class Evaluator:
    """The programs that evaluate rules over samples."""

    prometheus: Path
    promtool: Path


def past(
    client: Client, settings: Settings, evaluator: Evaluator, *, since: float, until: float, progress: Progress
) -> Past:
    """What fired, by the cheapest source that covers the scraped time; DraftboardError where nothing was scraped."""
    step = settings.rules.evaluation_interval.seconds
    replay = Replay(settings, client, math.floor(since / step) * step, math.floor(until / step) * step, step)
    scraped = _seen(replay, "count(up)")
    if not scraped:
        raise DraftboardError(f"{client.url}: no target was scraped in this time: choose another --range or --at")
    enough = _WHOLE * scraped
    progress("reading alerts", 0, 2)
    basis: Basis = "samples"
    if _seen(replay, f'count(ALERTS{{alertname="{WATCHDOG}"}})') >= enough:
        basis, fired = "alerts", tuple(_recorded(replay))
    elif _seen(replay, f"count({target_up.record_name(Level.TARGET, settings)})") >= enough:
        basis, fired = "records", tuple(_evaluated(replay))
    else:
        fired = tuple(_replayed(replay, evaluator, progress))
    return Past(fired, replay.start, replay.end, basis, scraped)


def _seen(replay: Replay, expr: str) -> float:
    """Share of the evaluations at which an expression has a value."""
    evaluations = (replay.end - replay.start) // replay.step + 1
    samples = replay.client.query_range(expr, replay.start, replay.end, replay.step)
    return len({at for series in samples for at, _ in series.samples}) / evaluations


def _recorded(replay: Replay) -> Iterator[Fired]:
    """By ALERTS, which has a sample for each evaluation at which an alert fires."""
    names = "|".join(alert.name for alert in of_settings(replay.settings) if alert.name != WATCHDOG)
    expr = f'ALERTS{{alertstate="firing",alertname=~"{names}"}}'
    grid = range(int(replay.start), int(replay.end) + 1, replay.step)
    for series in replay.client.query_range(expr, replay.start, replay.end, replay.step):
        labels = {name: text for name, text in series.labels.items() if name not in {"__name__", "alertstate"}}
        name, severity = labels.pop("alertname"), labels.pop("severity", "")
        for since, until in stretches((at for at, _ in series.samples), grid, _AT_ONCE, _AT_ONCE):
            yield Fired(name, severity, labels, since, until)


def _evaluated(replay: Replay) -> Iterator[Fired]:
    """By the expressions of the alerts, over records, with pending periods and what keeps them firing."""
    for one in firings(replay):
        yield Fired(one.alert, one.severity, one.labels, one.since, one.until)


def _replayed(replay: Replay, evaluator: Evaluator, progress: Progress) -> Iterator[Fired]:
    """By all rules, in a private Prometheus that holds a copy of the samples."""
    with tempfile.TemporaryDirectory(prefix="draftboard-alerts-") as folder:
        copy = Path(folder) / "samples.om"
        _copy(replay, copy, progress)
        prometheus, promtool = evaluator.prometheus, evaluator.promtool
        with replaying(copy, replay.settings, prometheus=prometheus, promtool=promtool, progress=progress) as evaluated:
            yield from _evaluated(evaluated)


def _copy(replay: Replay, target: Path, progress: Progress) -> None:
    """Write the samples that rules read, on the grid of scrapes, as OpenMetrics."""
    names, written = sorted(READ), 0
    step = replay.settings.rules.scrape_interval.seconds
    with target.open("w", encoding="utf-8") as text:
        for done, name in enumerate(names):
            progress("copying samples", done, len(names))
            by_series: dict[str, list[tuple[float, float]]] = defaultdict(list)
            for series in replay.client.query_range(name, replay.start, replay.end, step):
                by_series[openmetrics.series(name, series.unnamed)] += series.samples
            for named, samples in by_series.items():
                written += sum(text.write(f"{named} {value!r} {at:.0f}\n") for at, value in samples)
                if written > openmetrics.MOST_BYTES:
                    size = f"{openmetrics.MOST_BYTES / 1e9:g} GB"
                    raise DraftboardError(
                        f"{replay.client.url}: the samples exceed {size}: choose a shorter --range, or load the rules "
                        "there without receivers, and ask again when they have run"
                    )
        text.write("# EOF\n")
