"""The report: what some servers did over a time, from wherever it can be read."""

import time
from collections.abc import Callable

from draftboard.durations import Duration
from draftboard.errors import DraftboardError
from draftboard.live.fetch import load, scrape
from draftboard.live.from_pages import Reading
from draftboard.live.from_prometheus import of_prometheus
from draftboard.live.growth import growth, lifetime, together
from draftboard.live.objects import Origin, Report
from draftboard.live.page import Page
from draftboard.live.sources import Lifetime, Pages, Recorded, Servers, Source
from draftboard.settings import Settings

Progress = Callable[[str, int, int], None]
_TICKS = 100
_DEFAULTS = Settings()


def report(
    source: Source | str,
    settings: Settings = _DEFAULTS,
    *,
    method: str = "",
    engines: bool = False,
    progress: Progress = lambda *_: None,
    sleep: Callable[[float], None] = time.sleep,
) -> Report:
    """Look at a source and judge every model there.

    Args:
        source: What to look at; a text is the address of a server.
        settings: Thresholds, costs and names.
        method: How tokens are drafted, where no label says it.
        engines: Whether a Prometheus is asked for every engine, too; pages tell of them anyway.
        progress: Is told what is being done, how many steps are done, and how many there are.
        sleep: Waits so many seconds between two readings.

    Raises:
        DraftboardError: the source cannot be read.
    """
    match source:
        case str():
            return report(Servers((source,)), settings, method=method, progress=progress, sleep=sleep)
        case Servers():
            before = _read(source)
            _wait(source.window, progress, sleep)
            pages = _read(source)
            grown = together([growth(old, new) for old, new in zip(before, pages, strict=True)])
            return Reading(pages, grown, settings, method).report(Origin.SCRAPES)
        case Pages():
            earlier, later = load(source.before), load(source.after)
            grown = growth(earlier, later, source.window.seconds if source.window else None)
            return Reading([later], grown, settings, method).report(Origin.PAGES, earlier)
        case Lifetime():
            page = load(source.page)
            return Reading([page], lifetime(page), settings, method).report(Origin.LIFETIME)
        case Recorded():
            return of_prometheus(source, settings, method, engines=engines, progress=progress)


def _read(source: Servers) -> tuple[Page, ...]:
    if len(set(source.addresses)) < len(source.addresses):
        raise DraftboardError("a server is named twice, and would be counted twice: name each once")
    return scrape(source.addresses, source.access, source.limits)


def _wait(window: Duration, progress: Progress, sleep: Callable[[float], None]) -> None:
    for tick in range(_TICKS):
        progress(f"reading twice, {window} apart", tick, _TICKS)
        sleep(window.seconds / _TICKS)
