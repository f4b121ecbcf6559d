"""The report: what some servers did over a time, from wherever it can be read."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from functools import cached_property

from draftboard import reading
from draftboard.catalogue.dialects import LOOKED_FOR, Dialect
from draftboard.errors import DraftboardError
from draftboard.expr.counts import Counts
from draftboard.expr.vector import kept, value_of
from draftboard.intervals import PARTS
from draftboard.output import Progress, no_progress
from draftboard.report.from_prometheus import of_prometheus
from draftboard.report.judge import broken_identities, engine_report, judge, missing_of_dialect, model_report
from draftboard.report.numbers import COUNTED, Part
from draftboard.report.objects import SCHEMA_VERSION, Broken, Judged, ModelReport, Origin, Report, Sampling
from draftboard.report.verdict import Case
from draftboard.settings import Settings
from draftboard.signals import Level
from draftboard.signals.states import STATES

_LIFETIME = (
    "These are totals since the server started, which hide recent changes. Save the page twice to see the time between."
)
_UNREAD = (
    "{engine} has series names of its own: dashboards and rules read them only if built with `[series] "
    'dialect = "{name}"`'
)
_NOTHING = f"no series of an engine that Draftboard knows: looked for names that begin with {LOOKED_FOR}"
_TICKS = 100
_DEFAULTS = Settings()
_UNTOLD = Sampling()


def report(
    source: reading.Source | str,
    settings: Settings = _DEFAULTS,
    *,
    method: str = "",
    engines: bool = False,
    sampling: Sampling = _UNTOLD,
    progress: Progress = no_progress,
    sleep: Callable[[float], None] = time.sleep,
) -> Report:
    """Look at a source (a text is the address of a server) and judge every model there.

    `method` is how tokens are drafted, where no label says it; `engines` asks a Prometheus for every engine, too;
    `sampling` is kept with the report; `progress` gets the task, the steps done and their number. A source that cannot
    be read is a DraftboardError.
    """
    match reading.Servers((source,)) if isinstance(source, str) else source:
        case reading.Recorded() as recorded:
            result = of_prometheus(recorded, settings, method, engines=engines, progress=progress)
        case pages:
            result = read(pages, settings, method, progress=progress, sleep=sleep).report()
    return replace(result, sampling=sampling)


def read(
    source: reading.Servers | reading.Pages | reading.Lifetime,
    settings: Settings,
    method: str = "",
    *,
    progress: Progress = no_progress,
    sleep: Callable[[float], None] = time.sleep,
) -> "Reading":
    """Read servers twice or more within their window, or saved pages; DraftboardError where one cannot be read."""
    match source:
        case reading.Servers():
            watched = _watch(source, progress, sleep)
            parts = [reading.together(grown) for grown in zip(*map(reading.in_parts, watched), strict=False)]
            pages, grown = zip(*((each[-1], reading.growth(each[0], each[-1])) for each in watched), strict=True)
            return Reading(pages, reading.together(grown), settings, method, parts)
        case reading.Pages(before, after, window):
            earlier, later = reading.load(before), reading.load(after)
            between = reading.growth(earlier, later, window.seconds if window else None)
            return Reading([later], between, settings, method, origin=Origin.PAGES, earlier=(earlier,))
        case reading.Lifetime(path):
            page = reading.load(path)
            return Reading([page], reading.lifetime(page), settings, method, origin=Origin.LIFETIME)


def report_each(
    source: reading.Servers,
    settings: Settings,
    methods: Sequence[str],
    *,
    progress: Progress = no_progress,
    sleep: Callable[[float], None] = time.sleep,
) -> tuple[Report, ...]:
    """Look at servers over the same time, and report of each by itself; `methods` says how each drafts, where known."""
    watched = zip(_watch(source, progress, sleep), methods, strict=True)
    return tuple(of_pages(pages, settings, method) for pages, method in watched)


def of_pages(pages: Sequence[reading.Page], settings: Settings, method: str) -> Report:
    """The report of one server that was read several times, of the time from the first page to the last."""
    grown = reading.growth(pages[0], pages[-1])
    return Reading([pages[-1]], grown, settings, method, reading.in_parts(pages)).report()


def _watch(
    source: reading.Servers, progress: Progress, sleep: Callable[[float], None]
) -> list[tuple[reading.Page, ...]]:
    """The pages of each server, in order. The first and the last are needed; one in between may be missed.

    What readings take is waited less, so that many servers, or slow ones, do not lengthen the window.
    """
    read, behind = [reading.scrape(source.addresses, source.access, source.limits)], 0.0
    for tick in range(1, _TICKS + 1):
        progress(f"reading for {source.window}", tick - 1, _TICKS)
        wait = source.window.seconds / _TICKS - behind
        sleep(max(0.0, wait))
        behind = max(0.0, -wait)
        if tick % (_TICKS // PARTS) == 0:
            began = time.monotonic()
            with suppress(DraftboardError) if tick < _TICKS else nullcontext():
                read.append(reading.scrape(source.addresses, source.access, source.limits))
            behind += time.monotonic() - began
    return list(zip(*read, strict=True))


@dataclass(frozen=True)
class Reading:
    """Pages, what grew up to them, and what they are judged by."""

    pages: Sequence[reading.Page]  # The latest of each server.
    grown: reading.Growth
    built_for: Settings  # Those of rules and dashboards, which may read another dialect.
    method: str
    parts: Sequence[reading.Growth] = ()  # That growth in parts.
    origin: Origin = Origin.SCRAPES
    earlier: Sequence[reading.Page] = ()  # Those at the beginning of a window, where they are named among the sources.

    @cached_property
    def settings(self) -> Settings:
        """Settings for the dialect of the pages; DraftboardError where they have several that cannot be joined."""
        spoken = {page.dialect: page for page in self.pages if page.dialect}
        if len(spoken) > 1 and any(dialect.spellings for dialect in spoken):
            engines = ", ".join(f"{page.source}: {dialect.engine}" for dialect, page in spoken.items())
            raise DraftboardError(f"different engines count different things ({engines}): name servers of one engine")
        return self.built_for.speaking(next(iter(spoken), self.built_for.dialect))

    @property
    def sources(self) -> tuple[str, ...]:
        """Where the pages come from."""
        return tuple(page.source for page in (*self.earlier, *self.pages))

    @property
    def at(self) -> float | None:
        """When the first of the latest pages was read, in Unix seconds."""
        return next((page.at for page in self.pages), None)

    @cached_property
    def counts(self) -> Counts:
        """What all engines counted."""
        return reading.counts_of(self.grown.tallies, self.settings, self.method)

    def report(self) -> Report:
        """All models on the pages, engines of one together."""
        by_model: dict[str, list[reading.Tally]] = {}
        for tally in self.grown.tallies:
            by_model.setdefault(tally.model, []).append(tally)
        return Report(
            schema_version=SCHEMA_VERSION,
            origin=self.origin,
            sources=self.sources,
            taken_at=self.at,
            seconds=self.grown.seconds,
            # One model without a name where the pages name none.
            models=tuple(self._model(tallies) for tallies in by_model.values() or [[]]),
            notes=((_LIFETIME,) if self.origin is Origin.LIFETIME else ()) + self._notes(),
            dialect=self.settings.dialect.name,
        )

    def _notes(self) -> tuple[str, ...]:
        spoken = {tally.source for tally in self.grown.tallies}
        silent = [page.source for page in self.pages if page.source not in spoken] if spoken else []
        return (
            *(f"{source}: {STATES['silent'].says}" for source in silent),
            *(f"{page.source}: {_NOTHING}" for page in self.pages if not spoken and not page.dialect),
            *(f"{page.source}: {words}" for page in self.pages for words in self._dialect_notes(page.dialect)),
            *(f"{name}: missing in the second scrape; its counts are excluded" for name in self.grown.gone),
        )

    def _dialect_notes(self, dialect: Dialect | None) -> Iterator[str]:
        if dialect is None:
            return
        if dialect is not self.built_for.dialect:
            yield _UNREAD.format(engine=dialect.engine, name=dialect.name)
        yield from missing_of_dialect(dialect)

    def _model(self, tallies: Sequence[reading.Tally]) -> ModelReport:
        several = len({tally.source for tally in tallies}) > 1
        names = [_named(tally, several=several) for tally in tallies]
        cases = [self._case([tally], Level.ENGINE, name) for tally, name in zip(tallies, names, strict=True)]
        whole = self._case(tallies, Level.MODEL, broken=tuple(one for case in cases for one in case.broken))
        engines = (
            engine_report(case, whole.numbers, tally.engine, tally.source, _notes(tally))
            for tally, case in zip(tallies, cases, strict=True)
        )
        notes = (f"{name} {note}" for tally, name in zip(tallies, names, strict=True) for note in _notes(tally))
        model, names_of = next((tally.model for tally in tallies), ""), self.settings.labels
        method, verification = (
            value_of(whole.numbers.labels, label) for label in (names_of.spec_method, names_of.spec_verification)
        )
        return model_report(
            *(whole, model, method or self.method),
            labels={names_of.spec_verification: verification} if verification else {},
            notes=tuple(notes),
            engines=tuple(engines),
            parts=tuple(self._parts(model)),
        )

    def _parts(self, model: str) -> Iterator[Part]:
        for grown in self.parts:
            tallies = [tally for tally in grown.tallies if tally.model == model]
            counted = {name: sum(one.total(metric) or 0.0 for one in tallies) for name, metric in COUNTED.items()}
            yield Part(**counted)

    def _case(
        self, tallies: Sequence[reading.Tally], level: Level, name: str = "", broken: tuple[Broken, ...] = ()
    ) -> Case:
        among = self.grown.tallies
        labels = next((reading.labels_of(tally, self.settings, self.method, among) for tally in tallies), frozenset())
        numbers = self._readers[level].of(kept(labels, level.labels(self.settings)))
        sources = {tally.source for tally in tallies} or {page.source for page in self.pages}
        v0 = any(page.v0 for page in self.pages if page.source in sources)
        own = broken_identities(numbers, name) if level is Level.ENGINE else ()
        return Case(numbers, self.grown.seconds, broken or own, v0)

    @cached_property
    def _readers(self) -> dict[Level, reading.Reader]:
        return {level: reading.Reader(self.counts, level) for level in (Level.MODEL, Level.ENGINE)}


def judged(tally: reading.Tally, seconds: float | None, method: str, settings: Settings) -> Judged:
    """One engine's counts, judged by themselves."""
    reader = reading.Reader(reading.counts_of([tally], settings, method), Level.ENGINE)
    return judge(Case(reader.of(reading.labels_of(tally, settings, method)), seconds))


def _named(tally: reading.Tally, *, several: bool) -> str:
    number = f"engine {tally.engine}" if tally.engine else "the engine"
    return f"{number} of {tally.source}" if several else number


def _notes(tally: reading.Tally) -> tuple[str, ...]:
    if tally.since is reading.Since.RESTART:
        return ("restarted in between: what it counted before is lost",)
    return ("appeared in between",) if tally.since is reading.Since.BIRTH else ()
