"""Where dashboards come from: made of settings, or read from a folder."""

from collections.abc import Sequence
from pathlib import Path

from draftboard.dashboards import DASHBOARDS
from draftboard.errors import DraftboardError
from draftboard.preview.document import Dashboard, parse, read
from draftboard.settings import Settings
from draftboard.signals import Edition

_MOST_BYTES = 10_000_000
_PATTERN = "draftboard-*.json"


def made(settings: Settings, editions: Sequence[Edition]) -> list[Dashboard]:
    """What `draftboard build` makes."""
    documents = [build(settings, edition) for edition in editions for build in DASHBOARDS]
    return [read(one.document, one.uid) for one in documents]


def in_folder(folder: Path) -> list[Dashboard]:
    """Every dashboard of ours in a folder, by file name.

    Raises:
        DraftboardError: there is none, one cannot be read, or two have the same uid.
    """
    found = {path: parse(_text(path), str(path)) for path in sorted(folder.glob(_PATTERN))}
    if not found:
        raise DraftboardError(f"{folder}: holds no {_PATTERN}; name a folder that `draftboard build` has written")
    seen: dict[str, Path] = {}
    for path, dashboard in found.items():
        if dashboard.uid in seen:
            raise DraftboardError(f"{path}: has the uid of {seen[dashboard.uid]}; give it one of its own")
        seen[dashboard.uid] = path
    return list(found.values())


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise DraftboardError(f"{path}: cannot read the dashboard: {error.strerror}") from None
    if len(content) > _MOST_BYTES:
        raise DraftboardError(f"{path}: larger than {_MOST_BYTES} bytes; this is no dashboard")
    return content.decode(errors="replace")
