"""What `draftboard alerts replay` finds, as data. Times are Unix seconds."""

from dataclasses import dataclass
from typing import Literal

from draftboard.output import Described

Basis = Literal["alerts", "records", "samples"]
Outcome = Literal["in time", "early", "late", "missed"]
Kind = Literal["new", "changed", "repeated", "resolved"]


@dataclass(frozen=True)
class Notification(Described):
    """One message of Alertmanager to one receiver."""

    at: float
    severity: str
    """Of its alerts: each severity has a receiver."""
    kind: Kind
    """`new`: nothing of the group was firing in the last message; `changed`: another alert fires, or one is over."""
    alerts: tuple[str, ...]
    """Names of those that fire, or that are over where none fires."""
    group: dict[str, str]
    """Labels that its alerts share."""
    firing: int
    """Alerts that fire in it."""

    @property
    def is_page(self) -> bool:
        """Whether it wakes the person on call: a critical message of something new."""
        return (self.severity, self.kind) == ("critical", "new")


@dataclass(frozen=True)
class Detection(Described):
    """The first notification of an incident, and whether it came in time."""

    incident: str
    start: float
    outcome: Outcome
    after_seconds: float | None = None
    """From the start of the incident to the first message that fits it; negative before it; null without one."""
    alerts: tuple[str, ...] = ()
    """Of that message."""


@dataclass(frozen=True)
class Outlook(Described):
    """The notifications of a past, and how they compare with incidents."""

    source: str
    start: float
    end: float
    basis: Basis
    """`alerts`: the series ALERTS of rules that were loaded. `records`: the alerts' expressions, evaluated over the
    records in Prometheus. `samples`: all rules, evaluated by a private Prometheus over the samples."""
    scraped: float
    """Share of the time in which any target was scraped."""
    fired: int
    """Alerts that fired, before inhibition and grouping, by series and time."""
    notifications: tuple[Notification, ...]
    incidents: tuple[Detection, ...]
    false_pages: tuple[Notification, ...] | None
    """New critical messages that fit no incident; null without a file of incidents."""
    schema_version: int = 1
    """Grows whenever a key is removed or its meaning changes."""
