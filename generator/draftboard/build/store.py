"""The generated files on disk: written all or none, and compared with what would be written."""

import difflib
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from draftboard.build.files import PATTERNS
from draftboard.errors import DraftboardError
from draftboard.files import whole


@dataclass(frozen=True)
class Difference:
    """One file on disk that differs from the build."""

    path: str
    what: str
    """`missing`, `differs` or `left over`."""
    diff: str = ""


def write(files: Mapping[str, str], out: Path) -> None:
    """Write all files below `out`: every text is on disk before the first old file is replaced.

    Raises:
        DraftboardError: a folder or file cannot be written; then no file has changed.
    """
    with ExitStack() as staging:
        for path, text in sorted(files.items()):
            target = out / path
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise DraftboardError(
                    f"{target.parent}: cannot write below this path: {error.strerror}; choose another --out"
                ) from None
            staged = staging.enter_context(whole(target, "generated file"))
            staged.write_text(text, encoding="utf-8", newline="\n")


def compare(files: Mapping[str, str], out: Path) -> list[Difference]:
    """How the files below `out` differ from `files`, including files that are left over."""
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
    before, after = (text.splitlines(keepends=True) for text in (actual, expected))
    return "".join(difflib.unified_diff(before, after, f"{path} on disk", f"{path} as built", n=2))


def left_over(files: Mapping[str, str], out: Path) -> list[str]:
    """Files below `out` that an earlier version or other settings generated, and these do not."""
    found = (str(path.relative_to(out)) for pattern in PATTERNS for path in out.glob(pattern))
    return sorted(set(found) - set(files))
