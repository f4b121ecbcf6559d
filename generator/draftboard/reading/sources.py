"""Sources of a report; a saved page is read here, within bounds of size, and servers are read by `fetch`."""

import gzip
import io
import re
import sys
import zlib
from dataclasses import dataclass
from pathlib import Path

from draftboard.access import Access
from draftboard.durations import READING, Duration
from draftboard.errors import DraftboardError
from draftboard.files import STDIN, is_pipe, saved_bytes
from draftboard.reading.page import Page, read

NOBODY = Access()
_GZIP = b"\x1f\x8b"
_ADDRESS = re.compile(r".*(://|@)|[^/]+:\d+(/|$)", re.DOTALL)
_SHOWN = 120


@dataclass(frozen=True)
class Limits:
    """Bounds of one page."""

    bytes: int = 16_000_000  # A page of one engine has 60 kB.
    seconds: float = 20.0  # From the connection to the last byte.


LIVE, SAVED = Limits(bytes=4_000_000), Limits()
"""Of a server, beside which many others are read, and of a file."""


@dataclass(frozen=True)
class Servers:
    """Running servers, read within a window."""

    addresses: tuple[str, ...]  # `host:port`, a base address, or the page's own.
    window: Duration = READING  # From the first reading to the last.
    access: Access = NOBODY
    limits: Limits = LIVE


@dataclass(frozen=True)
class Pages:
    """Two saved pages of one server."""

    before: Path
    after: Path
    window: Duration | None = None  # Between them, which pages do not say; without it there are no rates.


@dataclass(frozen=True)
class Lifetime:
    """One saved page, or one of a server and one of its baseline: totals since the servers started."""

    page: Path
    baseline: Path | None = None  # Either may be that of the baseline.


@dataclass(frozen=True)
class Recorded:
    """A Prometheus that scrapes servers."""

    url: str
    span: Duration | None = None  # Default: the window of the rules.
    model: str = ""  # Default: every model.
    at: float | None = None  # Unix seconds at which the span ends. Default: now.
    access: Access = NOBODY


Source = Servers | Pages | Lifetime | Recorded


def is_saved(name: str) -> bool:
    """Whether a regular file is named, rather than an address; DraftboardError where it is neither.

    A name that may contain a password counts as an address, which errors do not show.
    """
    path = Path(name)
    if is_pipe(path):
        return True
    try:
        path.stat()  # Where it fails, is_file() is silent from Python 3.14 on.
        if path.is_file():
            return True
        reason = "not a regular file"
    except (FileNotFoundError, ValueError):
        reason = "no such file"
    except OSError as error:  # the name is too long, or a folder is closed
        reason = error.strerror or type(error).__name__
    if _ADDRESS.match(name):
        return False
    text = name if name.isprintable() else repr(name)
    text = text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
    raise DraftboardError(f"{text}: {reason}, and not an address: write host:port or http(s)://host:port")


def load(path: Path, limits: Limits = SAVED) -> Page:
    """A saved page; DraftboardError where it cannot be read, is too large, or is not a page of metrics."""
    name = "standard input" if path == STDIN else str(path)
    if path == STDIN and sys.stdin and sys.stdin.isatty():
        raise DraftboardError("standard input is a terminal: pipe a page into the command, as in curl ... | draftboard")
    content = saved_bytes(path, "page of metrics", limits.bytes, pipes=is_pipe(path))
    return read(decoded(_unpacked(content, path, limits), name), name)


def _unpacked(content: bytes, path: Path, limits: Limits) -> bytes:
    """The content of a gzip file, within the same limit; of any other file, as it is."""
    if not content.startswith(_GZIP):
        return content
    try:
        with gzip.open(io.BytesIO(content)) as file:
            page = file.read(limits.bytes + 1)
    except (OSError, EOFError, zlib.error):
        raise DraftboardError(f"{path}: cannot read the page of metrics: a damaged gzip file") from None
    if len(page) > limits.bytes:
        raise DraftboardError(f"{path}: exceeds {limits.bytes / 1e6:g} MB; not a page of metrics")
    return page


def decoded(content: bytes, name: str) -> str:
    """The text of a page; DraftboardError where it is none."""
    try:
        return content.decode("utf-8-sig")  # Editors on Windows write a byte order mark.
    except UnicodeDecodeError:
        raise DraftboardError(f"{name}: not a page of metrics: it is binary") from None
