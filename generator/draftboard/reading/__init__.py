"""A server's counts: its page of metrics, the growth between two readings, and signals computed from it.

What talks to servers or to a Prometheus is imported from its module, so that saved pages are read without it.
"""

from draftboard.reading.counted import MIXED, Entry, Numbers, Reader, counts_of, drafting_of, entries_of, labels_of
from draftboard.reading.growth import Growth, Since, Tally, growth, in_parts, lifetime, together
from draftboard.reading.page import Page, read
from draftboard.reading.sources import Lifetime, Limits, Pages, Recorded, Servers, Source, is_saved, load
