"""The Docker engine of the tests, and a receiver of what its containers tell."""

from collections.abc import Iterator

import pytest

from draftboard.lab.listening import Listener, answering
from draftboard.lab.receivers import Receiver
from stack.engine import Engine, engine
from stack.stand_ins import build_stand_ins, images

NETWORK = "draftboard-test-receiver"


@pytest.fixture(scope="session")
def docker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """The engine, with the images that it cannot pull."""
    folder = tmp_path_factory.mktemp("docker")
    with engine(folder, images()["prometheus"]) as found:
        if found.is_private:
            build_stand_ins(found, folder)
        yield found


@pytest.fixture(scope="module")
def webhook(docker: Engine) -> Iterator[tuple[Receiver, str]]:
    """A receiver on this machine's side of Docker's bridge."""
    # A network of its own: a private engine has no docker0, and where there was none it has no address at first.
    docker.docker("network", "create", NETWORK)
    bridge = docker.docker("network", "inspect", NETWORK, "--format", "{{(index .IPAM.Config 0).Gateway}}")
    receiver = Receiver()
    try:
        with Listener(bridge, 0, receiver) as server, answering([server]):
            yield receiver, f"http://{bridge}:{server.server_port}/"
    finally:
        docker.docker("network", "rm", NETWORK)
