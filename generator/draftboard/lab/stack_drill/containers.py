"""The containers of a running stack, by the command `docker`: found by their labels, whatever folder made them."""

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from draftboard.errors import DraftboardError

_LABEL = "com.docker.compose."
_MOUNTED = {"prometheus": "/etc/prometheus/targets", "alertmanager": "/etc/alertmanager"}
"""A folder that each has from this machine: no other project has it."""
_PORT = "9090/tcp"
_EVERYWHERE = ("", "0.0.0.0", "::")  # noqa: S104  (how Docker names a port of all addresses)
_SECONDS = 60


@dataclass(frozen=True)
class Container:
    """A container of a service, and the folder of this machine that it reads."""

    service: str
    id: str
    folder: Path
    gateway: str
    """This machine's address in its network."""
    running: bool
    url: str
    """Of Prometheus, as this machine reaches it: on its published port, else in its network."""

    @classmethod
    def of(cls, described: Mapping[str, Any], service: str) -> Self | None:
        """From `docker inspect`; None where it is not of a stack."""
        mounts = {mount["Destination"]: mount["Source"] for mount in described["Mounts"]}
        if _MOUNTED[service] not in mounts:
            return None
        network = described["NetworkSettings"]
        joined = [one for one in network["Networks"].values() if one["Gateway"]]
        gateway, address = (joined[0]["Gateway"], joined[0]["IPAddress"]) if joined else ("", "")
        url = next(map(_url, network["Ports"].get(_PORT) or ()), f"http://{address}:9090")
        return cls(
            service, described["Id"], Path(mounts[_MOUNTED[service]]), gateway, described["State"]["Running"], url
        )

    def run(self, *words: str) -> str:
        """What a command prints within it."""
        return docker("exec", self.id, *words)

    def answers(self, url: str) -> str | None:
        """What a URL answers to it; None where it does not, or not with 200."""
        try:
            return self.run("wget", "-q", "-T", "5", "-O", "-", url)
        except DraftboardError:
            return None

    def kill(self) -> None:
        """End it as a crash does; unlike then, Docker does not start it again."""
        docker("kill", self.id)

    def start(self) -> None:
        """Start it with its data; nothing where it runs."""
        docker("start", self.id)

    def reload(self) -> None:
        """Have it read its configuration again."""
        docker("kill", "--signal=SIGHUP", self.id)


@dataclass(frozen=True)
class Stack:
    """A Compose project."""

    project: str
    prometheus: Container
    alertmanager: Container

    def container(self, service: str) -> Container:
        """One of the two."""
        return {one.service: one for one in (self.prometheus, self.alertmanager)}[service]


def _url(published: Mapping[str, str]) -> str:
    host = published["HostIp"]
    of_this_machine = "127.0.0.1" if host in _EVERYWHERE else f"[{host}]" if ":" in host else host
    return f"http://{of_this_machine}:{published['HostPort']}"


def docker(*words: str) -> str:
    """What `docker` prints; DraftboardError with its last words where it fails."""
    try:
        done = subprocess.run(
            ["docker", *words],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=_SECONDS,
            start_new_session=True,  # An interrupt of the terminal's must not reach it: it may be putting things back.
        )
    except OSError as error:
        raise DraftboardError(f"docker: cannot be run: {error.strerror}: install Docker, or add it to PATH") from None
    except subprocess.TimeoutExpired:
        raise DraftboardError(f"docker {words[0]}: no answer within {_SECONDS} s: see `docker info`") from None
    if done.returncode:
        last = "".join(done.stderr.strip().splitlines()[-1:])
        raise DraftboardError(f"docker {words[0]}: {last}")
    return done.stdout


def find(project: str | None) -> Stack:
    """The stack that runs here, or that of a project; DraftboardError where there is none, or more than one."""
    stacks = _stacks()
    if project is not None and project not in stacks:
        raise DraftboardError(f"--project {project}: no stack of this name; running: {', '.join(stacks) or 'none'}")
    if not stacks:
        raise DraftboardError("no stack runs on this Docker: start it with `make up` or `make up-demo`")
    if project is None and len(stacks) > 1:
        raise DraftboardError(f"{len(stacks)} stacks run: name one, --project {' or '.join(stacks)}")
    found = stacks[project or next(iter(stacks))]
    for one in (found.prometheus, found.alertmanager):
        if not one.running:
            raise DraftboardError(f"{one.service} of {found.project} does not run: start it with `make up`")
        if not one.folder.is_dir():
            raise DraftboardError(
                f"{one.folder} of {one.service} is not on this machine: run the drill on Docker's own"
            )
    return found


def _stacks() -> dict[str, Stack]:
    """By project."""
    ids = docker("ps", "--all", "--quiet", "--no-trunc", f"--filter=label={_LABEL}service").split()
    by_project: dict[str, dict[str, Container]] = {}
    for described in json.loads(docker("inspect", *ids)) if ids else ():
        labels = described["Config"]["Labels"]
        service = labels[f"{_LABEL}service"]
        if service in _MOUNTED and (one := Container.of(described, service)):
            by_project.setdefault(labels[f"{_LABEL}project"], {})[service] = one
    whole = {name: found for name, found in sorted(by_project.items()) if found.keys() == _MOUNTED.keys()}
    return {name: Stack(name, **found) for name, found in whole.items()}
