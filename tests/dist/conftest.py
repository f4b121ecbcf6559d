"""The files of a release in build/dist, and its archive unpacked elsewhere."""

import tarfile
from pathlib import Path

import pytest

from conftest import ROOT
from draftboard import __version__


@pytest.fixture(scope="session")
def dist() -> Path:
    """What `make dist` wrote."""
    return ROOT / "build/dist"


@pytest.fixture(scope="session")
def unpacked(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """In a folder with a space in its name."""
    into = tmp_path_factory.mktemp("my monitoring")
    with tarfile.open(dist / f"draftboard-monitoring-{__version__}.tar.gz") as archive:
        archive.extractall(into, filter="data")
    (folder,) = into.iterdir()
    return folder
