"""The alerts on speculation: which signal, beyond which of its thresholds, under which traffic.

None is about latency or outage, so none pages by default. Each alert's patience and severity are settings; its
runbook is `alerts/runbooks/<name>.md`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from draftboard.promql import binary, number
from draftboard.settings import Settings
from draftboard.signals import Level, Scope, Signal
from draftboard.signals.acceptance import acceptance
from draftboard.signals.comparison import acceptance_change, length_anomaly, length_to_others, other_engines
from draftboard.signals.depth import first_position, last_position
from draftboard.signals.economics import BREAK_EVEN, expected_speedup, tail_costs, tail_pays, with_a_drafter
from draftboard.signals.integrity import identity_error, metrics_missing
from draftboard.signals.state import STATES, state
from draftboard.signals.traffic import drafts, generation_tokens


def _enough_drafts(s: Scope) -> str:
    return binary(s(drafts), ">", number(s.settings.traffic.drafts_per_second))


def _enough_drafts_then_too(s: Scope) -> str:
    return binary(_enough_drafts(s), "and", _enough_drafts(s.ago(s.settings.rules.compare_with)))


def _enough_drafts_with_a_tail_that_costs(s: Scope) -> str:
    return binary(_enough_drafts(s), "and", tail_costs(s))


def _enough_drafts_with_a_tail_that_pays(s: Scope) -> str:
    return binary(_enough_drafts(s), "and", tail_pays(s))


def _enough_drafts_by_others_too(s: Scope) -> str:
    others = binary(other_engines(s, drafts), ">", number(s.settings.traffic.drafts_per_second))
    return binary(_enough_drafts(s), "and", others)


def _enough_tokens(s: Scope) -> str:
    return binary(s(generation_tokens), ">", number(s.settings.traffic.tokens_per_second))


@dataclass(frozen=True, kw_only=True)
class Alert:
    """Fires while `signal operator limit` holds under the guard's traffic."""

    name: str
    signal: Signal
    operator: Literal["<", ">", "=="]
    limit: Callable[[Settings], float]
    level: Level = Level.MODEL
    guard: Callable[[Scope], str] | None = _enough_drafts
    """Least traffic worth a judgement; None where silence is the very thing to report."""
    watched: Callable[[Scope, Signal], str] = lambda s, signal: s(signal)
    summary: str
    description: str
    """What is told of {who}; {value} is what the signal measures, humanised for its unit."""
    dashboard: str


ALERTS = (
    Alert(
        name="SpecDecodeNotPaying",
        signal=expected_speedup,
        operator="<",
        limit=lambda _: BREAK_EVEN,
        summary="Speculative decoding costs more than it saves.",
        description="{who}: the mean acceptance length is under break-even, so that decoding runs at {value} of its "
        "plain speed by the assumed draft cost.",
        dashboard="overview",
    ),
    Alert(
        name="SpecDecodeAcceptanceDrop",
        signal=acceptance_change,
        operator="<",
        limit=lambda settings: settings.thresholds.drop,
        guard=_enough_drafts_then_too,
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
    ),
    Alert(
        name="SpecDecodeFirstPositionWeak",
        signal=first_position,
        operator="<",
        limit=lambda settings: settings.thresholds.first_position,
        watched=with_a_drafter,
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
        guard=_enough_drafts_with_a_tail_that_costs,
        summary="Drafts are longer than is accepted.",
        description="{who}: only {value} of drafts are accepted to the last position. A shorter K drafts less for "
        "nothing.",
        dashboard="depth",
    ),
    Alert(
        name="SpecDecodeDraftTooShort",
        signal=last_position,
        operator=">",
        limit=lambda settings: settings.thresholds.last_position_high,
        guard=_enough_drafts_with_a_tail_that_pays,
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
        guard=_enough_drafts_by_others_too,
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
        guard=_enough_tokens,
        summary="An engine generates tokens but drafts none.",
        description="{who}: it serves traffic with speculation configured, and nothing is drafted.",
        dashboard="depth",
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
