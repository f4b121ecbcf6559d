"""A copy of the repository whose stack the tests start: with the user's files, ports and containers of its own."""

import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import httpx

from conftest import ROOT
from stack.engine import PROJECTS, SECONDS, Engine
from stack.stand_ins import images
from support.loopback import free_port
from support.waiting import until

# The variable of the published port of each service.
PORTS = {"simulator": "VLLM_PORT", "vllm": "VLLM_PORT", "grafana": "GRAFANA_PORT", "prometheus": "PROMETHEUS_PORT"}

# The port of each service that publishes none, in its container: this machine reaches Docker's networks.
INSIDE = {"alertmanager": "9093"}


@dataclass(frozen=True)
class Checkout:
    """A copy of the repository, with the user's files of its own."""

    folder: Path
    docker: Engine
    ports: Mapping[str, str]  # by variable
    project: str

    @property
    def deploy(self) -> Path:
        return self.folder / "deploy"

    def make(self, *targets: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """The outcome of `make`, with free ports."""
        return subprocess.run(
            ["make", "--no-print-directory", *targets],
            cwd=self.folder,
            env={**self.docker.environment, **self.ports, **variables},
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS,
        )

    def made(self, *targets: str, **variables: str) -> str:
        """What `make` prints; its error, where it fails, fails the test."""
        done = self.make(*targets, **variables)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def types(self, command: str) -> None:
        """Run a command of the documentation in a shell, where it must succeed."""
        done = subprocess.run(
            ["sh", "-ec", command],
            cwd=self.folder,
            env={**self.docker.environment, **self.ports},
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS,
        )
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"

    def build(self, settings: str) -> None:
        """What `make build` does with settings of the user's, with the packages of this Python."""
        (self.deploy / "my.toml").write_text(settings)
        command = [sys.executable, "-m", "draftboard", "build", "--config", "deploy/my.toml", "--out", "deploy/built"]
        subprocess.run(command, cwd=self.folder, capture_output=True, check=True)

    def configure(self, **variables: str) -> None:
        """Add variables to .env; the last line of a name counts."""
        with (self.deploy / ".env").open("a") as env:
            env.writelines(f"{name}={value}\n" for name, value in variables.items())

    def container(self, service: str) -> str:
        """The id of a service's container, running or not; empty where there is none."""
        labels = {"project": self.project, "service": service}
        filters = [f"--filter=label=com.docker.compose.{key}={value}" for key, value in labels.items()]
        return self.docker.docker("ps", "--all", "--quiet", "--no-trunc", *filters)

    def inspect(self, service: str, template: str) -> str:
        """A part of what Docker says of a container."""
        return self.docker.docker("inspect", "--format", template, self.container(service))

    def in_volume(self, volume: str, command: str) -> str:
        """What a command of root prints, with the volume as its folder."""
        words = ("run", "--rm", "--network=none", "--user=0:0", f"--volume={volume}:/data", "--workdir=/data")
        return self.docker.docker(*words, "--entrypoint=sh", images()["prometheus"], "-c", command)

    def until_healthy(self, *services: str, seconds: float = 90) -> None:
        """Wait for each."""
        for service in services:
            until(partial(self.is_healthy, service), f"{service} is healthy", seconds)

    def is_healthy(self, service: str) -> bool:
        return self.inspect(service, "{{.State.Health.Status}}") == "healthy"

    def assert_without_privileges(self, service: str) -> None:
        """Its first process belongs to the owner of the secrets, without capabilities, and can get none."""
        owner = (self.deploy / "secrets").stat().st_uid
        status = self.docker.docker("exec", self.container(service), "cat", "/proc/1/status")
        assert f"\nUid:\t{owner}\t{owner}\t" in status
        assert "CapBnd:\t0000000000000000" in status
        assert "NoNewPrivs:\t1" in status

    def url(self, service: str, path: str = "") -> str:
        """The address of a service: on its published port, or in its container."""
        if service in PORTS:
            return f"http://127.0.0.1:{self.ports[PORTS[service]]}{path}"
        inside = self.inspect(service, "{{range .NetworkSettings.Networks}}{{.IPAddress}} {{end}}").split()[0]
        return f"http://{inside}:{INSIDE[service]}{path}"

    def asked(self, service: str, path: str) -> httpx.Response:
        """What a service answers on its published port."""
        return httpx.get(self.url(service, path), timeout=10)

    def posted(self, service: str, path: str) -> httpx.Response:
        """What it answers to an empty POST."""
        return httpx.post(self.url(service, path), timeout=10)

    def prometheus(self, path: str) -> Any:
        """The data of an answer of Prometheus."""
        return self.asked("prometheus", f"/api/v1/{path}").raise_for_status().json()["data"]


def checkout(folder: Path, docker: Engine, project: str = PROJECTS[0]) -> Checkout:
    """What Git would hold of this working tree, in an empty folder."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).exists():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target)
    return Checkout(folder, docker, {variable: str(free_port()) for variable in set(PORTS.values())}, project)


def remove_volumes(docker: Engine) -> None:
    """What `make down` keeps, because it is the user's."""
    for project in PROJECTS:
        label = f"label=com.docker.compose.project={project}"
        if volumes := docker.docker("volume", "ls", "--quiet", "--filter", label).split():
            docker.docker("volume", "rm", *volumes)
