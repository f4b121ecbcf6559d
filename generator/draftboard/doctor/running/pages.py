"""Pages of vLLM servers: is every series there that is read, do the counters move, and do they agree?"""

from collections.abc import Iterator, Sequence

from draftboard.catalogue import serving, speculation
from draftboard.doctor.finding import Examination, Finding, note, problem, warning
from draftboard.doctor.running import resolution, series
from draftboard.doctor.running.readers import all_readers
from draftboard.doctor.running.server import Server
from draftboard.reading import Growth, Page, Tally, growth, lifetime
from draftboard.report import broken_identities
from draftboard.report.totals import Totals, totals
from draftboard.settings import Settings
from draftboard.signals.acceptance import acceptance
from draftboard.status import Status
from draftboard.theory import LONGEST_DRAFT, Counted


def examine_pages(pages: Sequence[Page], later: Sequence[Page], settings: Settings) -> Examination:
    """Pages of servers, and the same servers' pages a while later: empty where there is but one reading of each.

    Raises:
        DraftboardError: two pages are not of one server.
    """
    now = later or pages
    findings = list(series.explain([_server(page) for page in now], settings, all_readers(settings)))
    for page in now:
        findings += _counters(page, settings)
        findings += resolution.of_page(page, settings)
    for before, after in zip(pages, later, strict=False):
        findings += _moving(growth(before, after), after)
    return Examination(", ".join(page.source for page in pages), tuple(findings))


def _server(page: Page) -> Server:
    return Server(page.source, frozenset(page.by_name), ray=page.ray)


def _counters(page: Page, settings: Settings) -> Iterator[Finding]:
    """What was counted since the start: whether it is possible, and whether the dashboards can show it."""
    for tally in lifetime(page).tallies:
        sums = totals([tally])
        if (positions := len(sums.positions)) > settings.max_draft_tokens:
            yield warning(
                _who(tally),
                f"{positions} positions: dashboards and records look no deeper than {settings.max_draft_tokens}",
                f"set max_draft_tokens = {min(positions, LONGEST_DRAFT)} in the settings",
            )
        if sums.counted:
            broken = tuple(_broken(tally, sums, settings))
            yield from broken or (_accepted(tally, sums.counted, settings),)


def _broken(tally: Tally, sums: Totals, settings: Settings) -> Iterator[Finding]:
    """Identities that vLLM's code holds."""
    for one in broken_identities(sums, _who(tally), settings):
        what = f"the counters contradict each other: {one.says} (off by {one.error:.0%})"
        yield problem(one.engine, what, "look whether two servers write into one PROMETHEUS_MULTIPROC_DIR")


def _accepted(tally: Tally, counted: Counted, settings: Settings) -> Finding:
    least = settings.traffic.drafts_to_judge
    if counted.drafts < least:
        what = f"{counted.drafts:,.0f} drafts since its start: too few to judge acceptance, which takes {least:,.0f}"
        return note(_who(tally), what, "send requests and look again")
    said = f"{counted.acceptance:.0%} of {counted.draft_tokens:,.0f} drafted tokens since its start were accepted"
    band = acceptance.step_of(counted.acceptance, settings)
    if band.status is Status.BAD:
        return note(
            _who(tally),
            f"{said}, which is {band.says} (a rule of thumb): the drafter is too small, or of another family, "
            "tokenizer or fine-tune; the temperature is high; or K is simply long",
            "`draftboard report` says by position where it is lost and whether it still pays",
        )
    return note(
        _who(tally),
        f"{said}, which is {band.says} (a rule of thumb); whether it pays is another question",
        "`draftboard report` judges by break-even and names the best K",
    )


def _moving(grown: Growth, page: Page) -> Iterator[Finding]:
    seconds = f"within {grown.seconds:.0f} s" if grown.seconds is not None else "between the two readings"
    for name in grown.gone:
        yield problem(page.source, f"{name} stopped answering {seconds}", "look at the server's log")
    for tally in grown.tallies:
        generated, drafts = tally.total(serving.GENERATION_TOKENS), tally.total(speculation.DRAFTS)
        if not generated:
            yield note(_who(tally), f"idle: nothing was generated {seconds}", "send requests to see drafts move")
        elif drafts == 0:
            yield warning(
                _who(tally),
                f"{generated:,.0f} tokens were generated {seconds}, and none was drafted",
                "n-gram and suffix draft only where the text repeats; with any other method look at the server's log",
            )


def _who(tally: Tally) -> str:
    engine = f" engine {tally.engine}" if tally.engine else ""
    return f"{tally.model}{engine} at {tally.source}"
