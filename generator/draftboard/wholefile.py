"""Files that appear complete or not at all: written beside their place, then moved there in one step."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from draftboard.errors import DraftboardError


@contextmanager
def whole(target: Path, what: str) -> Iterator[Path]:
    """A path to write to inside a `with`; at its end the file moves to `target`.

    Raises:
        DraftboardError: `target` is a folder, a device or a pipe, or cannot be written; then it is unchanged.
    """
    if target.exists() and not target.is_file():
        raise DraftboardError(f"{target}: cannot write the {what}: not a regular file; choose another path")
    try:
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as folder:
            staged = Path(folder) / target.name
            yield staged
            staged.replace(target)
    except OSError as error:
        raise DraftboardError(
            f"{target}: cannot write the {what}: {error.strerror or error}; choose another path"
        ) from None
