"""Credentials for servers, and certificates to trust."""

import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from draftboard.errors import DraftboardError
from draftboard.files import saved_bytes

API_KEY = "VLLM_API_KEY"  # The environment variable from which vLLM takes its API key.


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


def _checked(text: bytes, where: str) -> str:
    token = re.fullmatch(rb"\s*([!-~]{1,64000})\s*", text)
    if token is None:
        raise DraftboardError(f"{where}: not a token: must be one line of printable characters without blanks")
    return token[1].decode()
