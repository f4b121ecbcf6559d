"""A server's counts: its page of metrics, the growth between two readings, and signals computed from it."""

from draftboard.reading.apart import MIXED, Apart, kept_apart, plain_among, separated
from draftboard.reading.counted import Entry, Numbers, Reader, counts_of, drafting_of, entries_of, labels_of
from draftboard.reading.fetch import Lifetime, Limits, Pages, Recorded, Servers, Source, is_saved, load, scrape, version
from draftboard.reading.growth import Growth, Since, Tally, growth, in_parts, lifetime, together
from draftboard.reading.page import Page, read
from draftboard.reading.past import Past, Remembered, of_model, other_models
from draftboard.reading.watching import all_failed, watch
