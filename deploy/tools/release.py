"""Official archives: downloaded within bounds, and opened for nothing but the files that are named."""

import hashlib
import http.client
import shutil
import tarfile
import urllib.request
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from attempt import STALL_SECONDS, FetchError, UnavailableError

MAX_BYTES = 512 * 1024 * 1024  # the archives are around 110 MB
CHUNK_BYTES = 1024 * 1024


def download(url: str, target: Path) -> str:
    """Save a bounded download and return its sha256."""
    digest, size = hashlib.sha256(), 0
    with target.open("wb") as file:
        for chunk in received(url):
            size += len(chunk)
            if size > MAX_BYTES:
                raise FetchError(f"{url} is larger than {MAX_BYTES} bytes: not used")
            digest.update(chunk)
            file.write(chunk)
    return digest.hexdigest()


def received(url: str) -> Iterator[bytes]:
    """Yield the body of a URL; only the network's failures, not the disk's, mean unavailable."""
    size = 0
    try:
        with urllib.request.urlopen(url, timeout=STALL_SECONDS) as response:
            length = int(response.headers.get("Content-Length", -1))
            while chunk := response.read(CHUNK_BYTES):
                size += len(chunk)
                yield chunk
    except (OSError, http.client.HTTPException) as error:
        raise UnavailableError(f"not reachable: {error}") from error
    if length not in (-1, size):  # a cut line must not look like a wrong sum
        raise UnavailableError(f"cut off after {size} of {length} bytes")


def extract(archive: Path, binaries: Iterable[str], staged: Path) -> None:
    """Copy the named regular files out; their paths in the archive never become paths here."""
    missing = set(binaries)
    try:
        with tarfile.open(archive, "r:gz") as members:
            for member in members:
                name = PurePosixPath(member.name).name
                wanted = member.isfile() and name in missing
                if wanted and (content := members.extractfile(member)):
                    with (staged / name).open("wb") as file:
                        shutil.copyfileobj(content, file)
                    missing.remove(name)
    except (tarfile.TarError, EOFError) as error:
        raise FetchError(f"the archive cannot be read: {error}") from error
    if missing:
        raise FetchError(f"the archive holds no {' and no '.join(sorted(missing))}")
