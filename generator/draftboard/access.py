"""Servers that are asked over HTTP: their address, which is shown without its secrets, and how they let us in."""

import os
import re
import ssl
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from draftboard.errors import DraftboardError

_MOST_TOKEN_BYTES = 64_000
_NOTATION = re.compile(r"^\[(Errno -?\d+|\w+: \w+)\] | \(_ssl\.c:\d+\)$")
_HIDDEN = "***"
API_KEY = "VLLM_API_KEY"
"""The environment variable from which vLLM takes the key that it asks for."""


@dataclass(frozen=True)
class Access:
    """How a server lets us in."""

    token: str = field(default="", repr=False)
    """Sent as a bearer token, where it is not empty; never shown."""
    ca_file: Path | None = None
    """Certificates (PEM) to trust instead of the system's."""

    @classmethod
    def from_files(cls, token_file: Path | None = None, ca_file: Path | None = None) -> "Access":
        """Read the token from its file.

        Raises:
            DraftboardError: it cannot be read, or holds no token.
        """
        return cls(_token(token_file) if token_file else "", ca_file)

    @classmethod
    def of_api_server(cls, token_file: Path | None = None, ca_file: Path | None = None) -> "Access":
        """The same; without a file, the token is the one that vLLM itself takes from the environment, if any.

        Raises:
            DraftboardError: the file cannot be read, or what is there is no token.
        """
        if token_file or not os.environ.get(API_KEY):
            return cls.from_files(token_file, ca_file)
        return cls(_checked(os.fsencode(os.environ[API_KEY]), API_KEY), ca_file)

    @property
    def headers(self) -> dict[str, str]:
        """What a request carries."""
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}

    @property
    def certificates(self) -> ssl.SSLContext:
        """Whom to trust.

        Raises:
            DraftboardError: the file holds no certificates.
        """
        try:
            return ssl.create_default_context(cafile=self.ca_file)
        except OSError as error:
            reason = in_words(OSError(error.strerror))
            raise DraftboardError(f"{self.ca_file}: no certificates (PEM) to trust: {reason}") from None


def parsed_url(given: str) -> httpx.URL:
    """An address as people write it: `host:port` means http.

    Raises:
        DraftboardError: it is no http(s) address.
    """
    try:
        url = httpx.URL(given if "://" in given else f"http://{given}")
    except (httpx.InvalidURL, ValueError):
        url = httpx.URL()
    if url.scheme not in {"http", "https"} or not url.host or re.search(r"\s", given):
        # The text may hold a password, so it is not repeated.
        raise DraftboardError("an address is not valid: write host:port or http(s)://host:port")
    return url


def shown(url: httpx.URL) -> str:
    """The address for people: without user, password, query and fragment, any of which may be a secret."""
    user = f"{_HIDDEN}@" if url.userinfo else ""
    port = f":{url.port}" if url.port else ""
    host = f"[{url.host}]" if ":" in url.host else url.host
    query = f"?{_HIDDEN}" if url.query else ""
    return f"{url.scheme}://{user}{host}{port}{url.path.rstrip('/')}{query}"


def reason_of(error: httpx.HTTPError) -> str:
    """Why a server could not be asked, in a line."""
    text = in_words(error)
    if "CERTIFICATE_VERIFY_FAILED" in str(error):
        return "its certificate is not trusted: name who signed it with --ca-file"
    if "SSL" in str(error):
        return "does not speak TLS as asked: is it http:// rather than https://?"
    if isinstance(error, httpx.ConnectError):
        return f"cannot connect: {text}"
    if isinstance(error, httpx.RemoteProtocolError):
        return "breaks off or does not speak HTTP: is this the right port?"
    return f"the connection fails: {text}"


def in_words(error: Exception) -> str:
    """What an error says, without the notation of Python and OpenSSL."""
    return _NOTATION.sub("", " ".join(str(error).split())) or type(error).__name__


def _token(path: Path) -> str:
    try:
        with path.open("rb") as file:
            text = file.read(_MOST_TOKEN_BYTES + 1)
    except OSError as error:
        raise DraftboardError(f"{path}: cannot read the token: {error.strerror or error}") from None
    return _checked(text, str(path))


def _checked(text: bytes, where: str) -> str:
    """The token in a text; never quoted where it is none."""
    try:
        token = text.decode("ascii").strip()
    except UnicodeDecodeError:
        token = ""
    if not token or len(text) > _MOST_TOKEN_BYTES or not token.isprintable() or " " in token:
        raise DraftboardError(f"{where}: holds no token: one line of printable characters, without blanks")
    return token
