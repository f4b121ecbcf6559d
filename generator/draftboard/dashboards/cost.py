"""Limits of queries of raw series: as long as a person can read, and no further back than the time range."""

import re

from draftboard.durations import Duration
from draftboard.settings import Settings

LONGEST = 3_000  # Characters.
BEYOND = 10 * LONGEST
"""Characters of a signal, with more of which no query of it is short enough."""
_TIME = r"((?:\d+[wdhms])+)"
_WINDOW = re.compile(rf"\[{_TIME}(?::\w+)?\](?: offset {_TIME})?")


def affordable(query: str, settings: Settings) -> bool:
    """Whether raw series answer it at a cost that fits a panel; if not, it needs a record."""
    return len(query) <= LONGEST and reach(query) <= settings.dashboards.time_range


def reach(query: str) -> Duration:
    """How far back its longest window begins; a window that follows the zoom is no past of its own."""
    spans = (Duration.parse(window) + Duration.parse(before or "0s") for window, before in _WINDOW.findall(query))
    return max(spans, default=Duration(0))
