"""Growth of engines' counters between two pages, restarts allowed for."""

import math
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import NamedTuple

from draftboard.catalogue import Metric, around, probe, speculation
from draftboard.errors import DraftboardError
from draftboard.reading.page import ENGINE, MODEL, REPLICA, Page
from draftboard.reading.samples import REMEMBERED, Labels, Series

_COUNTED = ("_total", "_bucket", "_sum", "_count")  # Suffixes of counters; the other series are gauges.
_OF_PROCESS = {metric.name for metric in (around.PROCESS_START_TIME, *around.LASTING)}
MOST_ENGINES = 1_000
"""Of a page: each is judged by itself."""
_SKEW = 300.0
"""Seconds that the clocks of a server and of its reader may differ."""
_NAMING = (MODEL, ENGINE, REPLICA)
_Engine = tuple[str, str]  # Model and engine.
_Own = Mapping[Series, float]  # An engine's series, without the labels that name it.


class Since(Enum):
    """Start of an engine's counts."""

    WINDOW = "the first reading"
    RESTART = "a restart within the window"
    BIRTH = "its appearance within the window"
    START = "its start"


@dataclass(frozen=True)
class Tally:
    """Growth of one engine's counters, and its gauges at the end."""

    source: str  # Address or path of its page, without secrets.
    model: str
    engine: str
    """Its number as vLLM labels it, with Ray's replica where there is one; empty where engines have no number."""
    counted: Mapping[Series, float]  # Growth of each counter, by name and by the labels beyond model and engine.
    gauges: Mapping[Series, float]
    since: Since = Since.WINDOW
    positions_before: tuple[Series, ...] = ()  # Positions of a draft that the first reading had.

    def total(self, metric: Metric) -> float | None:
        """Growth of a counter over all its labels; None where it is not exposed."""
        return self._totals.get(metric.name)

    @cached_property
    def info(self) -> Mapping[str, str]:
        """Labels of the info series of the plugin for vLLM; empty without it."""
        return next((dict(labels) for metric, labels in self.gauges if metric == probe.INFO.name), {})

    @cached_property
    def _totals(self) -> Mapping[str, float]:
        totals: dict[str, float] = {}
        for (name, _), value in self.counted.items():
            totals[name] = totals.get(name, 0.0) + value
        return totals


@dataclass(frozen=True)
class Growth:
    """Growth of engines' counters over the same time."""

    tallies: tuple[Tally, ...]
    seconds: float | None  # None where the time is unknown, and with it every rate.
    gone: tuple[str, ...] = ()  # Engines that are on the first page only, in words.


def lifetime(page: Page) -> Growth:
    """Counts of a page's engines since they started."""
    return Growth(tuple(_tally(page, engine, own, Since.START) for engine, own in _by_engine(page).items()), None)


def growth(before: Page, after: Page, seconds: float | None = None) -> Growth:
    """Growth between two pages of a server; `seconds` is the time between pages that do not know their own.

    A counter that fell restarted at 0, with all counters of its engine, as Prometheus counts. A new engine began at 0.
    Pages of different servers, or in the wrong order, raise DraftboardError.
    """
    restarted = _is_restarted(before, after)
    old, new = _by_engine(before), _by_engine(after)
    if old and new and not old.keys() & new.keys():
        raise DraftboardError(_apart(before, after, "no engine is on both pages: are they from one server?"))
    tallies = [_grown(after, engine, old.get(engine), own, restarted=restarted) for engine, own in sorted(new.items())]
    if before.at is not None and after.at is not None:
        seconds = after.at - before.at
    gone = (f"{model} engine {number}" if number else model for model, number in sorted(old.keys() - new.keys()))
    return Growth(tuple(tallies), seconds, tuple(gone))


def together(growths: Sequence[Growth]) -> Growth:
    """Several servers as one; the longest time counts, as servers are read one after the other."""
    spans = [each.seconds for each in growths if each.seconds is not None]
    return Growth(
        tuple(tally for each in growths for tally in each.tallies),
        max(spans) if len(spans) == len(growths) else None,
        tuple(name for each in growths for name in each.gone),
    )


def in_parts(pages: Sequence[Page]) -> tuple[Growth, ...]:
    """Growth between each two of a server's pages in turn: parts whose sum is the growth from the first to the last.

    What an engine counted before it restarted or vanished is not in the whole, and so in no part. DraftboardError
    where pages in between contradict the others.
    """
    names = {name for page in pages[1:-1] for name, _ in page.values}  # Of the few series that they were read for.
    return _parts([_with(page, names) for page in pages] if names else pages)


def _with(page: Page, names: AbstractSet[str]) -> Page:
    """The page with these series only."""
    return replace(page, values={series: value for series, value in page.values.items() if series[0] in names})


def _parts(pages: Sequence[Page]) -> tuple[Growth, ...]:
    parts: list[Growth] = []
    counted = set(_by_engine(pages[-1]))
    for before, after in reversed(list(pairwise(pages))):
        grown = growth(before, after)
        tallies = tuple(one for one in grown.tallies if (one.model, one.engine) in counted)
        parts.append(replace(grown, tallies=tallies))
        counted = {(one.model, one.engine) for one in tallies if one.since is Since.WINDOW}
    return tuple(reversed(parts))


def _by_engine(page: Page) -> dict[_Engine, dict[Series, float]]:
    """Series of each engine; where engines are numbered, a series without a number belongs to the HTTP side."""
    of_engine = {name for name in {name for name, _ in page.values} if page.of_engine(name)}
    numbered = any(_whose(labels).numbered for name, labels in page.values if name in of_engine)
    engines: dict[_Engine, dict[Series, float]] = {}
    for (name, labels), value in page.values.items():
        whose = _whose(labels) if name in of_engine else _NOBODYS
        if whose.engine and (whose.numbered or not numbered):
            engines.setdefault(whose.engine, {})[name, whose.own] = value
    if len(engines) > MOST_ENGINES:
        raise DraftboardError(f"{page.source}: {len(engines):,} engines, over {MOST_ENGINES:,}: not a server's page")
    return engines


class _Whose(NamedTuple):
    """What the labels of a series say of its engine."""

    engine: _Engine | None  # None without a model.
    numbered: bool
    own: Labels  # Without those that name the engine.


_NOBODYS = _Whose(None, numbered=False, own=())


@lru_cache(REMEMBERED)
def _whose(labels: Labels) -> _Whose:
    of = dict(labels)
    model, number, replica = of.get(MODEL), of.get(ENGINE), of.get(REPLICA)
    engine = None if model is None else (model, f"{number or ''} of {replica}" if replica else number or "")
    return _Whose(engine, number is not None, _shared(tuple([pair for pair in labels if pair[0] not in _NAMING])))


@lru_cache(REMEMBERED)
def _shared(labels: Labels) -> Labels:
    """One object for equal labels, which all models have."""
    return labels


def _grown(after: Page, engine: _Engine, old: _Own | None, own: _Own, *, restarted: bool) -> Tally:
    if old is None:
        return _tally(after, engine, own, Since.BIRTH)
    grown = _tally(after, engine, own, Since.WINDOW, old)
    if restarted or any(value < 0 for value in grown.counted.values()):
        grown = _tally(after, engine, own, Since.RESTART)
    drafted = after.dialect.drafted_by_position if after.dialect else None
    by_position = (drafted or speculation.ACCEPTED_TOKENS_PER_POS).name
    before = tuple(series for series in old if series[0] == by_position)
    return replace(grown, positions_before=before)


def _tally(page: Page, engine: _Engine, own: _Own, since: Since, old: _Own | None = None) -> Tally:
    start = old or {}
    gauges = {series: value for series, value in own.items() if not series[0].endswith(_COUNTED)}
    counted = {series: value - start.get(series, 0) for series, value in own.items() if series not in gauges}
    return Tally(page.source, *engine, counted=counted, gauges=gauges, since=since)


def _is_restarted(before: Page, after: Page) -> bool:
    """Whether another process answers; DraftboardError where the earlier page is not the one before.

    Elastic scaling resets an engine's counters, and a restart all; neither turns back the process's own.
    """
    old, new = _of_process(before), _of_process(after)
    start = around.PROCESS_START_TIME.name
    started, starts = ({one: value for one, value in page.items() if one[0] == start} for page in (old, new))
    compared = old if started and started == starts else started
    if any(new.get(series, value) < value for series, value in compared.items()):
        raise DraftboardError(_apart(before, after, "counters decrease without a restart: name the earlier page first"))
    born = max(starts.values(), default=math.inf)
    if started and started != starts and before.at is not None and born < before.at - _SKEW:
        raise DraftboardError(_apart(before, after, "the later process is older than the earlier page"))
    return started != starts


def _apart(before: Page, after: Page, why: str) -> str:
    """Why two pages are not of one server: files are told apart, and at an address there are several servers."""
    if before.at is None or before.source != after.source:
        return f"{before.source} and {after.source}: {why}"
    return f"{before.source}: several servers answer at this address in turn: give the address of each"


def _of_process(page: Page) -> dict[Series, float]:
    return {series: value for series, value in page.values.items() if series[0] in _OF_PROCESS}
