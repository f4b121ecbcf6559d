"""Files that others see whole or not at all: written beside their place, then moved there in one step."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from draftboard.errors import DraftboardError


def require_place(target: Path) -> None:
    """Raise DraftboardError where something stands that no file may take the place of: a folder, a device, a pipe."""
    if target.exists() and not target.is_file():
        raise DraftboardError(f"{target}: is no regular file, and a file is to be written there; name another")


@contextmanager
def whole(target: Path, what: str) -> Iterator[Path]:
    """A path to write to for the time of a `with`; what is written is then moved to `target`.

    Raises:
        DraftboardError: it cannot be written there; then `target` is as it was.
    """
    require_place(target)
    try:
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as folder:
            staged = Path(folder) / target.name
            yield staged
            staged.replace(target)
    except OSError as error:
        raise DraftboardError(
            f"{target}: cannot write the {what}: {error.strerror or error}; name another place"
        ) from None
