"""Pin the images of docker-compose.yml by digest, because a tag can be moved.

Usage: python3 deploy/tools/pin.py [--write] [docker-compose.yml]
Prints each image with the digest of its tag; --write puts them into the file as `name:tag@sha256:...`, all of them or
none. Existing digests are replaced. Requires access to the registries.

Exit status: 0 success, 2 failure (one line on stderr; the file is unchanged).
"""

import argparse
import http.client
import json
import re
import sys
import tempfile
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from email.message import Message
from pathlib import Path

from printing import warn

COMPOSE = Path(__file__).parent.parent / "docker-compose.yml"
SECONDS = 10  # to connect, and between two reads
MAX_BYTES = 1024 * 1024  # of a token answer; manifests are not read
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
# Preferably a list of manifests, whose digest is valid for every architecture.
MANIFESTS = [
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
]
# One line of x-images: name, anchor, image with or without digest, possibly the default of a variable.
LINE = re.compile(
    r'^(?P<before>  [\w-]+: &[\w-]+ "?(?:\$\{\w+:-)?)'
    r"(?P<name>[\w./:-]+):(?P<tag>[\w.-]+)(?:@sha256:[0-9a-f]{64})?"
    r'(?P<after>\}?"?)$',
    re.MULTILINE,
)


class PinError(Exception):
    """A digest is not available."""


@dataclass(frozen=True)
class Image:
    """An image of the compose file, without its digest."""

    name: str
    tag: str

    @property
    def registry(self) -> str:
        """Host of the registry: the first part of the name if it has a dot or a port, else Docker Hub."""
        first, slash, _ = self.name.partition("/")
        return first if slash and ("." in first or ":" in first) else "registry-1.docker.io"

    @property
    def repository(self) -> str:
        """Path in the registry; official images of Docker Hub are below library/."""
        if self.name.startswith(f"{self.registry}/"):
            return self.name.removeprefix(f"{self.registry}/")
        return self.name if "/" in self.name else f"library/{self.name}"

    def __str__(self) -> str:
        return f"{self.name}:{self.tag}"


def manifest_url(image: Image) -> str:
    """Return the URL of the manifest; registries on loopback use plain http, as in Docker."""
    scheme = "http" if image.registry.startswith(("127.0.0.1:", "localhost:")) else "https"
    return f"{scheme}://{image.registry}/v2/{image.repository}/manifests/{image.tag}"


def ask(url: str, method: str, headers: Mapping[str, str]) -> tuple[int, Message, bytes]:
    """Return status, headers and bounded body of an answer of any status."""
    try:
        request = urllib.request.Request(url, method=method, headers=dict(headers))
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            return answer.status, answer.headers, answer.read(MAX_BYTES)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers, b""
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise PinError(f"{url.partition('?')[0]} is not reachable: {error}") from error


def token(challenge: str) -> str:
    """Request an anonymous token from the server that the registry's challenge names."""
    fields = dict(re.findall(r'(\w+)="([^"]*)"', challenge))
    if not challenge.lower().startswith("bearer ") or not fields.get("realm", "").startswith(("https://", "http://")):
        raise PinError("authentication required: the image is not public")
    query = urllib.parse.urlencode({key: fields[key] for key in ("service", "scope") if key in fields})
    status, _, body = ask(f"{fields['realm']}?{query}", "GET", {})
    try:
        page = json.loads(body)
        return str(page.get("token") or page["access_token"])
    except (ValueError, KeyError, AttributeError) as error:
        raise PinError(f"the token server answered HTTP {status} without a token") from error


def digest(image: Image) -> str:
    """Request the digest of the image's tag."""
    url, headers = manifest_url(image), {"Accept": ", ".join(MANIFESTS)}
    status, answered, _ = ask(url, "HEAD", headers)
    if status == http.client.UNAUTHORIZED:
        headers["Authorization"] = f"Bearer {token(answered.get('WWW-Authenticate', ''))}"
        status, answered, _ = ask(url, "HEAD", headers)
    if status == http.client.NOT_FOUND:
        raise PinError("unknown tag")
    if status != http.client.OK:
        raise PinError(f"the registry answered HTTP {status}")
    found = answered.get("Docker-Content-Digest", "")
    if not DIGEST.fullmatch(found):
        raise PinError("the answer has no sha256 digest")
    return found


def block(text: str) -> tuple[int, int]:
    """Return start and end of the images in the file."""
    found = re.search(r"^x-images:\n(?:  .*\n)+", text, re.MULTILINE)
    if not found:
        raise PinError("the file has no x-images")
    return found.span()


def pinned(text: str) -> tuple[str, list[str]]:
    """Return the text with a digest at every image, and the images."""
    start, end = block(text)
    images: list[str] = []

    def pin(line: re.Match[str]) -> str:
        image = Image(line["name"], line["tag"])
        try:
            images.append(f"{image}@{digest(image)}")
        except PinError as error:
            raise PinError(f"{image}: {error}") from error
        return f"{line['before']}{images[-1]}{line['after']}"

    images_text = LINE.sub(pin, text[start:end])
    unread = text[start:end].count("&") - len(images)
    if unread:
        raise PinError(f"{unread} line(s) of x-images are not an image with a tag")
    return text[:start] + images_text + text[end:], images


def replace(path: Path, text: str) -> None:
    """Replace the file in one step."""
    with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as file:
        file.write(text)
    temporary = Path(file.name)
    temporary.chmod(path.stat().st_mode)
    try:
        temporary.replace(path)
    except OSError:
        temporary.unlink()
        raise


def main() -> int:
    """Parse the command line; report every failure in one line."""
    parser = argparse.ArgumentParser(description="Pin the images of docker-compose.yml by digest.")
    parser.add_argument("file", nargs="?", type=Path, default=COMPOSE)
    parser.add_argument("--write", action="store_true", help="write the digests to the file")
    arguments = parser.parse_args()
    try:
        text, images = pinned(arguments.file.read_text())
        print("\n".join(images))
        if arguments.write:
            replace(arguments.file, text)
    except (PinError, OSError) as error:
        warn("pin.py", str(error))
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
