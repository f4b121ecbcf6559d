"""Commands of runbooks on each platform: Docker Compose, Kubernetes, programs and systemd units of a host."""

from collections.abc import Mapping
from dataclasses import dataclass

from draftboard.settings.runbooks import Platform, Runbooks

COMPOSE = "docker compose --file deploy/docker-compose.yml"
_MONITORING = ("prometheus", "alertmanager")
_SERVICES = (*_MONITORING, "vllm")
_HOLDS = {"promtool": "prometheus", "amtool": "alertmanager"}
"""The service whose container holds a program."""


@dataclass(frozen=True)
class Commands:
    """The commands of a platform, for the services `vllm`, `prometheus` and `alertmanager`."""

    title: str
    inside: Mapping[str, str]
    """By service: what runs a command where the service runs; empty on a host."""
    log: Mapping[str, str]
    """By service: prints its log."""
    lines: str
    """Option of `log`: how many lines."""
    since: str
    """Option of `log`: from how long ago."""

    def run(self, program: str) -> str:
        """What runs promtool or amtool."""
        return f"{self.inside[_HOLDS[program]]} {program}".lstrip()

    def logs(self, service: str, lines: int) -> str:
        """A command that prints the last lines of a log."""
        return f"{self.log[service]} {self.lines}{lines}"

    def logs_since(self, service: str, ago: str) -> str:
        """A command that prints what a service logged since a time ago, such as 30m."""
        return f"{self.log[service]} {self.since}{ago}"


def platforms(settings: Runbooks) -> dict[Platform, Commands]:
    """The commands of every platform, the reader's own first."""
    in_cluster = {  # Prometheus' operator names services so.
        name: f"--namespace {settings.monitoring_namespace} services/{name}-operated --container {name}"
        for name in _MONITORING
    } | {"vllm": f"--namespace {settings.namespace} {settings.workload}"}
    found: dict[Platform, Commands] = {
        "compose": Commands(
            title="Docker Compose",
            inside={name: f"{COMPOSE} exec {name}" for name in _SERVICES},
            log={name: f"{COMPOSE} logs {name}" for name in _SERVICES},
            lines="--tail ",
            since="--since ",
        ),
        "kubernetes": Commands(
            title="Kubernetes",
            inside={name: f"kubectl exec {place} --" for name, place in in_cluster.items()},
            log={name: f"kubectl logs {place}" for name, place in in_cluster.items()},
            lines="--tail ",
            since="--since ",
        ),
        "host": Commands(
            title="Host",
            inside=dict.fromkeys(_SERVICES, ""),
            log={name: f"journalctl --unit {name}" for name in _SERVICES},
            lines="--lines ",
            since="--since -",
        ),
    }
    return {settings.platform: found[settings.platform], **found}
