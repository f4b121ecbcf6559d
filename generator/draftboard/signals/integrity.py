"""Whether the numbers can be trusted: identities that vLLM's counters hold, and series that ought to be there."""

from draftboard.catalogue import speculation
from draftboard.expr.promql import aggregate, binary, call, ratio, reduce, told_apart
from draftboard.signals.depth import next_position, renamed
from draftboard.signals.scope import Scope
from draftboard.signals.signal import Better, Code, Level, Signal, Unit, good_under
from draftboard.signals.state import answers_without
from draftboard.signals.traffic import accepted_tokens, accepted_tokens_per_pos, draft_tokens, drafts
from draftboard.status import Status

IDENTITIES = {
    "positions_sum": "accepted tokens by position do not add up to all accepted tokens",
    "accepted_within_drafted": "more tokens are accepted than drafted",
    "first_within_drafts": "more first positions are accepted than there were drafts",
    "positions_fall": "a position is accepted more often than the one before",
}
"""By the value of the label `identity`: what it means that one is broken."""


def _identity_error(s: Scope) -> str:
    by_position = s(accepted_tokens_per_pos)
    first = reduce("sum", "position", s.where("position", "0")(accepted_tokens_per_pos))
    summed = call("abs", binary(reduce("sum", "position", by_position), "-", s(accepted_tokens)))
    before = _position_before(s)
    errors = {
        "positions_sum": ratio(summed, s(accepted_tokens)),
        "accepted_within_drafted": ratio(binary(s(accepted_tokens), "-", s(draft_tokens)), s(draft_tokens)),
        "first_within_drafts": ratio(binary(first, "-", s(drafts)), s(drafts)),
        "positions_fall": reduce("max", "position", ratio(binary(by_position, "-", before), before)),
    }
    return told_apart("identity", errors)


def _position_before(s: Scope) -> str:
    """For each position the rate of the one before it."""
    return renamed(s, next_position(s, accepted_tokens_per_pos, "reached"), "position", "reached")


def _missing(s: Scope) -> str:
    """Targets that answer and say by their label that they speculate, yet expose no draft counter."""
    labels = s.settings.labels
    speculating = (f'{labels.spec_method}!=""', f'{labels.spec_method}!="{s.settings.methods.baseline}"')
    return aggregate("max", s.labels, answers_without(s, speculation.DRAFTS, *speculating))


identity_error = Signal(
    name="identity_error",
    title="Counter identities",
    question="Do the counters agree with each other?",
    description="How far an identity is broken that vLLM's counters hold exactly, as a share: positions add up to "
    "accepted tokens; no more is accepted than drafted; no more first positions than drafts; no position above the "
    "one before. 0 or less is right, but for rounding and where series begin.",
    unit=Unit.RATIO,
    better=Better.LOWER,
    expr=_identity_error,
    record="vllm_spec_decode_identity_error:ratio_rate{window}",
    levels=(Level.ENGINE,),
    by=("identity",),
    bands=lambda settings: good_under(
        settings.thresholds.inconsistent, good="consistent", beyond="inconsistent", status=Status.BAD
    ),
    decimals=1,
    least=None,
)
metrics_missing = Signal(
    name="metrics_missing",
    title="Speculative metrics missing",
    question="Does a server that should speculate say nothing about it?",
    description="1 for a target that answers and says by its method label that it speculates, yet exposes no draft "
    "counter.",
    unit=Unit.CODE,
    better=Better.LOWER,
    expr=_missing,
    record="vllm_spec_decode_metrics_missing:bool",
    levels=(Level.TARGET,),
    codes=(Code(1, "missing", Status.BAD),),
    empty="none is missing",
)

SIGNALS = (identity_error, metrics_missing)
