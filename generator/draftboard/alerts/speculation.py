"""Alerts on speculation: whether it pays, whether it changed, whether its numbers can be trusted.

None is about latency or outage, so none pages by default.
"""

from draftboard.alerts.alert import Alert, enough_drafts, enough_tokens, more_than
from draftboard.expr.promql import binary
from draftboard.signals import Level, Scope
from draftboard.signals.acceptance import acceptance
from draftboard.signals.comparison import acceptance_change, length_anomaly, length_to_others, other_engines
from draftboard.signals.depth import first_position, last_position
from draftboard.signals.economics import expected_speedup, tail_costs, tail_pays, with_a_drafter
from draftboard.signals.integrity import identity_error, metrics_missing
from draftboard.signals.state import state
from draftboard.signals.traffic import drafts


def _then_too(s: Scope) -> str:
    return binary(enough_drafts(s), "and", enough_drafts(s.ago(s.settings.rules.compare_with)))


def _with_a_tail_that_costs(s: Scope) -> str:
    return binary(enough_drafts(s), "and", tail_costs(s))


def _with_a_tail_that_pays(s: Scope) -> str:
    return binary(enough_drafts(s), "and", tail_pays(s))


def _by_others_too(s: Scope) -> str:
    others = more_than(other_engines(s, drafts), s.settings.traffic.drafts_per_second)
    return binary(enough_drafts(s), "and", others)


ON_SPECULATION = (
    Alert(
        name="SpecDecodeNotPaying",
        signal=expected_speedup,
        beyond="loses",
        for_="30m",
        keep_firing_for="15m",
        why="Lost speed is work for the day, and a loss that lasts half an hour is more than a change of traffic.",
        when="the expected speedup is below {limit}: the mean acceptance length is below break-even",
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
        beyond="dropped",
        for_="15m",
        keep_firing_for="10m",
        why="A drop costs speed, not answers. Rates over one window settle well within 15 minutes.",
        guard=_then_too,
        when="draft acceptance is below {limit} of its value {before} ago, at the same K",
        summary="Draft acceptance has dropped against before.",
        description="{who}: draft acceptance is {value} of what it was {before} ago. The workload or the drafter has "
        "changed.",
        dashboard="overview",
    ),
    Alert(
        name="SpecDecodeLengthAnomaly",
        signal=length_anomaly,
        beyond="unusually-low",
        for_="15m",
        keep_firing_for="10m",
        why="The same patience as for a drop: only the reference differs.",
        when="the mean acceptance length is over {limit} standard deviations below its {baseline} mean, at the same K",
        summary="Mean acceptance length is unusually low for this model.",
        description="{who}: mean acceptance length is {value} standard deviations off its own {baseline} mean.",
        dashboard="overview",
        # The same drop, seen against a day instead of an hour.
        explained_by=("SpecDecodeAcceptanceDrop",),
    ),
    Alert(
        name="SpecDecodeFirstPositionWeak",
        signal=first_position,
        beyond="weak",
        for_="30m",
        keep_firing_for="15m",
        why="A mismatch of drafter and model does not pass by itself, and nothing is broken meanwhile.",
        watched=with_a_drafter,
        when="a drafter has its first token accepted in less than {limit} of drafts",
        summary="The drafter often misses the very first token.",
        description="{who}: only {value} of drafts have their first token accepted. The drafter and the model are not "
        "aligned.",
        dashboard="depth",
    ),
    Alert(
        name="SpecDecodeDraftTooLong",
        signal=last_position,
        beyond="too-long",
        for_="1h",
        severity="info",
        why="Advice for the next planned restart. K is chosen for hours of traffic, not for minutes.",
        guard=_with_a_tail_that_costs,
        when="less than {limit} of drafts are accepted to the end, and the last token costs more than it yields",
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
        beyond="too-short",
        for_="1h",
        severity="info",
        why="Advice for the next planned restart. K is chosen for hours of traffic, not for minutes.",
        guard=_with_a_tail_that_pays,
        when="more than {limit} of drafts are accepted to the end, and the last token yields what it costs",
        summary="Drafts are shorter than would be accepted.",
        description="{who}: {value} of drafts are accepted to the last position. A longer K may yield more.",
        dashboard="depth",
    ),
    Alert(
        name="SpecDecodeEngineOutlier",
        signal=length_to_others,
        beyond="outlier",
        for_="15m",
        keep_firing_for="10m",
        why="Some users get slower answers. Routing evens out differences of a few minutes.",
        level=Level.ENGINE,
        guard=_by_others_too,
        when="the mean acceptance length of an engine is below {limit} of that of the model's other engines",
        summary="One engine accepts far less than its siblings.",
        description="{who}: its mean acceptance length is {value} of that of the model's other engines.",
        dashboard="depth",
    ),
    Alert(
        name="SpecDecodeSuspiciouslyHigh",
        signal=acceptance,
        beyond="suspicious",
        for_="30m",
        keep_firing_for="10m",
        why="One long copy or one benchmark run is over within half an hour.",
        when="draft acceptance is above {limit}: often a repetition loop",
        summary="Nearly every drafted token is accepted.",
        description="{who}: draft acceptance is {value}. So high for so long is often a repetition loop.",
        dashboard="overview",
    ),
    Alert(
        name="SpecDecodeInactive",
        signal=state,
        beyond="not-drafting",
        for_="30m",
        severity="info",
        why="Users lose nothing but speed, and lookup methods often find nothing to draft for minutes.",
        level=Level.ENGINE,
        guard=enough_tokens,
        when="an engine with speculation configured generates tokens and drafts none",
        summary="An engine generates tokens but drafts none.",
        description="{who}: it serves traffic with speculation configured, and nothing is drafted.",
        dashboard="depth",
        # Its last rates outlive it.
        explained_by=("VLLMTargetDown",),
    ),
    Alert(
        name="SpecDecodeMetricsMissing",
        signal=metrics_missing,
        beyond="missing",
        for_="10m",
        why="The counters exist from the start of the server, so ten minutes rule out a scrape that came too early.",
        level=Level.TARGET,
        guard=None,
        when="a server that is labelled as speculating exposes no draft counter",
        summary="A server that should speculate exposes no speculative metrics.",
        description="{who}: it answers and its label says that it speculates, but it exposes no draft counter.",
        dashboard="overview",
        # A server that is down says nothing at all.
        explained_by=("VLLMTargetDown",),
    ),
    Alert(
        name="SpecDecodeMetricsInconsistent",
        signal=identity_error,
        beyond="inconsistent",
        for_="15m",
        why="Users are not affected. Rates of series that have just begun differ for a few minutes.",
        level=Level.ENGINE,
        when="an identity of the draft counters is off by more than {limit}",
        summary="The speculative counters contradict each other.",
        description="{who}: the identity {{{{ $labels.identity }}}} is off by {value}. Figures on speculation cannot "
        "be trusted.",
        dashboard="depth",
    ),
)
