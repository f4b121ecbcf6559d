"""Writing the files without leaving anything half written, and comparing them with what is there."""

import difflib
import os
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from draftboard.build.files import is_generated
from draftboard.errors import DraftboardError
from draftboard.wholefile import require_place

_FOLDERS = ("alerts", "alerts/runbooks", "dashboards", "dashboards/standalone")


@dataclass(frozen=True)
class Difference:
    """One file that is not what the code would write."""

    path: str
    what: str
    """`missing`, `differs` or `left over`."""
    diff: str = ""


def write(files: Mapping[str, str], out: Path) -> None:
    """Write all files below `out`: every text is on the disk before the first old file is replaced.

    Raises:
        DraftboardError: a folder or file cannot be written; then no file has changed.
    """
    with ExitStack() as undo:
        staged = [(_staged(out / path, text, undo), out / path) for path, text in sorted(files.items())]
        for _, target in staged:
            require_place(target)
        for temporary, target in staged:
            try:
                temporary.replace(target)
            except OSError as error:
                raise _cannot_write(target, error) from None


def _staged(target: Path, text: str, undo: ExitStack) -> Path:
    """The text in a file beside its target; removed again unless it has been moved into place."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except OSError as error:
        raise _cannot_write(target, error) from None
    temporary = Path(name)
    undo.callback(temporary.unlink, missing_ok=True)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        temporary.chmod(0o644)
    except OSError as error:
        raise _cannot_write(target, error) from None
    return temporary


def _cannot_write(target: Path, error: OSError) -> DraftboardError:
    return DraftboardError(f"{target}: cannot write: {error.strerror}; choose another folder with --out")


def compare(files: Mapping[str, str], out: Path) -> list[Difference]:
    """How the files below `out` differ from `files`; empty when they are the same and nothing is left over."""
    differences = []
    for path, expected in sorted(files.items()):
        actual = _read(out / path)
        if actual is None:
            differences.append(Difference(path, "missing"))
        elif actual != expected:
            differences.append(Difference(path, "differs", _diff(path, actual, expected)))
    return differences + [Difference(path, "left over") for path in left_over(files, out)]


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise DraftboardError(f"{path}: cannot read: {error}; run `draftboard build`") from None


def _diff(path: str, actual: str, expected: str) -> str:
    lines = difflib.unified_diff(
        actual.splitlines(keepends=True),
        expected.splitlines(keepends=True),
        f"{path} on disk",
        f"{path} as built",
        n=2,
    )
    return "".join(lines)


def left_over(files: Mapping[str, str], out: Path) -> list[str]:
    """Files below `out` of the kind that we write, which nothing builds any more."""
    found = (PurePosixPath(folder) / entry.name for folder in _FOLDERS for entry in _entries(out / folder))
    return sorted(str(path) for path in found if is_generated(path) and str(path) not in files)


def _entries(folder: Path) -> list[Path]:
    return list(folder.iterdir()) if folder.is_dir() else []
