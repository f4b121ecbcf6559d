"""The report: what some servers did over a time, from wherever it can be read."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from draftboard import reading
from draftboard.durations import Duration
from draftboard.expr.scope import Level
from draftboard.expr.vector import kept
from draftboard.reading import Growth, Lifetime, Page, Pages, Reader, Recorded, Servers, Since, Source, Tally
from draftboard.report.entries import engine_report, model_report
from draftboard.report.from_prometheus import of_prometheus
from draftboard.report.judge import Case, broken_identities, judge
from draftboard.report.objects import SCHEMA_VERSION, Broken, Judged, ModelReport, Origin, Report, Sampling
from draftboard.settings import Settings
from draftboard.signals.decisions import STATES

Progress = Callable[[str, int, int], None]
_TICKS = 100
_DEFAULTS = Settings()
_UNTOLD = Sampling()
_LIFETIME = (
    "These are totals since the server started: they hide what happened lately, a collapse too. Read the page twice "
    "to see now."
)
_RAY = "Ray Serve names these series its own way: dashboards and rules, which read vllm:..., do not see them"


@dataclass(frozen=True)
class Reading:
    """Pages, what grew up to them, and what they are judged by."""

    pages: Sequence[Page]
    """The latest of each server."""
    grown: Growth
    settings: Settings
    method: str

    def report(self, origin: Origin, *earlier: Page) -> Report:
        """All models on the pages; one without a name where they name none.

        `earlier` pages are named among the sources where they are other files.
        """
        by_model: dict[str, list[Tally]] = {}
        for tally in self.grown.tallies:
            by_model.setdefault(tally.model, []).append(tally)
        return Report(
            schema_version=SCHEMA_VERSION,
            origin=origin,
            sources=tuple(page.source for page in (*earlier, *self.pages)),
            taken_at=next((page.at for page in self.pages), None),
            seconds=self.grown.seconds,
            models=tuple(self._model(tallies) for tallies in by_model.values() or [[]]),
            notes=((_LIFETIME,) if origin is Origin.LIFETIME else ()) + self._notes(),
        )

    def _notes(self) -> tuple[str, ...]:
        spoken = {tally.source for tally in self.grown.tallies}
        silent = [page.source for page in self.pages if page.source not in spoken] if spoken else []
        return (
            *(f"{source}: {STATES['silent'].says}" for source in silent),
            *(f"{page.source}: {_RAY}" for page in self.pages if page.ray),
            *(f"{name}: gone before the second reading; what it counted is missing here" for name in self.grown.gone),
        )

    def _model(self, tallies: Sequence[Tally]) -> ModelReport:
        several = len({tally.source for tally in tallies}) > 1
        names = [_named(tally, several=several) for tally in tallies]
        engines = [self._case([tally], Level.ENGINE, name) for tally, name in zip(tallies, names, strict=True)]
        together = self._case(tallies, Level.MODEL, broken=tuple(one for each in engines for one in each.broken))
        return model_report(
            together,
            next((tally.model for tally in tallies), ""),
            self.method,
            notes=tuple(f"{name} {note}" for tally, name in zip(tallies, names, strict=True) for note in _notes(tally)),
            engines=tuple(
                engine_report(case, together.numbers, tally.engine, tally.source, _notes(tally))
                for tally, case in zip(tallies, engines, strict=True)
            ),
        )

    def _case(self, tallies: Sequence[Tally], level: Level, name: str = "", broken: tuple[Broken, ...] = ()) -> Case:
        """Engines of one model together, or one of them by its name."""
        labels = next((reading.labels_of(tally, self.settings, self.method) for tally in tallies), frozenset())
        numbers = self._readers[level].of(kept(labels, level.labels(self.settings)))
        sources = {tally.source for tally in tallies} or {page.source for page in self.pages}
        return Case(
            numbers,
            self.grown.seconds,
            broken or (broken_identities(numbers, name) if level is Level.ENGINE else ()),
            v0=any(page.v0 for page in self.pages if page.source in sources),
        )

    @cached_property
    def _readers(self) -> dict[Level, Reader]:
        counts = reading.counts_of(self.grown.tallies, self.settings, self.method)
        return {level: Reader(counts, level) for level in (Level.MODEL, Level.ENGINE)}


def judged(tally: Tally, seconds: float | None, method: str, settings: Settings) -> Judged:
    """One engine's counts, judged by themselves."""
    labels = reading.labels_of(tally, settings, method)
    reader = Reader(reading.counts_of([tally], settings, method), Level.ENGINE)
    return judge(Case(reader.of(labels), seconds))


def _named(tally: Tally, *, several: bool) -> str:
    number = f"engine {tally.engine}" if tally.engine else "the engine"
    return f"{number} of {tally.source}" if several else number


def _notes(tally: Tally) -> tuple[str, ...]:
    if tally.since is Since.RESTART:
        return ("restarted in between: what it counted before is lost",)
    return ("appeared in between",) if tally.since is Since.BIRTH else ()


def report(
    source: Source | str,
    settings: Settings = _DEFAULTS,
    *,
    method: str = "",
    engines: bool = False,
    sampling: Sampling = _UNTOLD,
    progress: Progress = lambda *_: None,
    sleep: Callable[[float], None] = time.sleep,
) -> Report:
    """Look at a source and judge every model there.

    Args:
        source: What to look at; a text is the address of a server.
        settings: Thresholds, costs and names.
        method: How tokens are drafted, where no label says it.
        engines: Whether a Prometheus is asked for every engine, too; pages tell of them anyway.
        sampling: How requests asked for tokens, to be kept with the report: a comparison wants it alike.
        progress: Is told what is being done, how many steps are done, and how many there are.
        sleep: Waits so many seconds between two readings.

    Raises:
        DraftboardError: the source cannot be read.
    """
    if isinstance(source, str):
        source = Servers((source,))
    found = _found(source, settings, method, engines=engines, progress=progress, sleep=sleep)
    return replace(found, sampling=sampling)


def report_each(
    source: Servers,
    settings: Settings,
    methods: Sequence[str],
    *,
    progress: Progress = lambda *_: None,
    sleep: Callable[[float], None] = time.sleep,
) -> tuple[Report, ...]:
    """Look at servers over the same time, and report of each by itself; `methods` says how each drafts, where known.

    Raises:
        DraftboardError: one of them cannot be read.
    """
    watched = zip(*_watch(source, progress, sleep), methods, strict=True)
    return tuple(Reading([page], grown, settings, method).report(Origin.SCRAPES) for page, grown, method in watched)


def _found(
    source: Source,
    settings: Settings,
    method: str,
    *,
    engines: bool,
    progress: Progress,
    sleep: Callable[[float], None],
) -> Report:
    match source:
        case Servers():
            pages, grown = _watch(source, progress, sleep)
            return Reading(pages, reading.together(grown), settings, method).report(Origin.SCRAPES)
        case Pages():
            earlier, later = reading.load(source.before), reading.load(source.after)
            between = reading.growth(earlier, later, source.window.seconds if source.window else None)
            return Reading([later], between, settings, method).report(Origin.PAGES, earlier)
        case Lifetime():
            page = reading.load(source.page)
            return Reading([page], reading.lifetime(page), settings, method).report(Origin.LIFETIME)
        case Recorded():
            return of_prometheus(source, settings, method, engines=engines, progress=progress)


def _watch(
    source: Servers, progress: Progress, sleep: Callable[[float], None]
) -> tuple[tuple[Page, ...], list[Growth]]:
    """The later pages, and what grew up to each."""
    before = reading.scrape(source.addresses, source.access, source.limits)
    _wait(source.window, progress, sleep)
    pages = reading.scrape(source.addresses, source.access, source.limits)
    return pages, [reading.growth(old, new) for old, new in zip(before, pages, strict=True)]


def _wait(window: Duration, progress: Progress, sleep: Callable[[float], None]) -> None:
    for tick in range(_TICKS):
        progress(f"reading twice, {window} apart", tick, _TICKS)
        sleep(window.seconds / _TICKS)
