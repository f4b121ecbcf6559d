"""Alerts on speculation: none is about latency or outage, so none pages by default."""

from draftboard.alerts.alert import COUNTS_REQUESTS, LEAST_REQUESTS, Alert, enough_requests, enough_tokens
from draftboard.expr.nodes import If, InWindow, Labels, over_level
from draftboard.quantity import Setting
from draftboard.signals import (
    Level,
    acceptance,
    classes,
    comparison,
    decline,
    economics,
    integrity,
    requests,
    states,
    verdicts,
)
from draftboard.signals.integrity import judged
from draftboard.signals.traffic import enough_drafts

# What text repeats changes from request to request: without a usual day, a drop of lookups is no drop.
_unknown_lookup = comparison.acceptance_change.where(Labels("spec_method"), Setting("methods.lookup")).combined(
    "unless", comparison.length_anomaly
)
_enough_to_compare = If(
    COUNTS_REQUESTS, InWindow(requests.request_rate) >= Setting("traffic.requests_to_compare"), enough_drafts
)
_as_usual = comparison.length_anomaly > (-Setting("thresholds.usual"))
ON_SPECULATION = (
    Alert(
        name="SpecDecodeNotPaying",
        signal=economics.expected_speedup_high,
        beyond="loses",
        for_="30m",
        keep_firing_for="15m",
        guard=verdicts.loses & enough_requests,
        when="the expected speedup is below ${limit} at every likely cost of a step, with enough drafts and requests, "
        "consistent counters and no measured speedup",
        summary="Speculative decoding is expected to cost more than it saves.",
        description="${who}: a decode step yields fewer tokens than its drafts cost. Decoding is expected to run at "
        "${value} of its speed without speculation, at most.",
        dashboard="overview",
        explained=True,
        inhibited_by=("SpecDecodeAcceptanceDrop",),  # What changed comes before what it costs.
    ),
    Alert(
        name="SpecDecodeAcceptanceDrop",
        signal=comparison.acceptance_change,
        beyond="dropped",
        for_="15m",
        keep_firing_for="10m",
        guard=judged.combined("unless", _as_usual).combined("unless", _unknown_lookup)
        & (_enough_to_compare & _enough_to_compare.ago(comparison.BEFORE)),
        watched=over_level("max", comparison.acceptance_change),  # Without the name of a record, as what is followed.
        followed=decline.stays_low,
        until=Setting("thresholds.drop"),
        when="draft acceptance is below ${limit} of its value ${rules.compare_with} ago, within the positions drafted "
        "at both times; where it stays low, until `SpecDecodeAcceptanceDecline` fires",
        summary="Draft acceptance has dropped.",
        description="${who}: draft acceptance is ${value} of what it was ${rules.compare_with} ago, or, where it has "
        "stayed low since, after the last restart. The workload or the drafter has changed.",
        dashboard="overview",
        explained=True,
    ),
    Alert(
        name="SpecDecodeLengthAnomaly",
        signal=comparison.length_anomaly,
        beyond="unusually-low",
        for_="15m",
        keep_firing_for="10m",
        when="the mean acceptance length is over ${limit} standard deviations below its ${rules.baseline} mean, at the "
        "same K",
        summary="Mean acceptance length is unusually low for this model.",
        description="${who}: the mean acceptance length is ${value} standard deviations from its own ${rules.baseline} "
        "mean.",
        dashboard="overview",
        explained=True,
        inhibited_by=("SpecDecodeAcceptanceDrop",),  # The same drop, seen against a day instead of an hour.
    ),
    Alert(
        name=decline.DECLINE,
        signal=decline.acceptance_decline,
        beyond="declined",
        for_="1h",
        keep_firing_for="1h",
        when="an hour's draft acceptance is below ${limit} of that after the last restart, and lower than yesterday at "
        "the same hour; or below ${limit} of that of the same hour a week ago",
        summary="Draft acceptance declines slowly.",
        description="${who}: draft acceptance has declined to ${value} of what it was after the last restart, or a "
        "week ago. Restart one engine and compare it with the others.",
        dashboard="overview",
        explained=True,
        inhibited_by=("SpecDecodeAcceptanceDrop",),
    ),
    Alert(
        name="SpecDecodeEngineOutlier",
        signal=comparison.length_to_others,
        beyond="outlier",
        for_="15m",
        keep_firing_for="10m",
        level=Level.ENGINE,
        guard=judged
        & If(
            COUNTS_REQUESTS,
            enough_requests & (comparison.other_engines(requests.request_rate) > LEAST_REQUESTS),
            enough_tokens,  # The signal itself asks for drafts of the others.
        ),
        when="the mean acceptance length of an engine is below ${limit} of that of the model's other engines",
        summary="One engine accepts far fewer draft tokens than the others.",
        description="${who}: its mean acceptance length is ${value} of that of the model's other engines.",
        dashboard="depth",
        explained=True,
    ),
    Alert(
        name="SpecDecodeSuspiciouslyHigh",
        signal=acceptance.acceptance,
        beyond="suspicious",
        for_="30m",
        keep_firing_for="10m",
        # A loop goes on; where finish reasons are not counted, only acceptance tells.
        guard=If(COUNTS_REQUESTS, judged & (requests.cut_off > Setting("thresholds.cut_off")), judged),
        when="draft acceptance is above ${limit}, and most answers reach their length limit, where finish reasons are "
        "counted: often a repetition loop",
        summary="Nearly every draft token is accepted.",
        description="${who}: draft acceptance is ${value}. That is often a repetition loop, in which most answers "
        "reach their length limit.",
        dashboard="overview",
    ),
    Alert(
        name="SpecDecodeInactive",
        signal=states.state,
        beyond="not-drafting",
        for_="30m",
        severity="info",
        level=Level.ENGINE,
        guard=enough_tokens,
        when="an engine with speculation configured generates tokens and drafts none",
        summary="An engine generates tokens but drafts none.",
        description="${who} serves traffic with speculation configured, but drafts nothing.",
        dashboard="depth",
    ),
    Alert(
        name="SpecDecodeMetricsMissing",
        signal=integrity.metrics_missing,
        beyond="missing",
        for_="10m",
        level=Level.TARGET,
        guard=None,
        when="a server that is labelled as speculating exposes no draft counter",
        summary="A server labelled as speculating exposes no speculative metrics.",
        description="${who} answers and is labelled as speculating, but exposes no draft counter.",
        dashboard="overview",
    ),
    Alert(
        name="SpecDecodeMetricsInconsistent",
        signal=integrity.identity_error,
        beyond="inconsistent",
        for_="15m",
        level=Level.ENGINE,
        guard=enough_drafts,
        when="an identity of the draft counters is violated by more than ${limit}",
        summary="The speculative counters contradict each other.",
        description="${who}: the identity {{ $labels.identity }} is violated by ${value}. Figures on speculation "
        "cannot be trusted.",
        dashboard="depth",
    ),
    Alert(
        name="SpecDecodeClassLoses",
        signal=classes.class_speedup_high,
        beyond="loses",
        for_="30m",
        keep_firing_for="30m",
        severity="info",
        watched=classes.class_speedup_high & (classes.class_share >= Setting("thresholds.class_share")),
        when="the expected speedup of a class of requests is below ${limit} at every likely cost of a step, with "
        "enough drafts and a share of ${thresholds.class_share}, where the lens sees nearly all drafts",
        summary="Speculative decoding is expected to cost a class of requests more than it saves.",
        description="${who}: requests of {{ $labels.dimension }} {{ $labels.class }} are expected to decode at "
        "${value} of their speed without speculation, at most. Other classes may gain.",
        dashboard="depth",
        inhibited_by=("SpecDecodeNotPaying",),  # Then all of them lose.
    ),
)
