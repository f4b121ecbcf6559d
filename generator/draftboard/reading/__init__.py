"""Reading a server: its page of metrics, and what grew between two readings."""

from draftboard.reading.fetch import Limits, load, scrape
from draftboard.reading.growth import Growth, Since, Tally, growth, lifetime, together
from draftboard.reading.page import Page, read
from draftboard.reading.saved import is_saved, saved_bytes
from draftboard.reading.sources import WINDOW, Lifetime, Pages, Recorded, Servers, Source

__all__ = [
    "WINDOW",
    "Growth",
    "Lifetime",
    "Limits",
    "Page",
    "Pages",
    "Recorded",
    "Servers",
    "Since",
    "Source",
    "Tally",
    "growth",
    "is_saved",
    "lifetime",
    "load",
    "read",
    "saved_bytes",
    "scrape",
    "together",
]
