"""Records that rules evaluate together, so that what is divided is of one moment.

Two groups of rules are evaluated up to an interval apart, and while the load changes a rate of the one over a rate of
the other is off by what it changed in between. So all counters that are divided by each other are of one group, and
all that is made of their ratios reads that group and its own alone.
"""

from draftboard.expr.scope import Level
from draftboard.signals import (
    Signal,
    acceptance,
    capacity,
    classes,
    costs,
    depth,
    drafting,
    gains,
    presence,
    requests,
    responses,
    slo_events,
    traffic,
)

COUNTERS = "counters"
_COUNTERS = {
    *(traffic.drafts, traffic.draft_tokens, traffic.accepted_tokens, traffic.accepted_tokens_per_pos),
    *(traffic.generation_tokens, traffic.decode_steps, traffic.step_seconds),
    *(traffic.first_tokens, capacity.prompt_tokens),
    *(drafting.draft_tokens_per_pos, costs.decode_batch),
}
_RATIOS = {
    *(acceptance.acceptance_length, acceptance.draft_length, acceptance.coverage, acceptance.tokens_per_step),
    *(depth.survival, depth.at_least_accepted, depth.conditional_acceptance, depth.accepted_length_share),
    *(depth.last_position, depth.each_k, depth.tokens_per_step_at, depth.draft_length_at),
    *(costs.CHEAP.token, costs.CHEAP.base, costs.DEAR.token, costs.DEAR.base),
    *(gains.gain_at, gains.shorter_gain_high),
}
_ANSWERS = {
    *(presence.seen, presence.known),  # HTTP servers know no model.
    *(responses.http_requests, responses.http_failures, responses.http_faults, responses.http_responses),
    *(requests.requests_finished, requests.request_rate, requests.errors, requests.requests_rejected),
    *(requests.unfinished, slo_events.refused, capacity.preemptions),
}
_CLASSES = {classes.class_speedup_low, classes.class_speedup_high}


def group_of(signal: Signal, level: Level, family: str) -> str:
    """Name of the group of a record, by default that of its family."""
    if signal in _COUNTERS:
        return COUNTERS
    if level is Level.MODEL and signal in _RATIOS:
        return "ratios"
    if signal in _CLASSES:
        return "classes"
    return "answers" if signal in _ANSWERS else family
