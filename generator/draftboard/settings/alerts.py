"""What a settings file may change of an alert. The defaults stand beside each alert, in `draftboard.alerts`."""

from typing import Literal, get_args

from pydantic import Field

from draftboard.files import Table
from draftboard.settings.fields import Hold

Severity = Literal["info", "warning", "critical"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)
"""From the least to the most urgent."""
AlertName = Literal[
    "SpecDecodeNotPaying",
    "SpecDecodeAcceptanceDrop",
    "SpecDecodeLengthAnomaly",
    "SpecDecodeFirstPositionWeak",
    "SpecDecodeDraftTooLong",
    "SpecDecodeDraftTooShort",
    "SpecDecodeEngineOutlier",
    "SpecDecodeSuspiciouslyHigh",
    "SpecDecodeInactive",
    "SpecDecodeMetricsMissing",
    "SpecDecodeMetricsInconsistent",
    "VLLMTargetDown",
    "VLLMRestarted",
    "VLLMErrors",
    "VLLMHTTPErrors",
    "VLLMAdmissionRejected",
    "VLLMErrorBudgetBurnsFast",
    "VLLMErrorBudgetBurnsSlowly",
    "VLLMTailLatency",
    "VLLMSpeculationSlowsUsers",
    "VLLMKVCachePressure",
    "VLLMPreemptions",
    "VLLMQueueGrowing",
    "DraftboardWatchdog",
]
"""Settings are validated before any alert is defined, so the names are listed here; a test compares both lists."""


class Overlay(Table):
    """`[alerts.<name>]`: a key that is left out keeps the alert's own value."""

    hold: Hold | None = Field(default=None, alias="for")
    """How long the condition must hold before the alert fires."""
    keep_firing_for: Hold | None = None
    """How long the alert fires on after its condition has ended."""
    severity: Severity | None = None


Overlays = dict[AlertName, Overlay]
