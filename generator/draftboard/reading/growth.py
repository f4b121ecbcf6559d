"""What engines counted between two readings of their page, restarts allowed for."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from draftboard.catalogue import Metric, around
from draftboard.errors import DraftboardError
from draftboard.reading.page import ENGINE, MODEL, REPLICA, VLLM, Labels, Page, Series

_COUNTED = ("_total", "_bucket", "_sum", "_count")
"""How the names of counters end; the others are gauges."""


class Since(Enum):
    """From when an engine's counts are."""

    WINDOW = "since the first reading"
    RESTART = "since it restarted within the window"
    BIRTH = "since it appeared within the window"
    START = "since it started"


@dataclass(frozen=True)
class Tally:
    """What one engine counted, and its gauges at the end."""

    source: str
    """Where it was read, fit to be shown."""
    model: str
    engine: str
    """Its number as vLLM labels it, with Ray's replica where there is one; empty where engines have no number."""
    counted: Mapping[Series, float]
    """Growth of each counter, by name and by the labels beyond model and engine."""
    gauges: Mapping[Series, float]
    since: Since = Since.WINDOW

    def total(self, metric: Metric) -> float | None:
        """Growth of a counter over all its labels; None where it is not exposed."""
        return _over(sum, self.counted, metric)

    def now(self, metric: Metric) -> float | None:
        """Value of a gauge: where it has several series, one for each of the server's processes, the largest."""
        return _over(max, self.gauges, metric)

    def by(self, metric: Metric, label: str) -> dict[str, float]:
        """Growth of a counter for each value of one of its labels."""
        found: dict[str, float] = {}
        for (name, labels), value in self.counted.items():
            if name == metric.name:
                of = dict(labels).get(label, "")
                found[of] = found.get(of, 0.0) + value
        return found


@dataclass(frozen=True)
class Growth:
    """What the engines of some servers counted over the same time."""

    tallies: tuple[Tally, ...]
    seconds: float | None
    """How long the time was; None where nobody knows: rates cannot be told then."""
    gone: tuple[str, ...] = ()
    """Engines that stopped answering in between, in words."""


def lifetime(page: Page) -> Growth:
    """What the engines of a page counted since they started."""
    tallies = [_tally(page, engine, _counted(own), own, Since.START) for engine, own in _by_engine(page).items()]
    return Growth(tuple(tallies), None)


def growth(before: Page, after: Page, seconds: float | None = None) -> Growth:
    """What the engines of a server counted between two pages of it.

    `seconds` between them are needed where the pages do not know when they were read. A counter that fell began again
    at 0, and all of its engine's with it, which is how Prometheus counts, too. An engine that is new began at 0.

    Raises:
        DraftboardError: the pages are of different servers, or in the wrong order.
    """
    _require_order(before, after)
    old, new = _by_engine(before), _by_engine(after)
    if old and new and not old.keys() & new.keys():
        raise DraftboardError(f"{before.source} and {after.source}: no engine is on both: are they of one server?")
    restarted = before.of(around.PROCESS_START_TIME) != after.of(around.PROCESS_START_TIME)
    tallies = [_grown(after, engine, old.get(engine), own, restarted=restarted) for engine, own in sorted(new.items())]
    if before.at is not None and after.at is not None:
        seconds = after.at - before.at
    return Growth(tuple(tallies), seconds, tuple(_in_words(engine) for engine in sorted(old.keys() - new.keys())))


def together(growths: Sequence[Growth]) -> Growth:
    """Several servers over the same time; the longest time counts, for all are read one after the other."""
    spans = [each.seconds for each in growths if each.seconds is not None]
    return Growth(
        tuple(tally for each in growths for tally in each.tallies),
        max(spans) if len(spans) == len(growths) else None,
        tuple(name for each in growths for name in each.gone),
    )


_Engine = tuple[str, str]
"""Model and engine."""


def _by_engine(page: Page) -> dict[_Engine, dict[Series, float]]:
    """The engines' series, without the labels that name the engine.

    Where engines are numbered, what has no number is the HTTP side's, and no engine's.
    """
    numbered = any(ENGINE in dict(labels) for name, labels in page.values if name.startswith(VLLM))
    found: dict[_Engine, dict[Series, float]] = {}
    for (name, labels), value in page.values.items():
        of = dict(labels)
        if not name.startswith(VLLM) or MODEL not in of or (numbered and ENGINE not in of):
            continue
        model, number, replica = of.pop(MODEL), of.pop(ENGINE, ""), of.pop(REPLICA, "")
        engine = (model, f"{number} of {replica}" if replica else number)
        found.setdefault(engine, {})[name, tuple(sorted(of.items()))] = value
    return found


def _over(function: Callable[[list[float]], float], values: Mapping[Series, float], metric: Metric) -> float | None:
    found = [value for (name, _), value in values.items() if name == metric.name]
    return function(found) if found else None


def _counted(own: Mapping[Series, float]) -> dict[Series, float]:
    return {series: value for series, value in own.items() if series[0].endswith(_COUNTED)}


def _grown(
    after: Page, engine: _Engine, old: Mapping[Series, float] | None, own: Mapping[Series, float], *, restarted: bool
) -> Tally:
    counted = _counted(own)
    if old is None:
        return _tally(after, engine, counted, own, Since.BIRTH)
    fell = any(value < old.get(series, 0.0) for series, value in counted.items())
    if restarted or fell:
        return _tally(after, engine, counted, own, Since.RESTART)
    grown = {series: value - old.get(series, 0.0) for series, value in counted.items()}
    return _tally(after, engine, grown, own, Since.WINDOW)


def _tally(
    page: Page, engine: _Engine, counted: Mapping[Series, float], own: Mapping[Series, float], since: Since
) -> Tally:
    gauges = {series: value for series, value in own.items() if not series[0].endswith(_COUNTED)}
    return Tally(page.source, *engine, counted=counted, gauges=gauges, since=since)


def _require_order(before: Page, after: Page) -> None:
    """Elastic scaling resets an engine's counters, and a restart all; neither turns back the process's own."""
    started = before.of(around.PROCESS_START_TIME)
    same_process = bool(started) and started == after.of(around.PROCESS_START_TIME)
    rising = (around.PROCESS_START_TIME, *(around.LASTING if same_process else ()))
    if any(_fell(before.of(metric), after.of(metric)) for metric in rising):
        raise DraftboardError(
            f"{before.source} and {after.source}: the counters go backwards, and no restart explains it: "
            "name the earlier page first",
        )


def _fell(before: Mapping[Labels, float], after: Mapping[Labels, float]) -> bool:
    return any(after.get(labels, value) < value for labels, value in before.items())


def _in_words(engine: _Engine) -> str:
    model, number = engine
    return f"{model} engine {number}" if number else model
