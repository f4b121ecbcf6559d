"""The drill: a scenario runs on real servers, and every alert that it names must arrive."""

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from draftboard.alerts import WATCHDOG
from draftboard.errors import DraftboardError
from draftboard.lab.drill.receiver import Arrival, receiving
from draftboard.lab.drill.wiring import Programs, wired
from draftboard.lab.simulator import find
from draftboard.output import Bullets, Document, Heading, Note, Table, columns
from draftboard.settings import Settings

_PATIENCE = 3.0  # times as long as the scenario says that the last alert takes
_LEAST_SECONDS = 30.0  # starting the processes and scraping twice takes its time, however fast the scenario


@dataclass(frozen=True)
class Outcome:
    """One expected alert."""

    alert: str
    after_seconds: float | None = None  # real seconds from its cause to the webhook; null when it did not arrive
    receiver: str = ""
    says: str = ""  # its description, as it reached the receiver
    runbook_url: str = ""


@dataclass(frozen=True)
class Drill:
    """The outcome of a drill."""

    scenario: str
    speed: float
    told: tuple[Outcome, ...]
    others: tuple[str, ...]  # alerts that arrived without being expected, but for the watchdog
    passed: bool  # whether all expected alerts arrived, and no other
    schema_version: int = 1  # grows whenever a key is removed or its meaning changes


def rehearse(
    scenario: str,
    settings: Settings,
    programs: Programs,
    *,
    speed: float,
    progress: Callable[[str, int, int], None] = lambda *_: None,
) -> Drill:
    """Run simulator, Prometheus, Alertmanager and a webhook until every expected alert has arrived, or is overdue.

    Raises:
        DraftboardError: a program cannot run, or the scenario expects nothing.
    """
    script = find(scenario)
    expected = script.expect
    if not expected:
        raise DraftboardError(f"{scenario}: expects no alert, so there is nothing to drill: add an [[expect]]")
    names = {one.alert for one in expected}
    latest = max(one.since.seconds + one.within.seconds for one in expected)
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
        receiver.wait_for(
            lambda arrivals: names <= {arrival.name for arrival in arrivals},
            max(_LEAST_SECONDS, _PATIENCE * latest / speed),
        )
        progress("waiting for the end of the scenario: no other alert may arrive", 2, 3)
        receiver.wait_for(
            lambda arrivals: any(arrival.name not in names | {WATCHDOG} for arrival in arrivals),
            began + script.duration.seconds / speed - time.time(),
        )
    first = {arrival.name: arrival for arrival in reversed(receiver.arrivals)}
    told = tuple(_outcome(one.alert, first.get(one.alert), began + one.since.seconds / speed) for one in expected)
    others = tuple(sorted(first.keys() - names - {WATCHDOG}))
    return Drill(scenario, speed, told, others, passed=not others and first.keys() >= names)


def _outcome(alert: str, arrival: Arrival | None, caused: float) -> Outcome:
    if arrival is None:
        return Outcome(alert)
    says, runbook = (arrival.annotations.get(name, "") for name in ("description", "runbook_url"))
    return Outcome(alert, round(arrival.at - caused, 1), arrival.receiver, says, runbook)


def shown(drill: Drill) -> Document:
    """A line for each expected alert, and the unexpected ones."""
    rows = tuple(
        (one.alert, "-", "-", "It did not arrive in time.")
        if one.after_seconds is None
        else (one.alert, f"receiver {one.receiver}", f"{one.after_seconds:.1f} s", one.says)
        for one in drill.told
    )
    headings = columns("Alert", "Reached", numbers=["After"]) + columns("Says")
    unexpected = tuple(f"{name} arrived too, which the scenario does not expect." for name in drill.others)
    pace = f"The scenario ran {drill.speed:g} times as fast, with the holds and windows of the settings."
    real = "On a real server an alert takes as long as its own hold."
    title, note = Heading("From counter to webhook"), Note(f"{pace} {real}")
    return Document.of((title, Table(headings, rows), Bullets(unexpected), note))
