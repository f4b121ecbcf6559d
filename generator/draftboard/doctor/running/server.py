"""A vLLM server as it was found: on its own page, or in Prometheus."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from draftboard.doctor.finding import few
from draftboard.settings import Settings


@dataclass(frozen=True)
class Server:
    """One server, and which series it has."""

    where: str
    """Its address, fit to be shown."""
    names: frozenset[str]
    """Of samples, as vLLM names them."""
    answers: bool = True
    ray: bool = False
    """Whether its series begin as Ray Serve names them."""
    method: str = ""
    """Its method label; empty where it has none, or where labels are not to be seen."""


def place(labels: Mapping[str, str], settings: Settings) -> str:
    """A target in words."""
    names = settings.labels
    return f"{labels.get(names.instance, '')} of job {labels.get(names.job, '')}"


def named(servers: Sequence[Server], among: Sequence[Server]) -> str:
    """Some of all servers, in words."""
    if len(servers) == len(among) > 1:
        return f"all {len(among)} servers"
    return few([server.where for server in servers])


def lacking(names: Collection[str], servers: Sequence[Server]) -> frozenset[str]:
    """Names that none of the servers has."""
    return frozenset(names).difference(*(server.names for server in servers))
