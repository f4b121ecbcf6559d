"""Pages of vLLM servers: is every series there that is read, do the counters move, and do they agree?"""

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from draftboard import reading
from draftboard.access import Access
from draftboard.catalogue import serving, speculation
from draftboard.doctor.configuration import FAMILIES, finite, other_bounds
from draftboard.doctor.finding import Examination, Finding, found
from draftboard.doctor.series import Server, all_readers, missing_series
from draftboard.durations import Duration
from draftboard.reading import Growth, Page, Tally
from draftboard.report import broken_identities
from draftboard.settings import Settings
from draftboard.settings.fields import LONGEST_DRAFT
from draftboard.signals import Level
from draftboard.signals.acceptance import acceptance
from draftboard.signals.traffic import accepted_tokens, accepted_tokens_per_pos, draft_tokens, drafts
from draftboard.status import Status


def examine_sources(
    sources: Sequence[str], settings: Settings, window: Duration, access: Access, progress: Callable[..., None]
) -> Iterator[Examination]:
    """Examine saved pages, then servers twice, `window` apart; raises DraftboardError if one has no page of metrics."""
    saved = [source for source in sources if reading.is_saved(source)]
    if saved:
        yield examine_pages([reading.load(Path(path)) for path in saved], (), settings)
    if servers := [source for source in sources if source not in saved]:
        before = reading.scrape(servers, access)
        for second in range(window.seconds):
            progress("second reading", second, window.seconds)
            time.sleep(1)
        yield examine_pages(before, reading.scrape(servers, access), settings)


def examine_pages(pages: Sequence[Page], later: Sequence[Page], settings: Settings) -> Examination:
    """Examine pages of servers, and later pages of the same servers, or none; raises DraftboardError for others."""
    now = later or pages
    servers = [Server(page.source, frozenset(page.by_name), ray=page.ray) for page in now]
    findings = [*missing_series(servers, settings, all_readers(settings))]
    for page in now:
        for tally in reading.lifetime(page).tallies:
            findings += _since_start(tally, settings)
        for family, histogram in FAMILIES.items():
            bounds = finite(dict(labels).get("le", "") for labels in page.of(histogram.bucket))
            findings += other_bounds(page.source, histogram.name, bounds, family, settings) if bounds else ()
    for before, after in zip(pages, later, strict=False):
        findings += _moving(reading.growth(before, after), after)
    return Examination(", ".join(page.source for page in pages), tuple(findings))


def _since_start(tally: Tally, settings: Settings) -> Iterator[Finding]:
    """Whether the counters are possible, what share of drafted tokens was accepted, and what dashboards do not show."""
    who, least, longest = _who(tally), settings.traffic.drafts_to_judge, settings.max_draft_tokens
    counts = reading.Reader(reading.counts_of([tally], settings), Level.ENGINE)
    numbers = counts.of(reading.labels_of(tally, settings))
    positions = len(numbers.by(accepted_tokens_per_pos))
    if positions > longest:
        covered = min(positions, LONGEST_DRAFT)
        yield found("many-positions", who, positions=positions, longest=longest, covered=covered)
    counted, drafted, accepted = (numbers.value(signal) for signal in (drafts, draft_tokens, accepted_tokens))
    if not counted or drafted is None or accepted is None or not positions:
        return
    if broken := broken_identities(numbers, who):
        for one in broken:
            yield found("contradiction", who, says=one.says, error=one.error)
    elif counted < least:
        yield found("few-drafts", who, drafts=counted, least=least)
    else:
        share = numbers.value(acceptance) or 0.0
        band = acceptance.step_of(share, settings)
        kind = "low-acceptance" if band.status is Status.BAD else "acceptance"
        yield found(kind, who, share=share, drafted=drafted, band=band.says)


def _moving(grown: Growth, page: Page) -> Iterator[Finding]:
    span = f"within {grown.seconds:.0f} s" if grown.seconds is not None else "between the two readings"
    for engine in grown.gone:
        yield found("stopped", page.source, engine=engine, span=span)
    for tally in grown.tallies:
        if not (generated := tally.total(serving.GENERATION_TOKENS)):
            yield found("idle", _who(tally), span=span)
        elif tally.total(speculation.DRAFTS) == 0:
            yield found("nothing-drafted", _who(tally), generated=generated, span=span)


def _who(tally: Tally) -> str:
    return f"{tally.model}{f' engine {tally.engine}' if tally.engine else ''} at {tally.source}"
