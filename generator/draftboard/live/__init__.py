"""Reading a running vLLM, pages that were saved of it, or a Prometheus that scrapes it."""

from draftboard.live.fetch import Limits, load, scrape
from draftboard.live.growth import Growth, Since, Tally, growth, lifetime, together
from draftboard.live.page import Page, read

__all__ = [
    "Growth",
    "Limits",
    "Page",
    "Since",
    "Tally",
    "growth",
    "lifetime",
    "load",
    "read",
    "scrape",
    "together",
]
