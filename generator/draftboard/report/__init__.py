"""Reading a running vLLM, pages that were saved of it, or a Prometheus that scrapes it; and judging what they say.

`report` does all of that at once. The parts below it are for those who need the counts themselves.
"""

from draftboard.reading.fetch import Limits, load, scrape
from draftboard.reading.growth import Growth, Since, Tally, growth, lifetime, together
from draftboard.reading.page import Page, read
from draftboard.reading.saved import is_saved
from draftboard.reading.sources import Lifetime, Pages, Recorded, Servers, Source
from draftboard.report.from_pages import Reading
from draftboard.report.judge import Judgement, judge
from draftboard.report.lines import named, time_in_words, verdict_of, warnings
from draftboard.report.markdown import as_markdown
from draftboard.report.objects import Latency, ModelReport, Origin, Report, Sample, Sampling, Verdict
from draftboard.report.plot import draw, require_drawable
from draftboard.report.reporting import report, report_each
from draftboard.report.schema import as_json, load_report, schema
from draftboard.report.show import show
from draftboard.report.totals import totals
from draftboard.settings import Settings

__all__ = [
    "Growth",
    "Latency",
    "Lifetime",
    "Limits",
    "ModelReport",
    "Origin",
    "Page",
    "Pages",
    "Reading",
    "Recorded",
    "Report",
    "Sample",
    "Sampling",
    "Servers",
    "Since",
    "Source",
    "Tally",
    "Verdict",
    "as_json",
    "as_markdown",
    "draw",
    "growth",
    "is_saved",
    "judged",
    "lifetime",
    "load",
    "load_report",
    "named",
    "read",
    "report",
    "report_each",
    "require_drawable",
    "schema",
    "scrape",
    "show",
    "time_in_words",
    "together",
    "verdict_of",
    "warnings",
]


def judged(tally: Tally, seconds: float | None, method: str, settings: Settings) -> Judgement:
    """One engine's counts, judged by themselves."""
    return judge(totals([tally]), seconds, method, settings)
