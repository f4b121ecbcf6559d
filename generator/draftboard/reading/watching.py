"""Servers read within a window: twice whole, and in between for what its parts count."""

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache

import httpx

from draftboard.catalogue import around, latency, probe, serving, speculation
from draftboard.catalogue.dialects import DIALECTS, Dialect
from draftboard.errors import DraftboardError
from draftboard.intervals import LEAST, PARTS
from draftboard.output import Progress, no_progress, shortened
from draftboard.reading.fetch import scrape_each, urls_of
from draftboard.reading.page import Names, Page
from draftboard.reading.sources import Servers

_TICKS = 100
_PAGES = 2_000
"""Pages between the first and the last, of all servers, from which the time has fewer parts."""
_SHORTEST = 1.0  # Seconds that a page in between may take; the next part has what is missed.
_IN_TIME = 0.05  # Of the window.
_OF_PARTS = (
    *(speculation.DRAFTS, speculation.DRAFT_TOKENS, speculation.ACCEPTED_TOKENS),
    *(latency.TIME_PER_OUTPUT_TOKEN.count, latency.TIME_PER_OUTPUT_TOKEN.sum),
    *(serving.GENERATION_TOKENS, latency.TIME_TO_FIRST_TOKEN.count),
    *(latency.STEP_LATENCY.count, latency.STEP_LATENCY.sum, latency.STEP_TOKENS.count),
    *(probe.DECODE_STEPS, probe.DECODE_STEP_SECONDS, around.PROCESS_START_TIME),
)
"""What is read of the pages in between: what a part counts, steps, and whether the server restarted."""


def watch(
    source: Servers,
    progress: Progress = no_progress,
    sleep: Callable[[float], None] = time.sleep,
    *,
    needs_all: bool = False,
) -> tuple[list[tuple[Page, ...]], list[DraftboardError]]:
    """The pages of each server in order of time, and why others have none.

    The first and the last are needed, and read whole; one in between may be missed. What readings take is waited less,
    so that many servers, or slow ones, do not lengthen the window. The errors are raised without any server, or,
    with `needs_all`, without one of them: before the window where they are known by then.
    """
    urls, began, missing = urls_of(source.addresses), time.monotonic(), dict[httpx.URL, DraftboardError]()
    seconds = source.window.seconds

    def first_readings() -> dict[httpx.URL, Page]:
        answering = [url for url in urls if url not in missing]
        answers = zip(answering, scrape_each(answering, source.access, source.limits), strict=True)
        found = dict[httpx.URL, Page]()
        for url, page in answers:
            if isinstance(page, Page):
                found[url] = page
            else:
                missing[url] = page
        if not found or (missing and needs_all):
            raise all_failed(missing.values())
        return found

    read = first_readings()
    if missing and time.monotonic() - began > _IN_TIME * seconds:  # Else the wait for them would be in the window.
        began, read = time.monotonic(), {}  # Those of before are let go first.
        read = first_readings()
    behind = time.monotonic() - began
    # A quick page in between is as good as none: the last one is not to be late.
    in_between = replace(source.limits, seconds=min(source.limits.seconds, max(_SHORTEST, seconds / PARTS)))
    between = list[dict[httpx.URL, Page | DraftboardError]]()
    every = _TICKS // max(LEAST, min(PARTS, math.floor(_PAGES / len(read))))
    for tick in range(1, _TICKS + 1):
        progress(f"reading for {source.window}", tick - 1, _TICKS)
        wait, behind = seconds / _TICKS - behind, max(0.0, behind - seconds / _TICKS)
        began = time.monotonic()
        sleep(max(0.0, wait))
        behind += max(0.0, time.monotonic() - began - max(0.0, wait))  # A busy machine wakes late.
        if tick % every == 0 and tick < _TICKS:
            began, names = time.monotonic(), [_names(page.dialect) for page in read.values()]
            between.append(dict(zip(read, scrape_each([*read], source.access, in_between, names), strict=True)))
            behind += time.monotonic() - began
    last = dict(zip(read, scrape_each([*read], source.access, source.limits), strict=True))
    missing |= {url: page for url, page in last.items() if isinstance(page, DraftboardError)}
    there = {url: page for url, page in last.items() if isinstance(page, Page)}
    if not there or (missing and needs_all):
        raise all_failed(missing.values())
    # Parts are of all servers: a page that one of them did not answer is missed of all.
    whole = [pages for pages in between if all(isinstance(pages[url], Page) for url in there)]
    pages = [
        (read[url], *(page for each in whole if isinstance(page := each[url], Page)), page_at_end)
        for url, page_at_end in there.items()
    ]
    return pages, list(missing.values())


def all_failed(errors: Iterable[DraftboardError]) -> DraftboardError:
    """One error for servers that all failed."""
    return DraftboardError(shortened([*map(str, errors)], between="; "))


@cache
def _names(dialect: Dialect | None) -> Names:
    """Names of what is read in between, as a server writes them."""
    spoken = dialect or DIALECTS["vllm"]
    drafted = (spoken.drafted_by_position,) if spoken.drafted_by_position else ()
    return tuple(dict.fromkeys(name for metric in (*_OF_PARTS, *drafted) for name in spoken.written(metric)))
