"""How patient each alert is, and whom it wakes."""

from typing import Literal, get_args

from pydantic import Field

from draftboard.documents import Table
from draftboard.durations import Duration
from draftboard.settings.fields import Hold

Severity = Literal["info", "warning", "critical"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)
"""From the least to the worst."""


class Alert(Table):
    """How patient an alert is. Speculation that does not pay is work for the day; users without an answer page."""

    hold: Hold = Field(alias="for")
    keep_firing_for: Hold = Duration(0)
    """Bridges short recoveries of an expression that flaps; 0s leaves it out."""
    severity: Severity = "warning"


def _alert(hold: str, keep: str = "0s", severity: Severity = "warning") -> Alert:
    return Alert.model_validate({"for": hold, "keep_firing_for": keep, "severity": severity})


class Alerts(Table):
    """One entry an alert, under the alert's own name."""

    SpecDecodeNotPaying: Alert = _alert("30m", "15m")
    SpecDecodeAcceptanceDrop: Alert = _alert("15m", "10m")
    SpecDecodeLengthAnomaly: Alert = _alert("15m", "10m")
    SpecDecodeFirstPositionWeak: Alert = _alert("30m", "15m")
    SpecDecodeDraftTooLong: Alert = _alert("1h", severity="info")
    SpecDecodeDraftTooShort: Alert = _alert("1h", severity="info")
    SpecDecodeEngineOutlier: Alert = _alert("15m", "10m")
    SpecDecodeSuspiciouslyHigh: Alert = _alert("30m", "10m")
    SpecDecodeInactive: Alert = _alert("30m", severity="info")
    SpecDecodeMetricsMissing: Alert = _alert("10m")
    SpecDecodeMetricsInconsistent: Alert = _alert("15m")
    VLLMTargetDown: Alert = _alert("3m", severity="critical")
    VLLMRestarted: Alert = _alert("1m", severity="info")
    VLLMErrors: Alert = _alert("5m", "10m", "critical")
    VLLMHTTPErrors: Alert = _alert("5m", "10m", "critical")
    VLLMAdmissionRejected: Alert = _alert("5m", "10m")
    VLLMErrorBudgetBurnsFast: Alert = _alert("2m", "15m", "critical")
    VLLMErrorBudgetBurnsSlowly: Alert = _alert("1h", "1h")
    VLLMTailLatency: Alert = _alert("15m", "15m")
    VLLMSpeculationSlowsUsers: Alert = _alert("30m", "15m")
    VLLMKVCachePressure: Alert = _alert("10m", "10m")
    VLLMPreemptions: Alert = _alert("10m", "10m")
    VLLMQueueGrowing: Alert = _alert("10m", "5m")
    DraftboardWatchdog: Alert = _alert("1m", severity="info")
