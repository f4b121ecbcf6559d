"""The alerts, by what they are about. Patience and severity of each are settings, its runbook is a page of its name."""

from draftboard.rules.alerts.alert import Alert
from draftboard.rules.alerts.serving import ON_SERVING, WATCHDOG
from draftboard.rules.alerts.speculation import ON_SPECULATION

ALERTS = (*ON_SPECULATION, *ON_SERVING)

__all__ = ["ALERTS", "ON_SERVING", "ON_SPECULATION", "WATCHDOG", "Alert"]
