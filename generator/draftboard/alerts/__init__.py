"""The alerts: what each watches, when it fires, how urgent it is; and the runbook of each, a template of its name."""

from draftboard.alerts.alert import Alert
from draftboard.alerts.runbook import runbook
from draftboard.alerts.serving import ON_SERVING, WATCHDOG
from draftboard.alerts.speculation import ON_SPECULATION

SUBJECTS: dict[str, tuple[Alert, ...]] = {"speculation": ON_SPECULATION, "serving": ON_SERVING}
"""Each subject is a rule group."""
ALERTS = (*ON_SPECULATION, *ON_SERVING)

__all__ = ["ALERTS", "SUBJECTS", "WATCHDOG", "Alert", "runbook"]
