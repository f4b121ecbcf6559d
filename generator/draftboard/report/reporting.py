"""The report: what some servers did over a time, from wherever it can be read."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

from draftboard import reading
from draftboard.catalogue.dialects import LOOKED_FOR, Dialect
from draftboard.errors import DraftboardError
from draftboard.expr.counts import Counts
from draftboard.expr.vector import Labels, kept, value_of
from draftboard.output import Progress, no_progress
from draftboard.report.judge import broken_identities, engine_report, judge, missing_of_dialect, model_report
from draftboard.report.measuring import MEASURED, Measuring, measuring, parts_of
from draftboard.report.objects import (
    APPEARED,
    RESTARTED,
    SCHEMA_VERSION,
    Broken,
    Judged,
    ModelReport,
    Origin,
    Report,
    Sampling,
)
from draftboard.report.own import of_growth
from draftboard.report.verdict import Case
from draftboard.settings import Settings, method_of
from draftboard.signals import Level
from draftboard.signals.states import STATES

_LIFETIME = (
    "These are totals since the server started, which hide recent changes. Save the page twice to see the time between."
)
_UNREAD = (
    "{engine} has series names of its own: dashboards and rules read them only if built with `[series] "
    'dialect = "{name}"`'
)
_NO_BASELINE = (
    "{} and {}: neither is of a model that the other serves without speculation: give two pages of one server as "
    "--before and --after"
)
_NOTHING = f"no series of an engine that Draftboard knows: looked for names that begin with {LOOKED_FOR}"
_DEFAULTS = Settings()
_UNTOLD = Sampling()
_NOBODYS = reading.Entry((), is_baseline=False)


def report(
    source: reading.Source | str,
    settings: Settings = _DEFAULTS,
    *,
    method: str = "",
    engines: bool | None = None,
    sampling: Sampling = _UNTOLD,
    progress: Progress = no_progress,
    sleep: Callable[[float], None] = time.sleep,
) -> Report:
    """Look at a source (a text is the address of a server) and judge every model there.

    `method` is how tokens are drafted, where no label says it; `engines`: whether every engine is judged, too, by
    default those of pages; `sampling` is kept with the report; `progress` gets the task, the steps done and their
    number. A source that cannot be read is a DraftboardError.
    """
    method = method_of(method, settings)
    match reading.Servers((source,)) if isinstance(source, str) else source:
        case reading.Recorded() as recorded:
            from draftboard.report.from_prometheus import of_prometheus  # noqa: PLC0415

            result = of_prometheus(recorded, settings, method, engines=bool(engines), progress=progress)
        case pages:
            result = read(pages, settings, method, progress=progress, sleep=sleep).report(engines=engines is not False)
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
    method = method_of(method, settings)
    match source:
        case reading.Servers():
            from draftboard.reading.watching import all_failed, watch  # noqa: PLC0415

            watched, missing = watch(source, progress, sleep)
            found = list[tuple[reading.Page, reading.Growth, Sequence[reading.Growth]]]()
            for each in watched:
                try:
                    found.append((each[-1], reading.growth(each[0], each[-1]), reading.in_parts(each)))
                except DraftboardError as error:  # It is not the other servers'.
                    missing.append(error)
            if not found:
                raise all_failed(missing)
            pages, grown, by_server = zip(*found, strict=True)
            parts = [*map(reading.together, zip(*by_server, strict=True))]
            return Reading(pages, reading.together(grown), settings, method, parts, unread=tuple(map(str, missing)))
        case reading.Pages(before, after, window):
            earlier, later = reading.load(before), reading.load(after)
            between = reading.growth(earlier, later, window.seconds if window else None)
            return Reading([later], between, settings, method, origin=Origin.PAGES, earlier=(earlier,))
        case reading.Lifetime(path, baseline):
            both = [reading.load(each) for each in (path, baseline) if each]
            lifetimes = reading.together([reading.lifetime(page) for page in both])
            result = Reading(both, lifetimes, settings, method, origin=Origin.LIFETIME)
            if baseline and not result.baselines:
                raise DraftboardError(_NO_BASELINE.format(path, baseline))
            return result


def report_each(
    source: reading.Servers,
    settings: Settings,
    methods: Sequence[str],
    *,
    progress: Progress = no_progress,
    sleep: Callable[[float], None] = time.sleep,
) -> tuple[Report, ...]:
    """Look at servers over the same time, and report of each by itself; `methods` says how each drafts, where known."""
    from draftboard.reading.watching import watch  # noqa: PLC0415

    named = [method_of(method, settings) for method in methods]
    watched, _ = watch(source, progress, sleep, needs_all=True)
    return tuple(of_pages(pages, settings, method) for pages, method in zip(watched, named, strict=True))


def of_pages(pages: Sequence[reading.Page], settings: Settings, method: str) -> Report:
    """The report of one server that was read several times, of the time from the first page to the last."""
    grown, parts = reading.growth(pages[0], pages[-1]), tuple[reading.Growth, ...]()
    with suppress(DraftboardError):  # The whole stands without its parts.
        parts = reading.in_parts(pages)
    return Reading([pages[-1]], grown, settings, method, parts).report()


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
    unread: tuple[str, ...] = ()  # Why further servers have no page.

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
        """What all engines counted, and what baselines among them measure."""
        counts = reading.counts_of(self.grown.tallies, self.settings, self.method)
        if not self.baselines:
            return counts
        answers: dict[tuple[str, Level], dict[Labels, float]] = {
            (signal.name, level): {} for signal in MEASURED for level in (Level.MODEL, Level.ENGINE)
        }
        for entry in self.entries:
            if entry.is_baseline or not (found := self._measuring.get(entry.model)):
                continue
            own = kept(entry.labels(self.settings, self.method)[0], Level.MODEL.labels(self.settings))
            for signal, number in found.answers.items():
                answers[signal.name, Level.MODEL][own] = number
        return replace(counts, answers=answers)

    @cached_property
    def entries(self) -> tuple[reading.Entry, ...]:
        """The engines of each model, and apart from them those of its baseline."""
        return reading.entries_of(self.grown.tallies)

    @cached_property
    def baselines(self) -> dict[str, reading.Entry]:
        """The engines of models that run without speculation beside others that run with it."""
        return {entry.model: entry for entry in self.entries if entry.is_baseline}

    @cached_property
    def _measuring(self) -> dict[str, Measuring]:
        pairs = ((one, self.baselines.get(one.model)) for one in self.entries if not one.is_baseline)
        return {
            own.model: measuring(
                own.tallies, plain.tallies, self._parts_of[own.model], self.grown.seconds, self.settings
            )
            for own, plain in pairs
            if plain
        }

    @cached_property
    def _parts_of(self) -> Mapping[str, Sequence[reading.Growth]]:
        """The parts of the time with the engines of one model each."""
        result: dict[str, list[reading.Growth]] = {entry.model: [] for entry in self.entries}
        for part in self.parts:
            own: dict[str, list[reading.Tally]] = {}
            for tally in part.tallies:
                own.setdefault(tally.model, []).append(tally)
            for model, parts in result.items():
                parts.append(replace(part, tallies=tuple(own.get(model, ()))))
        return result

    def report(self, *, engines: bool = True) -> Report:
        """All models on the pages, engines of one together, and with `engines` each by itself too."""
        return Report(
            schema_version=SCHEMA_VERSION,
            origin=self.origin,
            sources=self.sources,
            taken_at=self.at,
            seconds=self.grown.seconds,
            # One model without a name where the pages name none.
            models=tuple(self._model(entry, engines=engines) for entry in self.entries or [_NOBODYS]),
            notes=((_LIFETIME,) if self.origin is Origin.LIFETIME else ()) + self._notes(),
            dialect=self.settings.dialect.name,
        )

    def _notes(self) -> tuple[str, ...]:
        spoken = {tally.source for tally in self.grown.tallies}
        silent = [page.source for page in self.pages if page.source not in spoken] if spoken else []
        return (
            *(f"{reason} (left out)" for reason in self.unread),
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

    def _model(self, entry: reading.Entry, *, engines: bool) -> ModelReport:
        tallies, labels = entry.tallies, entry.labels(self.settings, self.method)
        several = len({tally.source for tally in tallies}) > 1
        names = [_named(tally, several=several) for tally in tallies]
        cases = [
            self._case([tally], own, Level.ENGINE, name)
            for tally, own, name in zip(tallies, labels, names, strict=True)
        ]
        broken = tuple(one for case in cases for one in case.broken)
        parts = self._parts_of.get(entry.model, ())
        baseline = None if entry.is_baseline else self.baselines.get(entry.model)
        beside = (self._whole(baseline).numbers,) if baseline else ()
        names_of = self.settings.labels
        found = self._measuring.get(entry.model) if beside else None
        whole = replace(
            self._whole(entry, broken),
            baselines=beside,
            steps=of_growth(parts, tallies),
            standardised=found.standardised if found else None,
        )
        apart = (
            engine_report(case, whole.numbers, tally.engine, tally.source, _notes(tally))
            for tally, case in zip(tallies, cases, strict=True)
        )
        notes = [f"{name} {note}" for tally, name in zip(tallies, names, strict=True) for note in _notes(tally)]
        if found and found.why:
            notes.append(f"The baseline measures no speedup: {found.why}")
        method, verification = (
            value_of(whole.numbers.labels, label) for label in (names_of.spec_method, names_of.spec_verification)
        )
        return model_report(
            *(whole, entry.model, method or self.method),
            labels={names_of.spec_verification: verification} if verification else {},
            notes=tuple(notes),
            engines=tuple(apart) if engines else (),
            parts=parts_of(parts, tallies),
        )

    def _whole(self, entry: reading.Entry, broken: tuple[Broken, ...] = ()) -> Case:
        labels = next(iter(entry.labels(self.settings, self.method)), frozenset[tuple[str, str]]())
        return self._case(entry.tallies, labels, Level.MODEL, broken=broken)

    def _case(
        self,
        tallies: Sequence[reading.Tally],
        labels: Labels,
        level: Level,
        name: str = "",
        broken: tuple[Broken, ...] = (),
    ) -> Case:
        numbers = self._readers[level].of(kept(labels, level.labels(self.settings)))
        v0 = any(tally.source in self._v0 for tally in tallies) if tallies else bool(self._v0)
        own = broken_identities(numbers, name) if level is Level.ENGINE else ()
        return Case(numbers, self.grown.seconds, broken or own, v0)

    @cached_property
    def _v0(self) -> set[str]:
        """The pages of vLLM's V0 engine."""
        return {page.source for page in self.pages if page.v0}

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
        return (RESTARTED,)
    return (APPEARED,) if tally.since is reading.Since.BIRTH else ()
