"""Pages of vLLM servers: is every series there that is read, do the counters move, and do they agree?"""

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from draftboard.access import Access
from draftboard.catalogue import serving, speculation
from draftboard.doctor.buckets import FAMILIES, against, finite
from draftboard.doctor.finding import Examination, Finding, note, problem, warning
from draftboard.doctor.series import Server, all_readers, missing_series
from draftboard.durations import Duration
from draftboard.expr.scope import Level
from draftboard.reading import (
    Growth,
    Page,
    Reader,
    Tally,
    counts_of,
    growth,
    is_saved,
    labels_of,
    lifetime,
    load,
    scrape,
)
from draftboard.report import broken_identities
from draftboard.settings import Settings
from draftboard.settings.fields import LONGEST_DRAFT
from draftboard.signals.acceptance import acceptance
from draftboard.signals.traffic import accepted_tokens, accepted_tokens_per_pos, draft_tokens, drafts
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
            findings += _since_start(tally, settings)
        for family, histogram in FAMILIES.items():
            bounds = finite(dict(labels).get("le", "") for labels in page.of(histogram.bucket))
            findings += against(page.source, histogram.name, bounds, family, settings) if bounds else ()
    for before, after in zip(pages, later, strict=False):
        findings += _moving(growth(before, after), after)
    return Examination(", ".join(page.source for page in pages), tuple(findings))


def _since_start(tally: Tally, settings: Settings) -> Iterator[Finding]:
    """Whether the counters are possible, what share of drafted tokens was accepted, and what dashboards do not show."""
    who, least = _who(tally), settings.traffic.drafts_to_judge
    numbers = Reader(counts_of([tally], settings), Level.ENGINE).of(labels_of(tally, settings))
    positions = len(numbers.by(accepted_tokens_per_pos))
    if positions > settings.max_draft_tokens:
        what = f"{positions} positions: dashboards and records cover only {settings.max_draft_tokens}"
        yield warning(who, what, f"set max_draft_tokens = {min(positions, LONGEST_DRAFT)} in the settings")
    counted, drafted, accepted = (numbers.value(signal) for signal in (drafts, draft_tokens, accepted_tokens))
    if not counted or drafted is None or accepted is None or not positions:
        return
    broken = broken_identities(numbers, who)
    for one in broken:
        what = f"the counters contradict each other: {one.says} (off by {one.error:.0%})"
        yield problem(who, what, "check whether two servers write into one PROMETHEUS_MULTIPROC_DIR")
    if broken:
        return
    share = numbers.value(acceptance) or 0.0
    band = acceptance.step_of(share, settings)
    what = f"{share:.0%} of {drafted:,.0f} drafted tokens since its start were accepted"
    what += f", which is {band.says} (a rule of thumb); "
    if counted < least:
        what = f"{counted:,.0f} drafts since its start: too few to judge acceptance ({least:,.0f} are needed)"
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
