"""The span of time that is shown, and how densely it is asked for."""

from bisect import bisect
from dataclasses import dataclass

from draftboard.durations import Duration, moment
from draftboard.errors import DraftboardError
from draftboard.preview.document import Panel, Target

PAGE_WIDTH = 1600
"""Pixels across which the grid is drawn: a graph is asked for as many points as its share of them."""
_GRID_WIDTH = 24
_DEFAULT_SCRAPE = 15
_FACTOR_OF_SCRAPES = 4
# The steps that Grafana rounds to, in seconds: what a reader of a time axis expects.
_ROUND = (1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1200, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400)


@dataclass(frozen=True)
class Span:
    """Unix seconds of its beginning and end."""

    start: float
    end: float

    @property
    def seconds(self) -> float:
        """How long it is."""
        return self.end - self.start


@dataclass(frozen=True)
class Pace:
    """Seconds between two points of a query, and the interval of its rates."""

    step: int
    rate_interval: int


def between(since: str, until: str, now: float) -> Span:
    """The span between two times: `now-6h`, Unix seconds, or ISO 8601 (UTC unless it says otherwise).

    Raises:
        DraftboardError: a text is no time, or the span has no length.
    """
    span = Span(_moment(since, now), _moment(until, now))
    if span.seconds < 1:
        raise DraftboardError(f"--from {since} --to {until}: the end must be at least a second after the beginning")
    return span


def _moment(text: str, now: float) -> float:
    try:
        return moment(text, now)
    except ValueError as error:
        raise DraftboardError(f"{text}: {error}") from None


def pace_of(panel: Panel, target: Target, span: Span) -> Pace:
    """As Grafana computes them: a point a pixel at most, no denser than panel and query allow, rounded.

    Rates look back over four scrapes at least; a scrape is what the query says, else Grafana's default of 15 s.
    """
    points = PAGE_WIDTH * panel.place.w // _GRID_WIDTH
    least = max(_seconds(panel.interval), _seconds(target.interval), 1)
    step = max(least, _rounded(span.seconds / points))
    scrape = _seconds(target.interval) or _DEFAULT_SCRAPE
    return Pace(step, max(step + scrape, _FACTOR_OF_SCRAPES * scrape))


def _seconds(text: str) -> int:
    try:
        return Duration.parse(text).seconds if text else 0
    except ValueError:
        raise DraftboardError(f"interval {text!r}: a preview needs whole seconds, such as 15s") from None


def _rounded(seconds: float) -> int:
    """The nearest of the round steps."""
    above = bisect(_ROUND, seconds)
    around = _ROUND[max(0, above - 1) : above + 1]
    return min(around, key=lambda step: abs(step - seconds))
