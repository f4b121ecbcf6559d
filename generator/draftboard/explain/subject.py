"""What can be explained, by its name."""

import difflib
from dataclasses import dataclass

from draftboard.alerts import ALERTS, Alert
from draftboard.errors import DraftboardError
from draftboard.settings import Settings
from draftboard.signals import ALL, Level, Signal


@dataclass(frozen=True)
class Subject:
    """A signal at a level, or the condition of an alert."""

    name: str
    kind: str
    signal: Signal
    level: Level
    alert: Alert | None = None


def subject_named(name: str, settings: Settings) -> Subject:
    """The signal, record or alert of a name; DraftboardError where there is none, or none with these settings."""
    subject = _subjects(settings).get(name)
    if subject is None:
        near = difflib.get_close_matches(name, _subjects(settings), n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(near)}?" if near else "`draftboard signals` lists all"
        raise DraftboardError(f"no signal, record or alert is named {name!r}: {hint}")
    if not (subject.alert or subject.signal).exists(settings):
        raise DraftboardError(
            f"{name} does not exist with these settings: they do not enable it, or {settings.dialect.engine} does not "
            "export its series"
        )
    return subject


def _subjects(settings: Settings) -> dict[str, Subject]:
    """All of them, by name."""
    subjects = {}
    for signal in ALL:
        for level in signal.levels:
            if record := signal.record_name(level, settings):
                subjects[record] = Subject(record, "record", signal, level)
        subjects[signal.name] = Subject(signal.name, "signal", signal, signal.levels[-1])
    return subjects | {alert.name: Subject(alert.name, "alert", alert.signal, alert.level, alert) for alert in ALERTS}
