"""What a report can be made of."""

from dataclasses import dataclass
from pathlib import Path

from draftboard.access import Access
from draftboard.durations import Duration
from draftboard.reading.fetch import Limits

WINDOW = Duration(30)
_NOBODY, _USUAL = Access(), Limits()


@dataclass(frozen=True)
class Servers:
    """Running servers, each read twice."""

    addresses: tuple[str, ...]
    """`host:port`, a base address, or the page's own."""
    window: Duration = WINDOW
    """Between the readings."""
    access: Access = _NOBODY
    limits: Limits = _USUAL


@dataclass(frozen=True)
class Pages:
    """Two pages that somebody saved of one server."""

    before: Path
    after: Path
    window: Duration | None = None
    """Between them, which pages do not tell; without it there are no rates."""


@dataclass(frozen=True)
class Lifetime:
    """One page that somebody saved: totals since the server started."""

    page: Path


@dataclass(frozen=True)
class Recorded:
    """A Prometheus that scrapes servers."""

    url: str
    span: Duration | None = None
    """How far back it is asked; None for the window of the rules."""
    model: str = ""
    """Only this one; of all: ""."""
    at: float | None = None
    """Unix seconds at which the span ends; None for now."""
    access: Access = _NOBODY


Source = Servers | Pages | Lifetime | Recorded
