"""A fire drill: alerts travel from a counter to a webhook, through real servers configured by the stack's files."""

import json
import math
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from draftboard.alerts import WATCHDOG, Alert, of_settings
from draftboard.build import stack
from draftboard.catalogue.dialects import DIALECTS
from draftboard.errors import DraftboardError
from draftboard.extras import INSTALL
from draftboard.lab.receivers import Arrival, receiving
from draftboard.lab.simulator import Expected, Scenario, find
from draftboard.output import Bullets, Described, Document, Heading, Note, Progress, Table, columns, no_progress
from draftboard.prometheus import Program, Server, start_alertmanager, stop
from draftboard.rules import alerting_groups, recording_groups, to_yaml
from draftboard.settings import Settings

_MADE_BY = "Made for a drill, and deleted when it ends."
_DISCOVERED = re.compile(r"http_sd_configs: (?P<url>http://\S+)")
_MARGIN = 3.0  # times as long as the scenario says that the last alert takes
_LEAST_SECONDS = 30.0  # starting the processes and scraping twice takes its time, however fast the scenario


@dataclass(frozen=True)
class Programs:
    """Prometheus 3.5 and Alertmanager 0.28, or newer."""

    prometheus: Path
    alertmanager: Path


@dataclass
class Wiring:
    """Running processes, by name. Each may be killed and started again; all end with the `with` that made them."""

    settings: Settings
    programs: Programs
    folder: Path
    alertmanager_port: int
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    prometheus_url: str = ""

    def start_simulator(self, scenario: str, *, speed: float, port: int = 0, name: str = "simulator") -> list[str]:
        """Serve a scenario, by name or file, and have Prometheus discover its servers; returns their host:port."""
        options = [f"--scenario={scenario}", f"--speed={speed}", f"--port={port}"]
        program = Program(
            name="the simulator",
            command=(sys.executable, "-m", "draftboard", "simulate", *options),
            ready=_DISCOVERED,
            help=INSTALL.format("lab"),
        )
        self.running[name], ready = program.start(self.folder / f"{name}.log")
        groups = httpx.get(ready["url"], timeout=10, trust_env=False).json()
        self.watch(name, groups)
        return [place for group in groups for place in group["targets"]]

    def watch(self, name: str, groups: list[dict[str, object]]) -> None:
        """Give Prometheus a file of targets, in one step, for its file discovery."""
        written = self.folder / "targets" / f".{name}"
        written.write_text(json.dumps(groups))
        written.rename(self.folder / "targets" / f"{name}.json")

    def start_alertmanager(self) -> None:
        """Start it with its stored data."""
        program, folder = self.programs.alertmanager, self.folder / "alertmanager"
        self.running["alertmanager"] = start_alertmanager(program, folder, self.alertmanager_port)

    def start_prometheus(self) -> None:
        """Start it with its stored data, on a free port."""
        folder = self.folder / "prometheus"
        text = (folder / "prometheus.yml").read_text()
        server = Server(self.programs.prometheus, folder, self.settings.rules.rate_window, configuration=text)
        self.running["prometheus"], self.prometheus_url = server.start()


@contextmanager
def wired(settings: Settings, programs: Programs, folder: Path, webhook: str) -> Iterator[Wiring]:
    """Write all configuration into a folder, every alert routed to the webhook and nobody else. Nothing runs yet."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    notify = settings.stack.notify.model_copy(update=dict.fromkeys(("critical", "warning", "info"), ("webhook",)))
    here = {"notify": notify, "alertmanager": f"127.0.0.1:{port}", "secrets": str(folder / "secrets")}
    local = settings.model_copy(update={"stack": settings.stack.model_copy(update=here)})
    for path, text in {
        "prometheus/prometheus.yml": stack.text(stack.PROMETHEUS, local, _MADE_BY),
        "scrape/servers.yaml": json.dumps(stack.servers(local, _MADE_BY)),
        "alertmanager/alertmanager.yml": stack.text(stack.ALERTMANAGER, local, _MADE_BY),
        "alertmanager/templates/draftboard.tmpl": stack.text(stack.MESSAGES, local, _MADE_BY),
        "rules/recording.rules.yaml": to_yaml(recording_groups(local)),
        "rules/alerting.rules.yaml": to_yaml(alerting_groups(local)),
        "secrets/alert_webhook_url": webhook,
        "secrets/heartbeat_url": webhook,
    }.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    (folder / "targets").mkdir()
    wiring = Wiring(local, programs, folder, port)
    try:
        yield wiring
    finally:
        for process in reversed(wiring.running.values()):
            stop(process)


@dataclass(frozen=True)
class Delivery(Described):
    """One expected alert."""

    alert: str
    after_seconds: float | None = None
    """Real seconds from its cause to the webhook; null when it did not arrive."""
    receiver: str = ""
    says: str = ""
    """Its description, as it reached the receiver."""
    runbook_url: str = ""


@dataclass(frozen=True)
class Drill(Described):
    """The outcome of a drill."""

    scenario: str
    speed: float
    told: tuple[Delivery, ...]
    others: tuple[str, ...]
    """Alerts that arrived without being expected, but for the watchdog."""
    passed: bool
    """Whether all expected alerts arrived, and no other."""
    schema_version: int = 1
    """Grows whenever a key is removed or its meaning changes."""


def fastest(script: Scenario, expected: Expected, alert: Alert, settings: Settings) -> float:
    """The highest speed at which an expected alert can fire.

    The scenario is sped up; the alert's pending period, what it compares with and the scrapes are not.
    """
    rules, pending, since = settings.rules, alert.policy(settings).pending_period.seconds, expected.since.seconds
    least = pending + rules.scrape_interval.seconds + rules.evaluation_interval.seconds
    waits = _MARGIN * _latest(script)
    speeds = [(waits - since) / least]
    # A restart that changes nothing else is a fault only while it lasts.
    restarts = (event.restart for event in script.event if event.at == expected.since and event.passes)
    speeds += [restart.seconds / least for restart in restarts if restart]
    if "{before}" in (alert.signal.record or ""):
        # It needs a past, and after as long a time the fault is that past.
        before = rules.compare_with.seconds
        speeds += [waits / (before + pending), since / max(pending, 1), 0.0 if pending > before else math.inf]
    elif least + since / speeds[0] <= _LEAST_SECONDS:
        return math.inf
    return min(speeds)


def _latest(script: Scenario) -> int:
    """Seconds of the scenario until the last alert must have fired."""
    return max(expected.since.seconds + expected.within.seconds for expected in script.expect)


def _require_possible(name: str, script: Scenario, settings: Settings, speed: float) -> None:
    """Raise DraftboardError where an alert cannot fire, rather than wait for it."""
    alerts = {alert.name: alert for alert in of_settings(settings)}
    speeds = {expected.alert: fastest(script, expected, alerts[expected.alert], settings) for expected in script.expect}
    slowest = min(speeds, key=speeds.__getitem__)
    if speed <= speeds[slowest]:
        return
    pending = alerts[slowest].policy(settings).pending_period
    most = math.floor(speeds[slowest] * 10) / 10
    why = f"the scenario is sped up, the alert's own times are not (its pending period is {pending})"
    instead = "--config with shorter times, such as deploy/demo/drill.toml"
    take = f"take --speed {most:g} or less, or {instead}" if most else f"name {instead}"
    raise DraftboardError(f"{name}: {slowest} cannot fire at --speed {speed:g}: {why}: {take}")


def rehearse(
    scenario: str, settings: Settings, programs: Programs, *, speed: float, progress: Progress = no_progress
) -> Drill:
    """Run simulator, Prometheus, Alertmanager and a webhook until every expected alert has arrived, or is overdue."""
    script, settings = find(scenario), settings.speaking(DIALECTS["vllm"])  # As the simulator does.
    if not script.expect:
        raise DraftboardError(f"{scenario}: expects no alert, so there is nothing to drill: add an [[expect]]")
    names = {expected.alert for expected in script.expect}
    if missing := sorted(names - {alert.name for alert in of_settings(settings)}):
        raise DraftboardError(f"{scenario}: expects {missing[0]}, which needs an objective: declare it under [slo]")
    _require_possible(scenario, script, settings, speed)

    allowed = names | {WATCHDOG}

    def all_arrived(arrivals: tuple[Arrival, ...]) -> bool:
        return names <= {arrival.name for arrival in arrivals}

    def another_arrived(arrivals: tuple[Arrival, ...]) -> bool:
        return not {arrival.name for arrival in arrivals} <= allowed

    with (
        tempfile.TemporaryDirectory(prefix="draftboard-drill-") as temporary,
        receiving() as (receiver, webhook),
        wired(settings, programs, Path(temporary), webhook) as wiring,
    ):
        progress("starting Alertmanager and Prometheus", 0, 3)
        wiring.start_alertmanager()
        wiring.start_prometheus()
        wiring.start_simulator(scenario, speed=speed)
        began = time.time()
        progress("waiting for the alerts", 1, 3)
        receiver.wait_for(all_arrived, max(_LEAST_SECONDS, _MARGIN * _latest(script) / speed))
        progress("waiting for the end", 2, 3)  # no other alert may arrive
        receiver.wait_for(another_arrived, began + script.duration.seconds / speed - time.time())
    first = {arrival.name: arrival for arrival in reversed(receiver.arrivals)}
    deliveries = tuple(_delivery(alert, first.get(alert.alert), began, speed) for alert in script.expect)
    others = tuple(sorted(first.keys() - allowed))
    return Drill(scenario, speed, deliveries, others, passed=not others and first.keys() >= names)


def _delivery(expected: Expected, arrival: Arrival | None, began: float, speed: float) -> Delivery:
    if arrival is None:
        return Delivery(expected.alert)
    after = arrival.at - began - expected.since.seconds / speed
    says, runbook = (arrival.annotations.get(name, "") for name in ("description", "runbook_url"))
    return Delivery(expected.alert, round(after, 1), arrival.receiver, says, runbook)


def shown(drill: Drill) -> Document:
    """A line for each expected alert, and the unexpected ones."""
    rows = tuple(
        (delivery.alert, "-", "-", "It did not arrive in time.")
        if delivery.after_seconds is None
        else (delivery.alert, f"receiver {delivery.receiver}", f"{delivery.after_seconds:.1f} s", delivery.says)
        for delivery in drill.told
    )
    headings = columns("Alert", "Reached", numbers=["After"]) + columns("Says")
    unexpected = tuple(f"{name} arrived too, which the scenario does not expect." for name in drill.others)
    note = (
        f"The scenario ran {drill.speed:g} times as fast, with the pending periods and windows of the settings. "
        "On a real server an alert takes as long as its own pending period."
    )
    return Document.of((Heading("From counter to webhook"), Table(headings, rows), Bullets(unexpected), Note(note)))
