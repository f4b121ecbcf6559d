"""The stack without containers: simulator, Prometheus and Alertmanager as processes, configured by the same files."""

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

_MADE_BY = "Made for a drill, and deleted when it ends."
_DISCOVERED = re.compile(r"http_sd_configs: (?P<url>http://\S+)")


@dataclass(frozen=True)
class Programs:
    """Prometheus 3.5 and Alertmanager 0.28, or newer."""

    prometheus: Path
    alertmanager: Path


@dataclass
class Wiring:
    """Running processes. Each may be killed and started again; all end with the `with` that made them."""

    settings: Settings
    programs: Programs
    folder: Path
    alertmanager_port: int
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)  # by name
    prometheus_url: str = ""

    def start_simulator(self, scenario: str, *, speed: float, port: int = 0, name: str = "simulator") -> list[str]:
        """Serve a scenario, by name or file, and have Prometheus discover its servers; returns their host:port."""
        options = [f"--scenario={scenario}", f"--speed={speed}", f"--port={port}"]
        program = Program(
            name="the simulator",
            command=(sys.executable, "-m", "draftboard", "simulate", *options),
            ready=_DISCOVERED,
            help="install the extra, pip install 'draftboard[lab]'",
        )
        self.running[name], ready = program.start(self.folder / f"{name}.log")
        groups = httpx.get(ready["url"], timeout=10).json()
        self.watch(name, groups)
        return [place for group in groups for place in group["targets"]]

    def watch(self, name: str, groups: list[dict[str, object]]) -> None:
        """Give Prometheus a file of targets, in one step, for its file discovery."""
        written = self.folder / "targets" / f".{name}"
        written.write_text(json.dumps(groups))
        written.rename(self.folder / "targets" / f"{name}.json")

    def start_alertmanager(self) -> None:
        """Start it with its stored data."""
        folder, port = self.folder / "alertmanager", self.alertmanager_port
        self.running["alertmanager"] = Alertmanager(self.programs.alertmanager, folder, port).start()

    def start_prometheus(self) -> None:
        """Start it with its stored data, on a free port."""
        text = (self.folder / "prometheus.yml").read_text()
        server = Server(self.programs.prometheus, self.folder, self.settings.rules.rate_window, configuration=text)
        self.running["prometheus"], self.prometheus_url = server.start()

    def kill(self, name: str) -> None:
        """End one of them as a power cut would."""
        process = self.running.pop(name)
        process.kill()
        process.wait()


@contextmanager
def wired(settings: Settings, programs: Programs, folder: Path, webhook: str) -> Iterator[Wiring]:
    """Write all configuration into a folder, every alert routed to the webhook. Nothing runs yet.

    Channels and addresses of `settings.stack` are replaced: a drill notifies no other receiver.
    """
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    notify = settings.stack.notify.model_copy(update=dict.fromkeys(("critical", "warning", "info"), ("webhook",)))
    here = {"notify": notify, "alertmanager": f"127.0.0.1:{port}", "secrets": str(folder / "secrets")}
    local = settings.model_copy(update={"stack": settings.stack.model_copy(update=here)})
    files = stack.render(local, _MADE_BY)
    for path, text in {
        "prometheus.yml": files[stack.PROMETHEUS],
        "alertmanager/alertmanager.yml": files[stack.ALERTMANAGER],
        "alertmanager/templates/draftboard.tmpl": files[stack.MESSAGES],
        "rules/recording.rules.yaml": to_yaml(recording_groups(local)),
        "rules/alerting.rules.yaml": to_yaml(alerting_groups(local)),
        "secrets/alert_webhook_url": webhook,
        "secrets/heartbeat_url": webhook,
    }.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    (folder / "scrape").mkdir()
    (folder / "targets").mkdir()
    wiring = Wiring(local, programs, folder, port)
    try:
        yield wiring
    finally:
        for process in reversed(wiring.running.values()):
            stop(process)
