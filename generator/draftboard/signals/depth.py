"""How deep drafts are accepted: by position, by accepted length, and what a shorter draft would have yielded."""

from draftboard.expr.promql import (
    aggregate,
    binary,
    constant,
    first_of,
    ignoring,
    labelled,
    numbers,
    on,
    ratio,
    reduce,
    relabelled,
    successor,
    sum_by,
    up_to,
)
from draftboard.settings import Settings
from draftboard.signals.scope import Scope
from draftboard.signals.signal import Band, Better, Level, Signal, Unit, good_from
from draftboard.signals.traffic import BOTH_LEVELS, accepted_tokens, accepted_tokens_per_pos, drafts
from draftboard.status import Status


def _first_position_bands(settings: Settings) -> tuple[Band, ...]:
    return good_from(settings.thresholds.first_position, good="aligned", under="weak")


def _last_position_bands(settings: Settings) -> tuple[Band, ...]:
    thresholds = settings.thresholds
    return (
        Band("too-long", None, Status.WARN, "draft too long"),
        Band("keep", thresholds.last_position_low, Status.GOOD, "keep K"),
        Band("too-short", thresholds.last_position_high, Status.ODD, "draft too short"),
    )


def next_position(s: Scope, signal: Signal, label: str) -> str:
    """A signal by position, with the position after it in `label`."""
    return successor(_judged(s)(signal), label, "position", _last(s))


def renamed(s: Scope, vector: str, label: str, source: str) -> str:
    """The vector with `label` in place of `source`."""
    return sum_by((*s.labels, label), relabelled(vector, label, source))


def _judged(s: Scope) -> Scope:
    """The same view without positions deeper than the settings judge: their numbers could not be counted on."""
    return s.where("position", up_to(_last(s)))


def _per_draft(s: Scope, accepted: str, label: str) -> str:
    return ratio(accepted, s(drafts), ignoring(label, group="left"))


def _at_least(s: Scope) -> str:
    """Accepting j or more tokens means surviving position j - 1; every draft accepts at least none."""
    reached = sum_by((*s.labels, "accepted"), next_position(s, survival, "accepted"))
    everything = labelled(constant(1, reduce("min", "position", s(survival))), "accepted", "0")
    return first_of(reached, everything)


def _exactly(s: Scope) -> str:
    """At least j, less at least j + 1; nothing lies beyond the last position that is judged."""
    deeper = renamed(s, _judged(s)(survival), "accepted", "position")
    return binary(s(at_least_accepted), "-", first_of(deeper, constant(0, s(at_least_accepted))))


def _conditional(s: Scope) -> str:
    """Position i is tried once i tokens were accepted."""
    return ratio(s(survival), renamed(s, s(at_least_accepted), "position", "accepted"))


def _each_k(s: Scope) -> str:
    """A draft of k tokens ends at position k - 1, so there is a k for each position."""
    known = sum_by((*s.labels, "k"), next_position(s, accepted_tokens_per_pos, "k"))
    return binary(constant(0, known), "+", numbers("k", 1, s.settings.max_draft_tokens), on(("k",), group="left"))


def _configured_k(s: Scope) -> str:
    """The mean over engines moves with every engine of a rollout, where the largest would stand still."""
    by_engine = s.at(Level.ENGINE)(accepted_tokens_per_pos)
    return aggregate("avg", s.labels, reduce("count", "position", by_engine))


def _tokens_per_step_at(s: Scope) -> str:
    accepted = binary(_accepted_within(s), "and", s(each_k))
    return binary("1", "+", _per_draft(s, accepted, "k"))


def _accepted_within(s: Scope) -> str:
    """Tokens accepted in the first k positions, for every k."""
    return first_of(
        *(
            labelled(
                reduce("sum", "position", s.where("position", up_to(position))(accepted_tokens_per_pos)), "k", str(k)
            )
            for k, position in enumerate(range(s.settings.max_draft_tokens), start=1)
        ),
    )


def _last(s: Scope) -> int:
    """The last position of the longest draft."""
    return s.settings.max_draft_tokens - 1


survival = Signal(
    name="survival",
    title="Survival by position",
    question="How deep are drafts accepted?",
    description="Share of drafts accepted at least this deep; position 0 is the first drafted token. Already "
    "cumulative: positions must not be multiplied. Over all drafts, so where drafts are shorter than K the late "
    "positions read low: vLLM does not export how many drafts had a token there.",
    unit=Unit.RATIO,
    better=Better.HIGHER,
    expr=lambda s: _per_draft(s, s(accepted_tokens_per_pos), "position"),
    record="vllm_spec_decode_survival:ratio_rate{window}",
    levels=BOTH_LEVELS,
    by=("position",),
)
at_least_accepted = Signal(
    name="at_least_accepted",
    title="Drafts with at least so many accepted",
    question="How many tokens does a draft get to?",
    description="Share of drafts with at least so many accepted tokens: 1 for none, then survival.",
    unit=Unit.RATIO,
    better=Better.HIGHER,
    expr=_at_least,
    record="vllm_spec_decode_at_least_accepted:ratio_rate{window}",
    by=("accepted",),
)
conditional_acceptance = Signal(
    name="conditional_acceptance",
    title="Conditional acceptance by position",
    question="Where does the drafter lose the thread?",
    description="Of the drafts accepted up to this position, the share accepted here too. A good drafter is nearly "
    "flat; a cliff says which position to stop at. Exact where drafts have full length.",
    unit=Unit.RATIO,
    better=Better.HIGHER,
    expr=_conditional,
    record="vllm_spec_decode_conditional_acceptance:ratio_rate{window}",
    by=("position",),
)
accepted_length_share = Signal(
    name="accepted_length_share",
    title="Distribution of accepted length",
    question="How are accepted lengths distributed?",
    description="Share of drafts with exactly so many accepted tokens, from none to K; the deepest that is judged "
    "means so many or more; the shares add up to 100 %. Two humps say that two kinds of traffic are mixed.",
    unit=Unit.RATIO,
    expr=_exactly,
    record="vllm_spec_decode_accepted_length:share_rate{window}",
    by=("accepted",),
)
each_k = Signal(
    name="each_k",
    title="Draft lengths that can be judged",
    question="Which draft lengths does the data tell about?",
    description="k itself, for each k from 1 to the configured K.",
    unit=Unit.TOKENS,
    expr=_each_k,
    record="vllm_spec_decode_each_k:enum_rate{window}",
    by=("k",),
    empty="speculation is off",
)
configured_k = Signal(
    name="configured_k",
    title="Configured K",
    question="How long may a draft be?",
    description="Number of positions that vLLM counts: num_speculative_tokens. The mean, where engines differ.",
    unit=Unit.TOKENS,
    expr=_configured_k,
    record="vllm_spec_decode_configured_k:count_rate{window}",
    empty="speculation is off",
)
tokens_per_step_at = Signal(
    name="tokens_per_step_at",
    title="Tokens per step at each k",
    question="What would a shorter draft have yielded?",
    description="1 + survival of the positions below k, for each k up to K: what this drafter would have yielded with "
    "drafts of k tokens, by the same traffic.",
    unit=Unit.TOKENS,
    better=Better.HIGHER,
    expr=_tokens_per_step_at,
    record="vllm_spec_decode_tokens_per_step_at:mean_rate{window}",
    by=("k",),
    decimals=2,
)
first_position = Signal(
    name="first_position",
    title="First position accepted",
    question="Does the drafter speak the target's language?",
    description="Share of drafts whose first token is accepted. A drafter that misses here is misaligned: wrong pair, "
    "wrong tokenizer, or sampling it was not made for. For n-gram and suffix it tells how repetitive text is.",
    unit=Unit.RATIO,
    better=Better.HIGHER,
    expr=lambda s: reduce("sum", "position", s.where("position", "0")(survival)),
    record="vllm_spec_decode_first_position:ratio_rate{window}",
    bands=_first_position_bands,
)
last_position = Signal(
    name="last_position",
    title="Last position accepted",
    question="Is K too long or too short?",
    description="Share of drafts accepted to the last position of K. Low: the tail is drafted for nothing. High: a "
    "longer draft would still be accepted. Says little where drafts are shorter than K.",
    unit=Unit.RATIO,
    expr=lambda s: reduce("min", "position", s(survival)),
    record="vllm_spec_decode_last_position:ratio_rate{window}",
    bands=_last_position_bands,
)
alpha_hat = Signal(
    name="alpha_hat",
    title="Acceptance per token (alpha)",
    question="How likely is one drafted token accepted, whatever K is?",
    description="Accepted / (accepted + drafts - drafts accepted to the last position): the maximum-likelihood "
    "estimate for drafts of fixed length. Comparable across K; reads low where drafts are shorter than K.",
    unit=Unit.RATIO,
    better=Better.HIGHER,
    expr=lambda s: ratio(
        s(accepted_tokens),
        binary(
            binary(s(accepted_tokens), "+", s(drafts)),
            "-",
            # Survival never rises with position, so the last position is the smallest.
            reduce("min", "position", s(accepted_tokens_per_pos)),
        ),
    ),
)

SIGNALS = (
    survival,
    at_least_accepted,
    conditional_acceptance,
    accepted_length_share,
    each_k,
    configured_k,
    tokens_per_step_at,
    first_position,
    last_position,
    alpha_hat,
)
