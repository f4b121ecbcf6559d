"""Pages of vLLM servers: is every series there that is read, do the counters move, and do they agree?"""

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from draftboard.access import Access
from draftboard.catalogue import serving, speculation
from draftboard.doctor.buckets import FAMILIES, against, finite
from draftboard.doctor.counted import LONGEST_DRAFT, Counted, counted
from draftboard.doctor.finding import Examination, Finding, note, problem, warning
from draftboard.doctor.series import Server, all_readers, missing_series
from draftboard.durations import Duration
from draftboard.report import Growth, Page, Tally, growth, is_saved, lifetime, load, scrape
from draftboard.settings import Settings
from draftboard.status import Status


def examine_sources(
    sources: Sequence[str], settings: Settings, window: Duration, access: Access, progress: Callable[..., None]
) -> Iterator[Examination]:
    """Examine saved pages, then servers twice, `window` apart; raises DraftboardError if one has no page of metrics."""
    saved = [source for source in sources if is_saved(source)]
    if saved:
        yield examine_pages([load(Path(path)) for path in saved], (), settings)
    if servers := [source for source in sources if source not in saved]:
        before = scrape(servers, access)
        for second in range(window.seconds):
            progress("second reading", second, window.seconds)
            time.sleep(1)
        yield examine_pages(before, scrape(servers, access), settings)


def examine_pages(pages: Sequence[Page], later: Sequence[Page], settings: Settings) -> Examination:
    """Examine pages of servers, and later pages of the same servers, or none; raises DraftboardError for others."""
    now = later or pages
    servers = [Server(page.source, frozenset(page.by_name), ray=page.ray) for page in now]
    findings = [*missing_series(servers, settings, all_readers(settings))]
    for page in now:
        for tally in lifetime(page).tallies:
            findings += _since_start(_who(tally), counted(tally, settings), settings)
        for family, histogram in FAMILIES.items():
            bounds = finite(dict(labels).get("le", "") for labels in page.of(histogram.bucket))
            findings += against(page.source, histogram.name, bounds, family, settings) if bounds else ()
    for before, after in zip(pages, later, strict=False):
        findings += _moving(growth(before, after), after)
    return Examination(", ".join(page.source for page in pages), tuple(findings))


def _since_start(who: str, all_time: Counted, settings: Settings) -> Iterator[Finding]:
    """Whether the counters are possible, what share of drafted tokens was accepted, and what dashboards do not show."""
    positions, band, least = all_time.positions, all_time.band, settings.traffic.drafts_to_judge
    if positions > settings.max_draft_tokens:
        what = f"{positions} positions: dashboards and records cover only {settings.max_draft_tokens}"
        yield warning(who, what, f"set max_draft_tokens = {min(positions, LONGEST_DRAFT)} in the settings")
    for says, error in all_time.broken:
        what = f"the counters contradict each other: {says} (off by {error:.0%})"
        yield problem(who, what, "check whether two servers write into one PROMETHEUS_MULTIPROC_DIR")
    if not band or all_time.broken:
        return
    what = f"{all_time.acceptance:.0%} of {all_time.draft_tokens:,.0f} drafted tokens since its start were accepted"
    what += f", which is {band.says} (a rule of thumb); "
    if all_time.drafts < least:
        what = f"{all_time.drafts:,.0f} drafts since its start: too few to judge acceptance ({least:,.0f} are needed)"
        yield note(who, what, "send requests and run the doctor again")
    elif band.status is Status.BAD:
        what += "usual causes: a drafter that is too small, or of another family, tokenizer or fine-tune; a high "
        fix = "`draftboard report` shows at which position it is lost, and whether it still pays"
        yield note(who, f"{what}temperature; a long K", fix)
    else:
        fix = "`draftboard report` compares it with break-even and names the best K"
        yield note(who, f"{what}whether it pays is another question", fix)


def _moving(grown: Growth, page: Page) -> Iterator[Finding]:
    seconds = f"within {grown.seconds:.0f} s" if grown.seconds is not None else "between the two readings"
    for name in grown.gone:
        yield problem(page.source, f"{name} stopped answering {seconds}", "look at the server's log")
    for tally in grown.tallies:
        generated = tally.total(serving.GENERATION_TOKENS)
        if not generated:
            yield note(_who(tally), f"idle: nothing was generated {seconds}", "send requests to see drafts move")
        elif tally.total(speculation.DRAFTS) == 0:
            what = f"{generated:,.0f} tokens were generated {seconds}, but none was drafted"
            fix = "n-gram and suffix draft only where the text repeats; with any other method look at the server's log"
            yield warning(_who(tally), what, fix)


def _who(tally: Tally) -> str:
    return f"{tally.model}{f' engine {tally.engine}' if tally.engine else ''} at {tally.source}"
