"""Sources of a report, and their pages: bounded in size and time; errors never show a credential."""

import gzip
import io
import re
import sys
import time
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

import httpx

from draftboard.access import Access, client, parsed_url, reason_of, refusal, shown
from draftboard.durations import READING, Duration
from draftboard.errors import DraftboardError
from draftboard.files import STDIN, is_pipe, saved_bytes
from draftboard.reading.at_once import AtOnce, Deadline
from draftboard.reading.page import Names, Page, read

_PATH = "/metrics"
_GZIP = b"\x1f\x8b"
_CHUNK = 65_536
_ADDRESS = re.compile(r".*(://|@)|[^/]+:\d+(/|$)", re.DOTALL)
_SHOWN = 120


@dataclass(frozen=True)
class Limits:
    """Bounds of one page."""

    bytes: int = 16_000_000  # A page of one engine has 60 kB.
    seconds: float = 20.0  # From the connection to the last byte.


LIVE, SAVED = Limits(bytes=4_000_000), Limits()
"""Of a server, beside which many others are read, and of a file."""
_NOBODY = Access()
_ELSEWHERE = "give the address that Prometheus scrapes; vLLM's ends in /metrics"
_OF_PROMETHEUS = "prometheus_build_info"
_SMALL = Limits(bytes=10_000, seconds=5.0)


@dataclass(frozen=True)
class Servers:
    """Running servers, read within a window."""

    addresses: tuple[str, ...]  # `host:port`, a base address, or the page's own.
    window: Duration = READING  # From the first reading to the last.
    access: Access = _NOBODY
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
    access: Access = _NOBODY


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


def metrics_url(given: str) -> httpx.URL:
    """The page of a server named as `host:port`, by a base address, or by the page's own; else DraftboardError."""
    url = parsed_url(given)
    path = url.path.rstrip("/")
    return url.copy_with(path=url.path if path.endswith(_PATH) else path + _PATH)


def scrape(servers: Sequence[str], access: Access = _NOBODY, limits: Limits = LIVE) -> tuple[Page, ...]:
    """The pages of different servers, in their order; DraftboardError where one cannot be read."""
    pages = scrape_each(urls_of(servers), access, limits)
    for page in pages:
        if isinstance(page, DraftboardError):
            raise page
    return tuple(page for page in pages if isinstance(page, Page))


def urls_of(servers: Sequence[str]) -> list[httpx.URL]:
    """The pages of servers; DraftboardError where one is named twice."""
    urls = [metrics_url(given) for given in servers]
    if len({url.copy_with(userinfo=b"", path=url.path.rstrip("/"), fragment=None) for url in urls}) < len(urls):
        raise DraftboardError("a server is named twice: name each once")
    return urls


def scrape_each(
    urls: Sequence[httpx.URL], access: Access = _NOBODY, limits: Limits = LIVE, only: Sequence[Names] = ()
) -> list[Page | DraftboardError]:
    """The pages at addresses, a few at a time, or why they cannot be read; `only`: names to read of each page."""
    names = only or [()] * len(urls)
    with _client(urls, access, limits, "text/plain") as http:

        def page(number: int, deadline: Deadline) -> Page | DraftboardError:
            try:
                return _page(http, urls[number], limits, names[number], deadline)
            except DraftboardError as error:
                return error

        return AtOnce(page, len(urls), limits.seconds).results()


def load(path: Path, limits: Limits = SAVED) -> Page:
    """A saved page; DraftboardError where it cannot be read, is too large, or is not a page of metrics."""
    name = "standard input" if path == STDIN else str(path)
    if path == STDIN and sys.stdin and sys.stdin.isatty():
        raise DraftboardError("standard input is a terminal: pipe a page into the command, as in curl ... | draftboard")
    content = saved_bytes(path, "page of metrics", limits.bytes, pipes=is_pipe(path))
    return read(_decoded(_unpacked(content, path, limits), name), name)


def version(server: str, access: Access = _NOBODY, limits: Limits = _SMALL) -> str:
    """The server's response at /version; empty without one."""
    page = metrics_url(server)
    url = page.copy_with(path=page.path.removesuffix("/").removesuffix(_PATH) + "/version")
    try:
        with _client([url], access, limits, "application/json") as http:
            responses = AtOnce(lambda _, deadline: _response(http, url, limits, deadline), 1, limits.seconds).results()
        return responses[0][0]
    except DraftboardError:
        return ""


def _client(urls: Sequence[httpx.URL], access: Access, limits: Limits, accept: str) -> httpx.Client:
    """A client of these addresses that asks for uncompressed responses, which cannot grow on arrival."""
    certificates = access.certificates if any(url.scheme == "https" for url in urls) else False
    headers = access.headers | {"Accept-Encoding": "identity", "Accept": accept}
    return client(httpx.Client, headers=headers, verify=certificates, timeout=limits.seconds)


def _page(http: httpx.Client, url: httpx.URL, limits: Limits, names: Names, deadline: Deadline) -> Page:
    text, kind = _response(http, url, limits, deadline)
    page = read(text, shown(url), time.time(), openmetrics="openmetrics" in kind, names=names)
    if page.dialect is None and _OF_PROMETHEUS in page.by_name:
        raise DraftboardError(
            f"{page.source}: Prometheus' own metrics: to read the servers that it scrapes, use --prometheus"
        )
    return page


def _response(http: httpx.Client, url: httpx.URL, limits: Limits, deadline: Deadline) -> tuple[str, str]:
    """The text at an address, and its content type."""
    name = shown(url)
    late = f"{name}: no complete response within {limits.seconds:g} s: check the address and the server's load"
    try:
        with http.stream("GET", url, extensions=deadline.extensions) as answer:
            _require_ok(answer, name)
            content, kind = _content(answer, name, limits.bytes, deadline), answer.headers.get("Content-Type", "")
    except httpx.TimeoutException:
        raise DraftboardError(late) from None
    except httpx.HTTPError as error:
        raise DraftboardError(late if deadline.is_over else f"{name}: {reason_of(error, url)}") from None
    if deadline.is_over:  # A response of no known length ends where the connection was cut.
        raise DraftboardError(late)
    return _decoded(content, name), kind


def _content(answer: httpx.Response, name: str, most: int, deadline: Deadline) -> bytes:
    content = bytearray()
    for chunk in answer.iter_raw(_CHUNK):
        content += chunk
        if len(content) > most:
            raise DraftboardError(f"{name}: response exceeds {most / 1e6:g} MB: not a /metrics page")
        if deadline.is_over:
            break
    return bytes(content)


def _require_ok(answer: httpx.Response, name: str) -> None:
    if answer.status_code == HTTPStatus.BAD_REQUEST and "json" in answer.headers.get("Content-Type", ""):
        raise DraftboardError(f"{name}: request refused (HTTP 400): of a router, name a model: /metrics?model=NAME")
    if reason := refusal(answer):
        raise DraftboardError(f"{name}: {reason}")
    if answer.status_code != HTTPStatus.OK:
        raise DraftboardError(f"{name}: no page of metrics (HTTP {answer.status_code}): {_ELSEWHERE}")
    if answer.headers.get("Content-Encoding", "identity") != "identity":
        raise DraftboardError(
            f"{name}: response is compressed despite Accept-Encoding: identity; use the server's own address"
        )


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


def _decoded(content: bytes, name: str) -> str:
    try:
        return content.decode("utf-8-sig")  # Editors on Windows write a byte order mark.
    except UnicodeDecodeError:
        raise DraftboardError(f"{name}: not a page of metrics: it is binary") from None
