"""The drill: a scenario is lived through, and every alert that it names must arrive."""

import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from draftboard.alerts import WATCHDOG
from draftboard.errors import DraftboardError
from draftboard.lab.drill.receiver import Arrival, receiving
from draftboard.lab.drill.wiring import Programs, wired
from draftboard.lab.simulator import Expected, find
from draftboard.settings import Settings

_SCHEMA_VERSION = 1
"""Of the JSON: grows whenever a key is removed or means something else."""
_PATIENCE = 3.0
"""A drill waits so many times as long as its scenario says that the last alert takes."""
_LEAST_SECONDS = 30.0
"""Starting the processes and scraping twice takes its time, however fast the scenario."""


@dataclass(frozen=True)
class Told:
    """One expected alert, and how long it took from its cause to the receiver."""

    alert: str
    after_seconds: float | None
    """From its cause in the scenario to the webhook, in real seconds; None when it did not arrive."""
    receiver: str = ""
    says: str = ""
    """Its description, as it reached the receiver."""
    runbook_url: str = ""


@dataclass(frozen=True)
class Drill:
    """What came of it."""

    scenario: str
    speed: float
    told: tuple[Told, ...]
    others: tuple[str, ...]
    """Alerts that arrived without being expected, but for the watchdog."""

    @property
    def passed(self) -> bool:
        """Whether all that was expected arrived, and nothing else."""
        return not self.others and all(one.after_seconds is not None for one in self.told)

    def as_json(self) -> dict[str, Any]:
        """As plain data."""
        return {"schema_version": _SCHEMA_VERSION} | asdict(self) | {"passed": self.passed}


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
    told = find(scenario)
    expected = told.expect
    if not expected:
        raise DraftboardError(f"{scenario}: expects no alert, so there is nothing to drill: add an [[expect]]")
    steps = len(expected) + 1
    with tempfile.TemporaryDirectory(prefix="draftboard-drill-") as temporary, receiving() as (receiver, webhook):
        with wired(settings, programs, Path(temporary), webhook) as wiring:
            progress("starting Alertmanager and Prometheus", 0, steps)
            wiring.start_alertmanager()
            wiring.start_prometheus()
            wiring.start_simulator(scenario, speed=speed)
            began = time.time()
            progress("waiting for the alerts", 1, steps)
            missing = {one.alert for one in expected}
            receiver.wait_for(
                lambda arrivals: missing <= {arrival.name for arrival in arrivals},
                max(_LEAST_SECONDS, _PATIENCE * max(_latest(one) for one in expected) / speed),
            )
            progress("listening until the scenario ends, for what is not expected", steps, steps)
            names = missing | {WATCHDOG}
            receiver.wait_for(
                lambda arrivals: any(arrival.name not in names for arrival in arrivals),
                began + told.duration.seconds / speed - time.time(),
            )
        return _outcome(scenario, speed, expected, began, receiver.arrivals)


def _latest(one: Expected) -> int:
    return one.since.seconds + one.within.seconds


def _outcome(
    scenario: str, speed: float, expected: Sequence[Expected], began: float, arrivals: Sequence[Arrival]
) -> Drill:
    first: dict[str, Arrival] = {}
    for arrival in arrivals:
        first.setdefault(arrival.name, arrival)
    names = {one.alert for one in expected}
    return Drill(
        scenario=scenario,
        speed=speed,
        told=tuple(_told(one, first.get(one.alert), began + one.since.seconds / speed) for one in expected),
        others=tuple(sorted(first.keys() - names - {WATCHDOG})),
    )


def _told(expected: Expected, arrival: Arrival | None, caused: float) -> Told:
    if arrival is None:
        return Told(expected.alert, after_seconds=None)
    return Told(
        expected.alert,
        after_seconds=round(arrival.at - caused, 1),
        receiver=arrival.receiver,
        says=arrival.annotations.get("description", ""),
        runbook_url=arrival.annotations.get("runbook_url", ""),
    )
