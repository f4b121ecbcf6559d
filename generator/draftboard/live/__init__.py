"""Reading a running vLLM, pages that were saved of it, or a Prometheus that scrapes it; and judging what they say.

`report` does all of that at once. The parts below it are for those who need the counts themselves.
"""

from draftboard.live.fetch import Limits, load, scrape
from draftboard.live.growth import Growth, Since, Tally, growth, lifetime, together
from draftboard.live.markdown import as_markdown
from draftboard.live.objects import ModelReport, Report, Sampling
from draftboard.live.page import Page, read
from draftboard.live.plot import draw, require_drawable
from draftboard.live.reporting import report, report_each
from draftboard.live.saved import is_saved
from draftboard.live.schema import as_json, load_report, schema
from draftboard.live.show import show
from draftboard.live.sources import Lifetime, Pages, Recorded, Servers, Source

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
