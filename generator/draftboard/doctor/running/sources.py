"""Where pages come from: servers, which are read twice, and files, which are as old as they are."""

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from draftboard.access import Access
from draftboard.doctor.finding import Examination
from draftboard.doctor.running.pages import examine_pages
from draftboard.durations import Duration
from draftboard.reading import is_saved, load, scrape
from draftboard.settings import Settings

Progress = Callable[[str, int, int], None]


def examine_sources(
    sources: Sequence[str],
    settings: Settings,
    *,
    window: Duration,
    access: Access,
    progress: Progress = lambda *_: None,
) -> Iterator[Examination]:
    """All saved pages together, then all servers together, read twice so long apart.

    Raises:
        DraftboardError: a source cannot be read, or is no page of metrics.
    """
    saved = [source for source in sources if is_saved(source)]
    servers = [source for source in sources if source not in saved]
    if saved:
        yield examine_pages([load(Path(path)) for path in saved], (), settings)
    if servers:
        before = scrape(servers, access)
        for second in range(window.seconds):
            progress("reading again soon", second, window.seconds)
            time.sleep(1)
        yield examine_pages(before, scrape(servers, access), settings)
