"""Plots by matplotlib, which is an extra."""

import io
from pathlib import Path
from types import ModuleType
from typing import Any

from draftboard.errors import DraftboardError
from draftboard.extras import optional_module
from draftboard.files import require_folder, whole

_FORMATS = (".svg", ".png")


def require_drawable(path: Path) -> None:
    """Raise DraftboardError where a picture cannot be drawn into the file, before anything is measured."""
    if path.suffix not in _FORMATS:
        raise DraftboardError(f"{path}: the picture must be *.svg or *.png")
    require_folder(path)
    _figures()


def figure(width: float, height: float) -> Any:  # noqa: ANN401  (matplotlib is imported only when drawing)
    """An empty figure; width and height in inches."""
    return _figures().Figure(figsize=(width, height), layout="constrained")


def save(drawn: Any, path: Path) -> None:  # noqa: ANN401
    """Write a figure into a file, atomically."""
    out, kind = io.BytesIO(), path.suffix[1:]
    # Without a date the same numbers give the same file.
    drawn.savefig(out, format=kind, dpi=150, metadata={"Date": None} if kind == "svg" else None)
    with whole(path, "picture") as staged:
        staged.write_bytes(out.getvalue())


def _figures() -> ModuleType:
    return optional_module("matplotlib.figure", "--plot requires", "plots")
