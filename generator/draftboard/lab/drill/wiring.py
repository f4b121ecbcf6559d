"""The stack without containers: simulator, Prometheus and Alertmanager as processes, wired by the same files."""

import json
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from draftboard.build import stack
from draftboard.prometheus import Alertmanager, Program, Server, stop
from draftboard.rules import alerting_groups, recording_groups, to_yaml
from draftboard.settings import Settings

_MADE_BY = "Made for a drill: it is gone when the drill ends."
_DISCOVERED = re.compile(r"http_sd_configs: (?P<url>http://\S+)")
Process = subprocess.Popen[bytes]


@dataclass(frozen=True)
class Programs:
    """Prometheus 3.5 and Alertmanager 0.28, or newer."""

    prometheus: Path
    alertmanager: Path


@dataclass
class Wiring:
    """Running processes, each of which may be ended and started again; all end with the `with` that made them."""

    settings: Settings
    programs: Programs
    folder: Path
    alertmanager_port: int
    running: dict[str, Process] = field(default_factory=dict)
    """By name: `alertmanager`, `prometheus`, and simulators as they were called."""
    prometheus_url: str = ""

    def start_simulator(self, scenario: str, *, speed: float, port: int = 0, name: str = "simulator") -> list[str]:
        """Serve a scenario, by name or file, and have Prometheus discover its servers; returns their host:port."""
        options = [f"--speed={speed}", f"--port={port}"]
        program = Program(
            name="the simulator",
            command=(sys.executable, "-m", "draftboard", "simulate", f"--scenario={scenario}", *options),
            ready=_DISCOVERED,
            help="install the extra, pip install 'draftboard[simulator]'",
        )
        self.running[name], ready = program.start(self.folder / f"{name}.log")
        groups = httpx.get(ready["url"], timeout=10).json()
        self.watch(name, groups)
        return [place for group in groups for place in group["targets"]]

    def watch(self, name: str, groups: list[dict[str, object]]) -> None:
        """Give Prometheus a file of targets, in one step, as its file discovery wants them."""
        written = self.folder / "targets" / f".{name}"
        written.write_text(json.dumps(groups))
        written.rename(self.folder / "targets" / f"{name}.json")

    def start_alertmanager(self) -> None:
        """Start it where it was, with what it remembers."""
        alertmanager = Alertmanager(self.programs.alertmanager, self.folder / "alertmanager", self.alertmanager_port)
        self.running["alertmanager"] = alertmanager.start()

    def start_prometheus(self) -> None:
        """Start it with what it remembers, on a port of its own choosing."""
        rules = self.settings.rules
        text = (self.folder / "prometheus.yml").read_text()
        server = Server(self.programs.prometheus, self.folder, lookback=rules.rate_window, configuration=text)
        self.running["prometheus"], self.prometheus_url = server.start()

    def stop(self, name: str) -> None:
        """End one of them in good order."""
        stop(self.running.pop(name))

    def kill(self, name: str) -> None:
        """End one of them as a power cut would."""
        process = self.running.pop(name)
        process.kill()
        process.wait()


@contextmanager
def wired(settings: Settings, programs: Programs, folder: Path, webhook: str) -> Iterator[Wiring]:
    """Write all configuration into a folder, every alert routed to the webhook. Nothing runs yet.

    What `settings.stack` says of channels and addresses is replaced: a drill wakes nobody.
    """
    port = _free_port()
    notify = settings.stack.notify.model_copy(
        update=dict.fromkeys(("critical", "warning", "info"), ("webhook",)),
    )
    here = settings.stack.model_copy(
        update={"notify": notify, "alertmanager": f"127.0.0.1:{port}", "secrets": str(folder / "secrets")},
    )
    local = settings.model_copy(update={"stack": here})
    _write(local, folder, webhook)
    wiring = Wiring(local, programs, folder, port)
    try:
        yield wiring
    finally:
        for name in reversed(list(wiring.running)):
            wiring.stop(name)


def _write(settings: Settings, folder: Path, webhook: str) -> None:
    for name in ("rules", "scrape", "targets", "secrets", "alertmanager/templates"):
        (folder / name).mkdir(parents=True)
    files = stack.render(settings, _MADE_BY)
    (folder / "prometheus.yml").write_text(files[stack.PROMETHEUS])
    (folder / "alertmanager/alertmanager.yml").write_text(files[stack.ALERTMANAGER])
    (folder / "alertmanager/templates/draftboard.tmpl").write_text(files[stack.MESSAGES])
    (folder / "rules/recording.rules.yaml").write_text(to_yaml(recording_groups(settings)))
    (folder / "rules/alerting.rules.yaml").write_text(to_yaml(alerting_groups(settings)))
    for name in ("alert_webhook_url", "heartbeat_url"):
        secret = folder / "secrets" / name
        secret.touch(mode=0o600)
        secret.write_text(webhook)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
