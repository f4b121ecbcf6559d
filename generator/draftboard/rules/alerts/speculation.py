"""Alerts on speculation: whether it pays, whether it changed, whether its numbers can be trusted.

None is about latency or outage, so none pages by default.
"""

from draftboard.rules.alerts.alert import LEAST_DRAFTS, Alert, enough_drafts, enough_tokens
from draftboard.signals import Level
from draftboard.signals.acceptance import acceptance
from draftboard.signals.comparison import acceptance_change, before, length_anomaly, length_to_others, other_engines
from draftboard.signals.decisions import STATES, state
from draftboard.signals.depth import first_position, last_position
from draftboard.signals.economics import BREAK_EVEN, expected_speedup, tail_costs, tail_pays, with_a_drafter
from draftboard.signals.integrity import identity_error, metrics_missing
from draftboard.signals.traffic import drafts

ON_SPECULATION = (
    Alert(
        name="SpecDecodeNotPaying",
        signal=expected_speedup,
        operator="<",
        limit=lambda _: BREAK_EVEN,
        summary="Speculative decoding costs more than it saves.",
        description="{who}: the mean acceptance length is under break-even, so that decoding runs at {value} of its "
        "plain speed by the assumed draft cost.",
        dashboard="overview",
        # What changed comes before what it costs.
        explained_by=("SpecDecodeAcceptanceDrop",),
    ),
    Alert(
        name="SpecDecodeAcceptanceDrop",
        signal=acceptance_change,
        operator="<",
        limit=lambda settings: settings.thresholds.drop,
        guard=enough_drafts & enough_drafts.ago(before),
        summary="Draft acceptance has dropped against before.",
        description="{who}: draft acceptance is {value} of what it was {before} ago. The workload or the drafter has "
        "changed.",
        dashboard="overview",
    ),
    Alert(
        name="SpecDecodeLengthAnomaly",
        signal=length_anomaly,
        operator="<",
        limit=lambda settings: -settings.thresholds.anomaly,
        summary="Mean acceptance length is unusually low for this model.",
        description="{who}: mean acceptance length is {value} standard deviations off its own {baseline} mean.",
        dashboard="overview",
        # The same drop, seen against a day instead of an hour.
        explained_by=("SpecDecodeAcceptanceDrop",),
    ),
    Alert(
        name="SpecDecodeFirstPositionWeak",
        signal=first_position,
        operator="<",
        limit=lambda settings: settings.thresholds.first_position,
        watched=with_a_drafter(first_position),
        summary="The drafter often misses the very first token.",
        description="{who}: only {value} of drafts have their first token accepted. The drafter and the model are not "
        "aligned.",
        dashboard="depth",
    ),
    Alert(
        name="SpecDecodeDraftTooLong",
        signal=last_position,
        operator="<",
        limit=lambda settings: settings.thresholds.last_position_low,
        guard=enough_drafts & tail_costs,
        summary="Drafts are longer than is accepted.",
        description="{who}: only {value} of drafts are accepted to the last position. A shorter K drafts less for "
        "nothing.",
        dashboard="depth",
        # K is tuned once the drafter is sound.
        explained_by=("SpecDecodeNotPaying", "SpecDecodeAcceptanceDrop"),
    ),
    Alert(
        name="SpecDecodeDraftTooShort",
        signal=last_position,
        operator=">",
        limit=lambda settings: settings.thresholds.last_position_high,
        guard=enough_drafts & tail_pays,
        summary="Drafts are shorter than would be accepted.",
        description="{who}: {value} of drafts are accepted to the last position. A longer K may yield more.",
        dashboard="depth",
    ),
    Alert(
        name="SpecDecodeEngineOutlier",
        signal=length_to_others,
        operator="<",
        limit=lambda settings: settings.thresholds.outlier,
        level=Level.ENGINE,
        guard=enough_drafts & (other_engines(drafts) > LEAST_DRAFTS),
        summary="One engine accepts far less than its siblings.",
        description="{who}: its mean acceptance length is {value} of that of the model's other engines.",
        dashboard="depth",
    ),
    Alert(
        name="SpecDecodeSuspiciouslyHigh",
        signal=acceptance,
        operator=">",
        limit=lambda settings: settings.thresholds.acceptance.suspicious,
        summary="Nearly every drafted token is accepted.",
        description="{who}: draft acceptance is {value}. So high for so long is often a repetition loop.",
        dashboard="overview",
    ),
    Alert(
        name="SpecDecodeInactive",
        signal=state,
        operator="==",
        limit=lambda _: STATES["not drafting"].value,
        level=Level.ENGINE,
        guard=enough_tokens,
        summary="An engine generates tokens but drafts none.",
        description="{who}: it serves traffic with speculation configured, and nothing is drafted.",
        dashboard="depth",
        # Its last rates outlive it.
        explained_by=("VLLMTargetDown",),
    ),
    Alert(
        name="SpecDecodeMetricsMissing",
        signal=metrics_missing,
        operator="==",
        limit=lambda _: 1,
        level=Level.TARGET,
        guard=None,
        summary="A server that should speculate exposes no speculative metrics.",
        description="{who}: it answers and its label says that it speculates, but it exposes no draft counter.",
        dashboard="overview",
        # A server that is down says nothing at all.
        explained_by=("VLLMTargetDown",),
    ),
    Alert(
        name="SpecDecodeMetricsInconsistent",
        signal=identity_error,
        operator=">",
        limit=lambda settings: settings.thresholds.inconsistent,
        level=Level.ENGINE,
        summary="The speculative counters contradict each other.",
        description="{who}: the identity {{{{ $labels.identity }}}} is off by {value}. Figures on speculation cannot "
        "be trusted.",
        dashboard="depth",
    ),
)
