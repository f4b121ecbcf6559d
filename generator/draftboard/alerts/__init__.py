"""The alerts: what each watches, when it fires, how urgent it is; and the runbook of each, a template of its name."""

from difflib import get_close_matches
from pathlib import Path

from draftboard import settings
from draftboard.alerts.alert import Alert
from draftboard.alerts.monitoring import ON_MONITORING, SAMPLES_STOPPED
from draftboard.alerts.servers import ON_SERVERS
from draftboard.alerts.serving import ON_SERVING
from draftboard.alerts.speculation import ON_SPECULATION
from draftboard.errors import DraftboardError
from draftboard.signals.events import WATCHDOG

SUBJECTS: dict[str, tuple[Alert, ...]] = {
    "speculation": ON_SPECULATION,
    "servers": ON_SERVERS,
    "serving": ON_SERVING,
    "monitoring": ON_MONITORING,
}
"""Each subject is a rule group."""
ALERTS = tuple(alert for alerts in SUBJECTS.values() for alert in alerts)


def by_subject(settings: settings.Settings) -> dict[str, tuple[Alert, ...]]:
    """The alerts that exist under these settings."""
    return {subject: tuple(alert for alert in alerts if alert.exists(settings)) for subject, alerts in SUBJECTS.items()}


def of_settings(settings: settings.Settings) -> tuple[Alert, ...]:
    """The alerts that exist under these settings, of all subjects."""
    return tuple(alert for alerts in by_subject(settings).values() for alert in alerts)


def load(path: Path | None) -> settings.Settings:
    """The settings in `path` over the defaults; every alert that they name must exist."""
    loaded, known = settings.load(path), [alert.name for alert in ALERTS]
    for name in loaded.alerts:
        if name not in known:
            near = get_close_matches(name, known, n=1, cutoff=0.6)
            hint = f"did you mean {near[0]}?" if near else "alerts/README.md lists all"
            raise DraftboardError(f"{path}: unknown alert {name!r} in [alerts]: {hint}")
    return loaded
