"""Reading a running vLLM, pages that were saved of it, or a Prometheus that scrapes it; and judging what they say.

`report` does all of that at once. The parts below it are for those who need the counts themselves.
"""

from draftboard.reading.fetch import Limits, load, scrape
from draftboard.reading.growth import Growth, Since, Tally, growth, lifetime, together
from draftboard.reading.page import Page, read
from draftboard.reading.saved import is_saved
from draftboard.reading.sources import Lifetime, Pages, Recorded, Servers, Source
from draftboard.report.markdown import as_markdown
from draftboard.report.objects import ModelReport, Report, Sampling
from draftboard.report.plot import draw, require_drawable
from draftboard.report.reporting import report, report_each
from draftboard.report.schema import as_json, load_report, schema
from draftboard.report.show import show

__all__ = [
    "Growth",
    "Lifetime",
    "Limits",
    "ModelReport",
    "Page",
    "Pages",
    "Recorded",
    "Report",
    "Sampling",
    "Servers",
    "Since",
    "Source",
    "Tally",
    "as_json",
    "as_markdown",
    "draw",
    "growth",
    "is_saved",
    "lifetime",
    "load",
    "load_report",
    "read",
    "report",
    "report_each",
    "require_drawable",
    "schema",
    "scrape",
    "show",
    "together",
]
