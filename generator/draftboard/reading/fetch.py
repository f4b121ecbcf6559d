"""Pages of servers, bounded in size and time; errors never show a credential."""

import time
from collections.abc import Sequence
from http import HTTPStatus

import httpx

from draftboard.access import Access
from draftboard.errors import DraftboardError
from draftboard.http import certificates, client, parsed_url, reason_of, refusal, shown
from draftboard.reading.at_once import AtOnce, Deadline
from draftboard.reading.page import Names, Page, read
from draftboard.reading.sources import LIVE, NOBODY, Limits, decoded

_PATH = "/metrics"
_CHUNK = 65_536
_ELSEWHERE = "give the address that Prometheus scrapes; vLLM's ends in /metrics"
_OF_PROMETHEUS = "prometheus_build_info"
_SMALL = Limits(bytes=10_000, seconds=5.0)


def metrics_url(given: str) -> httpx.URL:
    """The page of a server named as `host:port`, by a base address, or by the page's own; else DraftboardError."""
    url = parsed_url(given)
    path = url.path.rstrip("/")
    return url.copy_with(path=url.path if path.endswith(_PATH) else path + _PATH)


def scrape(servers: Sequence[str], access: Access = NOBODY, limits: Limits = LIVE) -> tuple[Page, ...]:
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
    urls: Sequence[httpx.URL], access: Access = NOBODY, limits: Limits = LIVE, only: Sequence[Names] = ()
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


def version(server: str, access: Access = NOBODY, limits: Limits = _SMALL) -> str:
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
    trusted = certificates(access) if any(url.scheme == "https" for url in urls) else False
    headers = access.headers | {"Accept-Encoding": "identity", "Accept": accept}
    return client(httpx.Client, headers=headers, verify=trusted, timeout=limits.seconds)


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
    return decoded(content, name), kind


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
