"""The scenarios that come with Draftboard, by name."""

from importlib.resources import as_file, files
from pathlib import Path

from draftboard.errors import DraftboardError
from draftboard.lab.simulator.scenario import Scenario, read

_FOLDER = files("draftboard.lab.simulator") / "scenarios"


def names() -> list[str]:
    """All of them, in order."""
    return sorted(entry.name.removesuffix(".toml") for entry in _FOLDER.iterdir() if entry.name.endswith(".toml"))


def find(name: str) -> Scenario:
    """A scenario by its name, or by the path of a TOML file.

    Raises:
        DraftboardError: there is none, or it tells something that cannot be.
    """
    if name.endswith(".toml"):
        return read(Path(name))
    if name not in names():
        raise DraftboardError(f"scenario {name!r} is unknown: name a TOML file, or one of {', '.join(names())}")
    with as_file(_FOLDER / f"{name}.toml") as path:
        return read(path)
