"""The stack in a folder of its own, for machines without a checkout."""

from pathlib import Path

from draftboard import project
from draftboard.alerts import load
from draftboard.build.files import render
from draftboard.errors import DraftboardError


def standalone() -> dict[str, str]:
    """All files by path: the handwritten and the generated ones, and the source of the simulator's image."""
    if project.CHECKOUT:
        raise DraftboardError(
            f"draftboard runs from the checkout {project.CHECKOUT}, which holds the stack: use it there"
        )
    package = Path(project.__file__).parent
    carried = _texts(project.ROOT, without=project.ROOT / "deploy/demo")
    source = {f"generator/draftboard/{path}": text for path, text in _texts(package, without=project.ROOT).items()}
    own = {name: (Path(__file__).parent / name).read_text(encoding="utf-8") for name in ("Makefile", "README.md")}
    return {**carried, **source, **own, **render(load(project.ROOT / "deploy/draftboard.toml"))}


def _texts(folder: Path, *, without: Path) -> dict[str, str]:
    """Files below a folder by path, without those of another folder and what Python compiled."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc")
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in files
        if without not in path.parents
    }
