"""Pictures of numbers, by matplotlib, which only they need."""

import io
from pathlib import Path
from types import ModuleType
from typing import Any

from draftboard.errors import DraftboardError
from draftboard.extras import optional_module
from draftboard.files import require_folder, whole

_FORMATS = (".svg", ".png")


def require_drawable(path: Path) -> None:
    """See before anything is looked at whether a picture can be drawn into the file."""
    if path.suffix not in _FORMATS:
        raise DraftboardError(f"{path}: name the picture *.svg or *.png")
    require_folder(path)
    _figures()


def figure(width: float, height: float) -> Any:  # noqa: ANN401  (matplotlib is imported only when drawing)
    """An empty figure of so many inches."""
    return _figures().Figure(figsize=(width, height), layout="constrained")


def save(drawn: Any, path: Path) -> None:  # noqa: ANN401
    """Write a figure into a file, which appears whole or not at all."""
    out, kind = io.BytesIO(), path.suffix[1:]
    # Without a date the same numbers give the same file.
    drawn.savefig(out, format=kind, dpi=150, metadata={"Date": None} if kind == "svg" else None)
    with whole(path, "picture") as staged:
        staged.write_bytes(out.getvalue())


def _figures() -> ModuleType:
    return optional_module("matplotlib.figure", "--plot requires", "plots")
