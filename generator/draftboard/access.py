"""HTTP access to servers: addresses, shown without their secrets, tokens and certificates."""

import os
import re
import ssl
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from draftboard.errors import DraftboardError
from draftboard.files import saved_bytes

_NOTATION = re.compile(r"^\[(Errno -?\d+|\w+: \w+)\] | \(_ssl\.c:\d+\)$")
API_KEY = "VLLM_API_KEY"  # The environment variable from which vLLM takes its API key.


@dataclass(frozen=True)
class Access:
    """Credentials for a server, and certificates to trust."""

    token: str = field(default="", repr=False)  # Sent as a bearer token, where it is not empty; never shown.
    ca_file: Path | None = None  # Certificates (PEM) to trust instead of the system's.

    @classmethod
    def from_files(cls, token_file: Path | None = None, ca_file: Path | None = None) -> "Access":
        """Read the token from its file; DraftboardError where it cannot be read or contains no token."""
        if token_file is None:
            return cls("", ca_file)
        return cls(_checked(saved_bytes(token_file, "token", pipes=True), str(token_file)), ca_file)

    @classmethod
    def of_api_server(cls, token_file: Path | None = None, ca_file: Path | None = None) -> "Access":
        """The same; without a file, the token is vLLM's own from the environment, if any."""
        if token_file or not os.environ.get(API_KEY):
            return cls.from_files(token_file, ca_file)
        return cls(_checked(os.fsencode(os.environ[API_KEY]), API_KEY), ca_file)

    @property
    def headers(self) -> dict[str, str]:
        """Headers of every request."""
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}

    @property
    def certificates(self) -> ssl.SSLContext:
        """Certificates to trust; DraftboardError where the file contains none."""
        try:
            return ssl.create_default_context(cafile=self.ca_file)
        except OSError as error:
            reason = _in_words(OSError(error.strerror))
            raise DraftboardError(f"{self.ca_file}: no certificates (PEM) to trust: {reason}") from None


def parsed_url(given: str) -> httpx.URL:
    """An http(s) address as people write it, else DraftboardError: `host:port` means http."""
    try:
        url = httpx.URL(given if "://" in given else f"http://{given}")
    except (httpx.InvalidURL, ValueError):
        url = httpx.URL()
    port_is_valid = (url.port or 1) in range(1 << 16)
    if url.scheme not in {"http", "https"} or not url.host or not port_is_valid or re.search(r"\s", given):
        # The text may hold a password, so it is not repeated.
        raise DraftboardError("an address is not valid: write host:port or http(s)://host:port")
    return url


def shown(url: httpx.URL) -> str:
    """The address for people: without user, password, query and fragment, any of which may be a secret."""
    user = "***@" if url.userinfo else ""
    port = f":{url.port}" if url.port else ""
    host = f"[{url.host}]" if ":" in url.host else url.host
    query = "?***" if url.query else ""
    return f"{url.scheme}://{user}{host}{port}{url.path.rstrip('/')}{query}"


def reason_of(error: httpx.HTTPError) -> str:
    """Why a request failed, in one line."""
    if "CERTIFICATE_VERIFY_FAILED" in str(error):
        return "its certificate is not trusted: name who signed it with --ca-file"
    if "SSL" in str(error):
        return "does not speak TLS as asked: is it http:// rather than https://?"
    if isinstance(error, httpx.RemoteProtocolError):
        return "breaks off or does not speak HTTP: is this the right port?"
    return (
        f"{'cannot connect' if isinstance(error, httpx.ConnectError) else 'the connection fails'}: {_in_words(error)}"
    )


def _in_words(error: Exception) -> str:
    """The text of an error, without the notation of Python and OpenSSL."""
    return _NOTATION.sub("", " ".join(str(error).split())) or type(error).__name__


def _checked(text: bytes, where: str) -> str:
    token = re.fullmatch(rb"\s*([!-~]{1,64000})\s*", text)
    if token is None:
        raise DraftboardError(f"{where}: holds no token: one line of printable characters, without blanks")
    return token[1].decode()
