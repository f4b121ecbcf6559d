"""HTTP to servers, over httpx: addresses, shown without their secrets, proxies, and what went wrong in words."""

import re
import ssl
from http import HTTPStatus
from typing import Any, TypeVar
from urllib.request import getproxies, proxy_bypass

import httpx

from draftboard.access import Access
from draftboard.errors import DraftboardError

_NOTATION = re.compile(r"^\[(Errno -?\d+|\w+: \w+)\] | \(_ssl\.c:\d+\)$")
_C = TypeVar("_C", httpx.Client, httpx.AsyncClient)
_OF_SEVERAL = "All connection attempts failed"  # In httpx' words.
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_HIGHEST_PORT = 65_535
_MOST_SHOWN = 80  # Characters of an address.


def parsed_url(given: str) -> httpx.URL:
    """Parse an http(s) address, or host:port for http. DraftboardError where it is not valid."""
    try:
        url = httpx.URL(given if "://" in given else f"http://{given}")
    except (httpx.InvalidURL, ValueError):
        url = httpx.URL()
    if url.port is not None and url.port > _HIGHEST_PORT:
        raise DraftboardError(f"{_named(given)} is not valid: port {url.port} is above {_HIGHEST_PORT}")
    if url.scheme not in {"http", "https"} or not url.host or url.port == 0 or re.search(r"\s", given):
        brackets = ", IPv6 in brackets" if given.rpartition("://")[2].count(":") > 1 else ""
        raise DraftboardError(f"{_named(given)} is not valid: write host:port or http(s)://host:port{brackets}")
    return url


def _named(given: str) -> str:
    """An address that is not valid, unless a password may be in it."""
    return "an address" if re.search(r"[@?#]", given) else f"the address {given[:_MOST_SHOWN]!r}"


def shown(url: httpx.URL) -> str:
    """The address without user, password, query and fragment, any of which may be a secret."""
    user = "***@" if url.userinfo else ""
    port = f":{url.port}" if url.port else ""
    host = f"[{url.host}]" if ":" in url.host else url.host
    query = "?***" if url.query else ""
    return f"{url.scheme}://{user}{host}{port}{url.path.rstrip('/')}{query}"


def client(kind: type[_C], **options: Any) -> _C:  # noqa: ANN401  (httpx's own)
    """An httpx client that uses the environment's proxy, except for this machine.

    It follows no redirect: a token or a prompt must not reach another server.
    """
    direct = {f"all://{f'[{host}]' if ':' in host else host}": None for host in _LOOPBACK}
    try:
        return kind(mounts=direct, **options)
    except (ImportError, ValueError):
        proxies = ", ".join(f"{name.upper()}_PROXY" for name in getproxies() if name in {"http", "https", "all"})
        reason = "names a proxy that cannot be used: write http://host:port, or unset it"
        raise DraftboardError(f"{proxies} of the environment {reason}") from None


def certificates(access: Access) -> ssl.SSLContext:
    """Certificates to trust; DraftboardError where the file contains none."""
    try:
        return ssl.create_default_context(cafile=access.ca_file)
    except OSError as error:
        reason = _in_words(OSError(error.strerror))
        raise DraftboardError(f"{access.ca_file}: no certificates (PEM): {reason}") from None


def refusal(answer: httpx.Response) -> str:
    """Why a server or its proxy refused a request, and what to do; empty where it did not."""
    if answer.is_redirect:
        return f"redirects{_target(answer)}: use the final address; behind a login, the server's own"
    if answer.status_code == HTTPStatus.PROXY_AUTHENTICATION_REQUIRED:
        return f"proxy authentication required (HTTP 407){_through_proxy(answer.url)}"
    if answer.status_code in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        return f"authentication required (HTTP {answer.status_code}): use --token-file"
    if answer.status_code == HTTPStatus.BAD_REQUEST and answer.url.scheme == "http":
        return "plain HTTP rejected (HTTP 400): is it https:// rather than http://?"
    if answer.is_server_error:
        return f"no response (HTTP {answer.status_code}){_through_proxy(answer.url) or ': see the log of the server'}"
    return ""


def _target(answer: httpx.Response) -> str:
    where = answer.headers.get("Location", "")
    try:
        return f" to {shown(answer.url.join(where))}" if where else ""
    except (httpx.InvalidURL, ValueError):
        return ""


def reason_of(error: httpx.HTTPError, url: httpx.URL) -> str:
    """Why a request to the address failed, in one line."""
    through = _through_proxy(url)
    if "mismatch, certificate is not valid for" in str(error):
        return f"its certificate is not for {url.host}: use the name that it is for"
    if "CERTIFICATE_VERIFY_FAILED" in str(error):
        return "its certificate is not trusted: give the CA with --ca-file"
    if "SSL" in str(error):
        return f"TLS handshake failed: is it http:// rather than https://?{through}"
    if isinstance(error, httpx.ConnectError):
        return (
            f"cannot connect: {_in_words(error).replace(_OF_SEVERAL, 'is it running, and is the port right?')}{through}"
        )
    if isinstance(error, httpx.RemoteProtocolError | httpx.ReadError):
        other = "is it https:// rather than http://, or another port?" if url.scheme == "http" else "is the port right?"
        return f"connection closed, or not HTTP: {other}{through}"
    return f"connection failed: {_in_words(error)}{through}"


def _through_proxy(url: httpx.URL) -> str:
    """Names the proxy of the environment that is used for an address; empty without one."""
    proxies = getproxies()
    name = next((name for name in (url.scheme, "all") if name in proxies), "")
    if not name or url.host in _LOOPBACK or proxy_bypass(url.host):
        return ""
    try:
        proxy = shown(httpx.URL(proxies[name]))
    except httpx.InvalidURL:
        proxy = "proxy"
    return f"; through {proxy} of {name.upper()}_PROXY: to bypass the proxy, add {url.host} to NO_PROXY"


def _in_words(error: Exception) -> str:
    """The text of an error, without the notation of Python and OpenSSL."""
    return _NOTATION.sub("", " ".join(str(error).split())) or type(error).__name__
