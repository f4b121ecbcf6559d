"""The Docker engine of the tests, and a receiver of what its containers tell."""

from collections.abc import Iterator

import pytest

from draftboard.lab.listening import Listener, answering
from draftboard.lab.receivers import Receiver, StandIns
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


@pytest.fixture(scope="session")
def bridge(docker: Engine) -> Iterator[str]:
    """This machine's address on a network of Docker's.

    The network is one of its own: a private engine has no docker0, and where there was none it has no address at first.
    """
    docker.docker("network", "create", NETWORK)
    yield docker.docker("network", "inspect", NETWORK, "--format", "{{(index .IPAM.Config 0).Gateway}}")
    docker.docker("network", "rm", NETWORK)


@pytest.fixture(scope="module")
def webhook(bridge: str) -> Iterator[tuple[Receiver, str]]:
    """A receiver on this machine, and its address."""
    receiver = Receiver()
    with Listener(bridge, 0, receiver) as server, answering([server]):
        yield receiver, f"http://{bridge}:{server.server_port}/"


@pytest.fixture(scope="module")
def stand_ins(bridge: str) -> Iterator[tuple[StandIns, str]]:
    """A webhook, Slack and PagerDuty on this machine, each at the path of its name below an address."""
    heard = StandIns()
    with Listener(bridge, 0, heard) as server, answering([server]):
        yield heard, f"http://{bridge}:{server.server_port}"
