"""HTTP access to servers: addresses, shown without their secrets, tokens, certificates and proxies."""

import os
import re
import ssl
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any, TypeVar
from urllib.request import getproxies, proxy_bypass

import httpx

from draftboard.errors import DraftboardError
from draftboard.files import saved_bytes

_NOTATION = re.compile(r"^\[(Errno -?\d+|\w+: \w+)\] | \(_ssl\.c:\d+\)$")
API_KEY = "VLLM_API_KEY"  # The environment variable from which vLLM takes its API key.
_C = TypeVar("_C", httpx.Client, httpx.AsyncClient)
_OF_SEVERAL = "All connection attempts failed"  # In httpx' words.
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_HIGHEST_PORT = 65_535
_MOST_SHOWN = 80  # Characters of an address.


@dataclass(frozen=True)
class Access:
    """Credentials for a server, and certificates to trust."""

    token: str = field(default="", repr=False)  # Sent as a bearer token, where it is not empty; never shown.
    ca_file: Path | None = None  # Certificates (PEM) to trust instead of the system's.
    tenant: str = ""  # Of a store that has several.

    @classmethod
    def from_files(cls, token_file: Path | None = None, ca_file: Path | None = None) -> "Access":
        """Read the token from its file; DraftboardError where it cannot be read or contains no token."""
        if token_file is None:
            return cls("", ca_file)
        return cls(_checked(saved_bytes(token_file, "token", pipes=True), str(token_file)), ca_file)

    @classmethod
    def of_api_server(cls, token_file: Path | None = None, ca_file: Path | None = None) -> "Access":
        """Read the token from its file, else from the environment variable of vLLM's API key, if set."""
        if token_file or not os.environ.get(API_KEY):
            return cls.from_files(token_file, ca_file)
        return cls(_checked(os.fsencode(os.environ[API_KEY]), API_KEY), ca_file)

    @property
    def headers(self) -> dict[str, str]:
        """Headers of every request."""
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        return headers | ({"X-Scope-OrgID": self.tenant} if self.tenant else {})

    @property
    def certificates(self) -> ssl.SSLContext:
        """Certificates to trust; DraftboardError where the file contains none."""
        try:
            return ssl.create_default_context(cafile=self.ca_file)
        except OSError as error:
            reason = _in_words(OSError(error.strerror))
            raise DraftboardError(f"{self.ca_file}: no certificates (PEM): {reason}") from None


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


def _checked(text: bytes, where: str) -> str:
    token = re.fullmatch(rb"\s*([!-~]{1,64000})\s*", text)
    if token is None:
        raise DraftboardError(f"{where}: not a token: must be one line of printable characters without blanks")
    return token[1].decode()
