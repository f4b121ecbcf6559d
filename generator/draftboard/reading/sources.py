"""Sources of a report: running servers, saved pages, or a Prometheus."""

import re
from dataclasses import dataclass
from pathlib import Path

from draftboard.access import Access
from draftboard.durations import Duration
from draftboard.errors import DraftboardError
from draftboard.reading.fetch import Limits

WINDOW = Duration(30)
_NOBODY, _USUAL = Access(), Limits()
_ADDRESS = re.compile(r".*(://|@)|[^/]+:\d+(/|$)", re.DOTALL)
_SHOWN = 120


@dataclass(frozen=True)
class Servers:
    """Running servers, each read twice."""

    addresses: tuple[str, ...]  # `host:port`, a base address, or the page's own.
    window: Duration = WINDOW  # Between the readings.
    access: Access = _NOBODY
    limits: Limits = _USUAL


@dataclass(frozen=True)
class Pages:
    """Two saved pages of one server."""

    before: Path
    after: Path
    window: Duration | None = None  # Between them, which pages do not say; without it there are no rates.


@dataclass(frozen=True)
class Lifetime:
    """One saved page: totals since the server started."""

    page: Path


@dataclass(frozen=True)
class Recorded:
    """A Prometheus that scrapes servers."""

    url: str
    span: Duration | None = None  # Default: the window of the rules.
    model: str = ""  # Default: every model.
    at: float | None = None  # Unix seconds at which the span ends. Default: now.
    access: Access = _NOBODY


Source = Servers | Pages | Lifetime | Recorded


def is_saved(name: str) -> bool:
    """Whether a regular file is named, rather than an address; DraftboardError where it is neither.

    A name that may contain a password counts as an address, which errors do not show.
    """
    try:
        path = Path(name)
        if path.is_file():
            return True
        reason = "no regular file" if path.exists() else "no such file"
    except OSError as error:  # the name is too long, or a folder is closed
        reason = error.strerror or type(error).__name__
    if _ADDRESS.match(name):
        return False
    text = name if name.isprintable() else repr(name)
    text = text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
    raise DraftboardError(f"{text}: {reason}, and no address: write host:port or http(s)://host:port")
