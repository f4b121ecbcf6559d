"""A Docker engine for the tests: the one that answers, where it can pull the stack's images; else a private one.

Stand-ins carry the names of the genuine images, so they are built in a private engine only.
"""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from conftest import program
from support.waiting import until

SECONDS = 600  # of one command: building an image installs packages
PROJECTS = ("draftboard", "draftboard-demo")


@dataclass(frozen=True)
class Engine:
    """A Docker engine, by the environment variables that lead to it."""

    environment: Mapping[str, str]
    is_private: bool

    def docker(self, *words: str | Path) -> str:
        """What `docker` prints; its error, where it fails, fails the test."""
        done = self.tried(*words)
        assert done.returncode == 0, f"docker {words[0]}: {done.stderr}"
        return done.stdout.strip()

    def tried(self, *words: str | Path) -> subprocess.CompletedProcess[str]:
        """The outcome of a `docker` command, whatever it is."""
        return subprocess.run(
            ["docker", *words], env=self.environment, capture_output=True, text=True, check=False, timeout=SECONDS
        )


@contextmanager
def engine(folder: Path, image: str) -> Iterator[Engine]:
    """An engine for the time of a `with`; the folder holds a private one's data, the image is one to pull."""
    environment = with_compose(folder)
    own = Engine(environment, is_private=False)
    if own.tried("info").returncode == 0 and own.tried("pull", "--quiet", image).returncode == 0:
        refuse_used(own)
        yield own
        return
    socket = f"unix://{folder}/docker.sock"
    with private_engine(folder, Engine({**environment, "DOCKER_HOST": socket}, is_private=True), socket) as private:
        yield private


def with_compose(folder: Path) -> dict[str, str]:
    """The environment in which `docker compose` works: with the fetched program, where Docker has none of its own."""
    environment = dict(os.environ)
    if subprocess.run(["docker", "compose", "version"], capture_output=True, check=False).returncode:
        plugins = folder / "config/cli-plugins"
        plugins.mkdir(parents=True)
        shutil.copy(program("docker-compose"), plugins)
        environment["DOCKER_CONFIG"] = str(plugins.parent)
    return environment


def refuse_used(own: Engine) -> None:
    """The tests remove volumes: not those of a stack that somebody uses."""
    for project in PROJECTS:
        label = f"label=com.docker.compose.project={project}"
        used = own.docker("ps", "--all", "--quiet", "--filter", label) + own.docker("volume", "ls", "-q", "-f", label)
        assert not used, f"this Docker engine has a stack {project}: run the tests where no stack is in use"


@contextmanager
def private_engine(folder: Path, private: Engine, socket: str) -> Iterator[Engine]:
    """Start `dockerd` with data, state and socket in the folder; end it and remove its data.

    It has no bridge: docker0 belongs to the machine's own engine, and two that use it harm each other.
    """
    assert os.getuid() == 0, "no Docker engine answers that can pull images; starting one requires root"
    assert shutil.which("dockerd"), "dockerd is missing. Run: apt-get install docker.io"
    options = {"data-root": "data", "exec-root": "exec", "pidfile": "pid"}
    places = [f"--{option}={folder / name}" for option, name in options.items()]
    with (folder / "log").open("w") as log:
        daemon = subprocess.Popen(["dockerd", f"--host={socket}", "--bridge=none", *places], stdout=log, stderr=log)
    try:
        until(lambda: private.tried("info").returncode == 0, "dockerd answers", seconds=60)
        yield private
    finally:
        daemon.send_signal(signal.SIGTERM)
        daemon.wait(60)
        # It leaves a mount, which nobody can remove with the folder.
        subprocess.run(["umount", folder / "exec/netns/default"], capture_output=True, check=False)
        shutil.rmtree(folder / "data", ignore_errors=True)
