"""What a command line names: a file that somebody saved, or the address of a server; and such a file's content."""

import re
from pathlib import Path

from draftboard.errors import DraftboardError

_ADDRESS = re.compile(r".*(://|@)|[^/]+:\d+(/|$)", re.DOTALL)
_SHOWN = 120


def is_saved(name: str) -> bool:
    """Whether a regular file is named, rather than an address.

    What may hold a password is an address, so that no error shows it.

    Raises:
        DraftboardError: it is neither.
    """
    try:
        path = Path(name)
        if path.is_file():
            return True
        reason = "no regular file" if path.exists() else "no such file"
    except OSError as error:  # a name too long, a folder that is closed to us
        reason = error.strerror or type(error).__name__
    if _ADDRESS.match(name):
        return False
    text = name if name.isprintable() else repr(name)
    text = text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
    raise DraftboardError(f"{text}: {reason}, and no address: write host:port or http(s)://host:port")


def saved_bytes(path: Path, what: str, most: int) -> bytes:
    """The content of a regular file; `what` says in errors what it should hold.

    Raises:
        DraftboardError: it cannot be read, is no regular file, or has more bytes than `most`.
    """
    try:
        # Whatever waits for a writer would be waited for without end.
        if path.exists() and not path.is_file():
            raise DraftboardError(f"{path}: cannot read the {what}: no regular file")
        with path.open("rb") as file:
            content = file.read(most + 1)
    except OSError as error:
        raise DraftboardError(f"{path}: cannot read the {what}: {error.strerror or error}") from None
    if len(content) > most:
        raise DraftboardError(f"{path}: larger than {most / 1e6:g} MB: no {what} is")
    return content
