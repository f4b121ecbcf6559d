"""The report: what some servers did over a time, from wherever it can be read."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from draftboard.durations import Duration
from draftboard.reading.fetch import load, scrape
from draftboard.reading.growth import Growth, growth, lifetime, together
from draftboard.reading.page import Page
from draftboard.reading.sources import Lifetime, Pages, Recorded, Servers, Source
from draftboard.report.from_pages import Reading
from draftboard.report.from_prometheus import of_prometheus
from draftboard.report.objects import Origin, Report, Sampling
from draftboard.settings import Settings

Progress = Callable[[str, int, int], None]
_TICKS = 100
_DEFAULTS = Settings()
_UNTOLD = Sampling()


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
            return Reading(pages, together(grown), settings, method).report(Origin.SCRAPES)
        case Pages():
            earlier, later = load(source.before), load(source.after)
            between = growth(earlier, later, source.window.seconds if source.window else None)
            return Reading([later], between, settings, method).report(Origin.PAGES, earlier)
        case Lifetime():
            page = load(source.page)
            return Reading([page], lifetime(page), settings, method).report(Origin.LIFETIME)
        case Recorded():
            return of_prometheus(source, settings, method, engines=engines, progress=progress)


def _watch(
    source: Servers, progress: Progress, sleep: Callable[[float], None]
) -> tuple[tuple[Page, ...], list[Growth]]:
    """The later pages, and what grew up to each."""
    before = scrape(source.addresses, source.access, source.limits)
    _wait(source.window, progress, sleep)
    pages = scrape(source.addresses, source.access, source.limits)
    return pages, [growth(old, new) for old, new in zip(before, pages, strict=True)]


def _wait(window: Duration, progress: Progress, sleep: Callable[[float], None]) -> None:
    for tick in range(_TICKS):
        progress(f"reading twice, {window} apart", tick, _TICKS)
        sleep(window.seconds / _TICKS)
