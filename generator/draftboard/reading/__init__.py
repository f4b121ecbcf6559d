"""Reading a server: its page of metrics, what grew between two readings, and that as counts."""

from draftboard.reading.counted import Numbers, Reader, counts_of, labels_of
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
    "Numbers",
    "Page",
    "Pages",
    "Reader",
    "Recorded",
    "Servers",
    "Since",
    "Source",
    "Tally",
    "counts_of",
    "growth",
    "is_saved",
    "labels_of",
    "lifetime",
    "load",
    "read",
    "saved_bytes",
    "scrape",
    "together",
]
