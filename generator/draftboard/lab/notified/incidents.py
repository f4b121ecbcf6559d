"""The team's own incidents: a TOML file, and how each compares with the notifications."""

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from pydantic import Field, ValidationError, model_validator

from draftboard.durations import Duration
from draftboard.errors import DraftboardError
from draftboard.files import Table, first_mistake, read_toml
from draftboard.lab.notified.result import Detection, Notification, Outcome


class Incident(Table):
    """Users were troubled from `start` to `end`; without labels it concerns everything."""

    name: str
    start: datetime
    end: datetime
    labels: dict[str, str] = Field(default={}, max_length=16)
    page: bool = True
    """Whether it was worth a page. Else a warning is enough."""

    @model_validator(mode="after")
    def _ends_later(self) -> "Incident":
        if self.since >= self.until:
            raise ValueError(f"incident {self.name!r} must end after its start")
        return self

    @property
    def since(self) -> float:
        """Unix seconds; a time without an offset is UTC."""
        return _seconds(self.start)

    @property
    def until(self) -> float:
        """Unix seconds."""
        return _seconds(self.end)

    def concerns(self, group: Mapping[str, str]) -> bool:
        """Whether a message about these labels may be about the incident."""
        return all(group.get(name, text) == text for name, text in self.labels.items())


class Incidents(Table):
    """The file: a table `[[incident]]` for each."""

    incident: tuple[Incident, ...] = Field(default=(), strict=False, max_length=10_000)


def _seconds(moment: datetime) -> float:
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def load_incidents(path: Path) -> tuple[Incident, ...]:
    """The incidents of a file, in order of their start."""
    try:
        found = Incidents.model_validate(read_toml(path, "incidents"))
    except ValidationError as error:
        raise DraftboardError(f"{path}: {first_mistake(error, Incidents, 'incidents')}") from None
    return tuple(sorted(found.incident, key=lambda incident: incident.since))


def compared(
    incidents: Sequence[Incident], notifications: Sequence[Notification], *, late: Duration, early: Duration
) -> tuple[tuple[Detection, ...], tuple[Notification, ...]]:
    """Each incident's first message, and new critical messages that fit none.

    A message fits an incident if it says that alerts fire, its labels do not contradict the incident's, and it comes at
    most `early` before the start, still holds then, and not after the end. It is late when it comes more than `late`
    after the start.
    """
    over = _over(notifications)

    def fits(incident: Incident, message: Notification) -> bool:
        urgent = message.severity == "critical" or not incident.page
        near = incident.since - early.seconds <= message.at <= incident.until
        holds = over[id(message)] > incident.since
        return bool(message.firing) and urgent and near and holds and incident.concerns(message.group)

    detections = []
    for incident in incidents:
        first = next((message for message in notifications if fits(incident, message)), None)
        if first is None:
            detections.append(Detection(incident.name, incident.since, "missed"))
            continue
        after = first.at - incident.since
        outcome: Outcome = "early" if after < 0 else "late" if after > late.seconds else "in time"
        detections.append(Detection(incident.name, incident.since, outcome, after, first.alerts))
    pages = (message for message in notifications if message.is_page)
    return tuple(detections), tuple(page for page in pages if not any(fits(incident, page) for incident in incidents))


def _over(notifications: Sequence[Notification]) -> dict[int, float]:
    """By message: when its reader learned that all of it was over."""
    ends: dict[object, float] = {}
    found = {}
    for message in sorted(notifications, key=lambda one: one.at, reverse=True):
        about = message.severity, *sorted(message.group.items())
        if not message.firing:
            ends[about] = message.at
        found[id(message)] = ends.get(about, math.inf)
    return found
