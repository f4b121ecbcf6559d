"""Pages of servers: missing series, bounds of histograms, counters that stand still or contradict each other."""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from draftboard import reading
from draftboard.access import Access
from draftboard.catalogue import probe, serving, speculation
from draftboard.doctor.buckets import FAMILIES, finite, other_bounds
from draftboard.doctor.finding import Examination, Finding
from draftboard.doctor.releases import UNKNOWN, Release
from draftboard.doctor.series import Server, all_readers, missing_series
from draftboard.durations import Duration
from draftboard.output import Progress
from draftboard.reading import fetch
from draftboard.report import broken_identities
from draftboard.settings import Settings
from draftboard.settings.fields import LONGEST_DRAFT
from draftboard.signals import Level, traffic
from draftboard.signals.acceptance import acceptance
from draftboard.status import Status


def examine_sources(
    sources: Sequence[str],
    settings: Settings,
    window: Duration,
    access: Access,
    *,
    progress: Progress,
    release: Release = UNKNOWN,
) -> Iterator[Examination]:
    """Examine saved pages, then servers twice, `window` apart; raises DraftboardError if one has no page of metrics."""
    saved = [source for source in sources if reading.is_saved(source)]
    if saved:
        yield examine_pages([reading.load(Path(path)) for path in saved], (), settings, release)
    if servers := [source for source in sources if source not in saved]:
        before = fetch.scrape(servers, access)
        for second in range(window.seconds):
            progress("second reading", second, window.seconds)
            time.sleep(1)
        yield examine_pages(before, fetch.scrape(servers, access), settings, release)


def examine_pages(
    pages: Sequence[reading.Page], later: Sequence[reading.Page], settings: Settings, release: Release = UNKNOWN
) -> Examination:
    """Examine pages of servers, and later pages of the same servers, or none; raises DraftboardError for others."""
    now = later or pages
    servers = [_server_of(page) for page in now]
    findings = [*missing_series(servers, settings, all_readers(settings), release)]
    if later and release.version and not any(page.of(probe.INFO) for page in now):
        findings.append(Finding.of("release", ", ".join(page.source for page in now), release=release.version))
    for page in now:
        dialect = page.dialect or settings.dialect
        for tally in reading.lifetime(page).tallies:
            findings += _since_start(tally, settings.speaking(dialect))
        for family, histogram in FAMILIES.items():
            bounds = finite(dict(labels).get("le", "") for labels in page.of(histogram.bucket))
            name = dialect.named(histogram.name)
            findings += other_bounds(page.source, name, bounds, family, settings) if bounds else ()
    for before, after in zip(pages, later, strict=False):
        findings += _moving(reading.growth(before, after), after)
    return Examination(", ".join(page.source for page in pages), tuple(findings))


def _server_of(page: reading.Page) -> Server:
    info = next((dict(labels) for labels in page.of(probe.INFO)), {})
    adaptive = info.get("adaptive") == "true"
    return Server(
        page.source,
        frozenset(page.by_name),
        dialect=page.dialect,
        reported_method=info.get("method", ""),
        adaptive=adaptive,
    )


def _since_start(tally: reading.Tally, settings: Settings) -> Iterator[Finding]:
    """Whether the counters are possible, what share of drafted tokens was accepted, and what dashboards do not show."""
    who, least, longest = _who(tally), settings.traffic.drafts_to_judge, settings.max_draft_tokens
    counts = reading.Reader(reading.counts_of([tally], settings), Level.ENGINE)
    numbers = counts.of(reading.labels_of(tally, settings))
    positions = len(numbers.by(traffic.accepted_tokens_per_pos))
    if positions > longest:
        covered = min(positions, LONGEST_DRAFT)
        yield Finding.of("many-positions", who, positions=positions, longest=longest, covered=covered)
    needed = (traffic.drafts, traffic.draft_tokens, traffic.accepted_tokens)
    counted, drafted, accepted = (numbers.value(signal) for signal in needed)
    if not counted or drafted is None or accepted is None:
        return
    if broken := broken_identities(numbers, who):
        for one in broken:
            yield Finding.of("contradiction", who, says=one.says, error=one.error)
    elif counted < least:
        yield Finding.of("few-drafts", who, drafts=counted, least=least)
    else:
        share = numbers.value(acceptance) or 0.0
        band = acceptance.step_of(share, settings)
        yield Finding.of(
            _how_much(share, drafted, band.status, settings), who, share=share, drafted=drafted, band=band.says
        )


def _how_much(share: float, drafted: float, status: Status, settings: Settings) -> str:
    """The finding on an acceptance: a drafter that does not fit, a bad one, any other."""
    if drafted >= settings.traffic.draft_tokens_to_judge_fit and share < settings.thresholds.unfit:
        return "unfit-drafter"
    return "low-acceptance" if status is Status.BAD else "acceptance"


def _moving(grown: reading.Growth, page: reading.Page) -> Iterator[Finding]:
    span = f"within {grown.seconds:.0f} s" if grown.seconds is not None else "between the two readings"
    for engine in grown.gone:
        yield Finding.of("stopped", page.source, engine=engine, span=span)
    for tally in grown.tallies:
        if not (generated := tally.total(serving.GENERATION_TOKENS)):
            yield Finding.of("idle", _who(tally), span=span)
        elif tally.total(speculation.DRAFTS) == 0:
            yield Finding.of("nothing-drafted", _who(tally), generated=generated, span=span)


def _who(tally: reading.Tally) -> str:
    return f"{tally.model}{f' engine {tally.engine}' if tally.engine else ''} at {tally.source}"
