"""Whether the numbers can be trusted: identities that vLLM's counters hold, and series that should exist."""

from draftboard.catalogue import Presence, speculation
from draftboard.expr.nodes import Exposed, Function, If, Match, Not, merged, over_level, renamed
from draftboard.expr.scope import Level
from draftboard.quantity import Setting
from draftboard.signals.baseline import METHOD
from draftboard.signals.depth import next_position
from draftboard.signals.presence import answers_without, of_servers
from draftboard.signals.signal import Better, Code, Signal, Unit, good_under
from draftboard.signals.traffic import accepted_tokens, accepted_tokens_per_pos, draft_tokens, drafts, enough_drafts
from draftboard.status import Status

IDENTITIES = {
    "positions_sum": "accepted tokens by position do not add up to all accepted tokens",
    "accepted_within_drafted": "more tokens are accepted than drafted",
    "first_within_drafts": "more first positions are accepted than there were drafts",
    "positions_fall": "a position is accepted more often than the one before",
}
"""By the value of the label `identity`: what it means that one is broken."""
_first = accepted_tokens_per_pos.where("position", "0").sum("position")
_before = renamed(next_position(accepted_tokens_per_pos, "reached"), "position", "reached")
"""For each position the rate of the one before it."""
ERRORS = {
    "positions_sum": Function("abs", accepted_tokens_per_pos.sum("position") - accepted_tokens) / accepted_tokens,
    "accepted_within_drafted": (accepted_tokens - draft_tokens) / draft_tokens,
    "first_within_drafts": (_first - drafts) / drafts,
    "positions_fall": ((accepted_tokens_per_pos - _before) / _before).max("position"),
}
"""By identity: by how much it is broken."""


_SPECULATING = (Match(METHOD, "!=", ""), Match(METHOD, "!=", Setting("methods.baseline")))
identity_error = Signal(
    name="identity_error",
    title="Counter consistency",
    question="Do the counters agree with each other?",
    description="Relative difference between counters that must agree: 0 or less is right, and rounding causes small "
    "differences.",
    action="If it is large, look for mixed or dropped samples: one address for several servers, drop rules, old files.",
    note="Positions add up to accepted tokens; accepted tokens <= drafted tokens; first positions <= drafts; no "
    "position above the one before. New series cause small differences, too.",
    better=Better.LOWER,
    expr=merged("identity", ERRORS),
    record="vllm_spec_decode_identity_error:ratio_rate{window}",
    levels=(Level.ENGINE,),
    by=("identity",),
    bands=good_under(Setting("thresholds.inconsistent"), good="consistent", beyond="inconsistent", status=Status.BAD),
    decimals=1,
    least=None,
)
contradicting = over_level("max", (identity_error > Setting("thresholds.inconsistent")).at(Level.ENGINE))
"""Where an identity of the counters is broken, of any engine."""
judged = enough_drafts.combined("unless", contradicting).combined("unless", draft_tokens.equals(0))
"""Where there are enough drafts for a verdict, with tokens in them, by counters that do not contradict each other."""
metrics_missing = Signal(
    name="metrics_missing",
    title="Speculative metrics missing",
    question="Does a speculating server expose no speculative metrics?",
    description="1 for a target that answers and is labelled as speculating, but exposes no draft counter.",
    action="Restore --speculative-config and the scrape of its counters, or correct the label.",
    unit=Unit.CODE,
    better=Better.LOWER,
    # Where counters come with their first increment, a server without them has drafted nothing.
    expr=If(
        Not(Exposed(speculation.DRAFTS, Presence.COUNTED)),
        of_servers("max", answers_without(speculation.DRAFTS, _SPECULATING)),
    ),
    record="vllm_spec_decode_metrics_missing:bool",
    levels=(Level.TARGET,),
    codes=(Code(1, "missing", Status.BAD),),
    empty="none is missing",
)
