"""The Docker engine of the tests."""

from collections.abc import Iterator

import pytest

from stack.engine import Engine, engine
from stack.images import build_stand_ins, images


@pytest.fixture(scope="session")
def docker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """The engine, with the images that it cannot pull."""
    folder = tmp_path_factory.mktemp("docker")
    with engine(folder, images()["prometheus"]) as found:
        if found.is_private:
            build_stand_ins(found, folder)
        yield found
