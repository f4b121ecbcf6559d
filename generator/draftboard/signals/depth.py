"""How deep drafts are accepted, by position and by draft length."""

from draftboard.expr.nodes import (
    Expr,
    InWindow,
    Numbers,
    PrefixSums,
    Successor,
    UpTo,
    constant,
    first_of,
    ignoring,
    labelled,
    on,
    over_level,
    renamed,
)
from draftboard.quantity import Setting
from draftboard.signals.acceptance import draft_length
from draftboard.signals.drafting import adaptive, counted_by_position, draft_tokens_per_pos, lowest_k, of_one_k
from draftboard.signals.signal import Better, Signal, Unit, good_from
from draftboard.signals.traffic import BOTH_LEVELS, accepted_tokens, accepted_tokens_per_pos, drafts

EACH_MODEL = ignoring("k", group="left")  # One number of a model for all its k.
BURSTS = (
    "Below K it is a lower bound: long drafts pass easy text in few steps, so hard text weighs more than it would with "
    "short drafts."
)

_LONGEST = Setting("max_draft_tokens")


def next_position(signal: Signal, label: str) -> Expr:
    """A signal by position, with the position after it in `label`."""
    return Successor(_judged(signal), label, "position", _LONGEST - 1)


def _judged(signal: Signal) -> Expr:
    """A signal without positions deeper than the settings judge: their numbers could not be counted on."""
    return signal.where("position", UpTo(_LONGEST - 1))


def _within_each_k(by_position: Signal) -> Expr:
    """Sum of a signal by position over the first k positions, for every k."""
    return PrefixSums(by_position, "position", "k", _LONGEST)


_ONE_K = "Not shown where K differs between engines or changed within the window, or verification is adaptive."
survival = Signal(
    name="survival",
    title="Survival by position",
    question="Up to which position are drafts accepted?",
    description="Share of drafts accepted at least this deep, from position 0 on: cumulative, so do not multiply "
    "positions.",
    action="Shorten K where late positions are rarely accepted; if position 0 is low, look at the drafter.",
    note="The base is all drafts, so late positions read low if drafts are shorter than K: acceptance by position has "
    f"another base. {_ONE_K}",
    better=Better.HIGHER,
    expr=of_one_k(accepted_tokens_per_pos.ratio(drafts, ignoring("position", group="left")), "position"),
    record="vllm_spec_decode_survival:ratio_rate{window}",
    levels=BOTH_LEVELS,
    by=("position",),
)
at_least_accepted = Signal(
    name="at_least_accepted",
    title="Drafts with >= n accepted tokens",
    question="How many tokens of a draft are accepted?",
    description="Share of drafts with at least n accepted tokens: 1 for n = 0, then survival.",
    action="Use it to choose how long drafts should be.",
    better=Better.HIGHER,
    # Accepting j or more tokens means surviving position j - 1; every draft accepts at least none.
    expr=first_of(
        over_level("sum", next_position(survival, "accepted"), "accepted"),
        labelled(constant(1, survival.min("position")), "accepted", "0"),
    ),
    record="vllm_spec_decode_at_least_accepted:ratio_rate{window}",
    by=("accepted",),
)
conditional_acceptance = Signal(
    name="conditional_acceptance",
    title="Conditional acceptance by position",
    question="At which position does acceptance drop?",
    description="Of the drafts accepted up to this position, the share accepted at it: nearly flat for a good drafter.",
    action="If it drops sharply at a position, set K to that position.",
    note="Low if drafts are shorter than K: a draft that ended before a position counts as rejected at it. vLLM has no "
    "counter of drafts that reach a position.",
    better=Better.HIGHER,
    # Position i is tried once i tokens were accepted.
    expr=survival / renamed(at_least_accepted, "position", "accepted"),
    record="vllm_spec_decode_conditional_acceptance:ratio_rate{window}",
    by=("position",),
)
acceptance_by_position = Signal(
    name="acceptance_by_position",
    title="Acceptance by position",
    question="Which share of the tokens drafted at a position is accepted?",
    description="Accepted / drafted tokens of each position, as Draftboard's plugin for vLLM counts them.",
    action="If it stays flat where survival falls, drafts end there: find out why they are short.",
    note="Exact for drafts of any length and any mix of K. Where all drafts have K tokens it is the survival.",
    better=Better.HIGHER,
    # A draft that does not reach a position says nothing of it, so that engines of another K do not blend.
    expr=over_level(
        "max",
        (accepted_tokens_per_pos / draft_tokens_per_pos)
        .combined("and", counted_by_position, ignoring("position"))
        .combined("unless", adaptive, ignoring("position")),
        "position",
    ),
    record="vllm_spec_decode_position_acceptance:ratio_rate{window}",
    by=("position",),
    empty="not all engines of the model run Draftboard's plugin for vLLM, or they draft nothing",
)
accepted_length_share = Signal(
    name="accepted_length_share",
    title="Distribution of accepted length",
    question="How are accepted lengths distributed?",
    description="Share of drafts with exactly n accepted tokens, from 0 to K; the deepest n that is judged means "
    "n or more.",
    action="If there are two peaks, look for two kinds of traffic before you change K.",
    note="The shares add up to 100 %.",
    # At least j, less at least j + 1; nothing lies beyond the last position that is judged.
    expr=at_least_accepted
    - first_of(renamed(_judged(survival), "accepted", "position"), constant(0, at_least_accepted)),
    record="vllm_spec_decode_accepted_length:share_rate{window}",
    by=("accepted",),
)
_known_k = over_level("sum", next_position(accepted_tokens_per_pos, "k"), "k")
_on_k = on("k", group="left")
each_k = Signal(
    name="each_k",
    title="Draft lengths with data",
    question="For which draft lengths is there data?",
    description="k itself, for each k from 1 to the lowest K.",
    action="Use it to see for which draft lengths there is data.",
    unit=Unit.TOKENS,
    # A draft of k tokens ends at position k - 1, so there is a k for each position; of several K up to the lowest.
    expr=constant(0, _known_k)
    .combined("+", Numbers("k", 1, _LONGEST), _on_k)
    .combined("<=", lowest_k, EACH_MODEL)
    .combined("unless", adaptive, ignoring("k")),
    record="vllm_spec_decode_each_k:enum_rate{window}",
    by=("k",),
    empty="speculation is off",
)
tokens_per_step_at = Signal(
    name="tokens_per_step_at",
    title="Tokens per step at each k",
    question="What would a shorter draft have yielded?",
    description="1 + survival summed over the positions below k: a lower bound of what drafts of k tokens yield for "
    "this traffic.",
    action="Choose k by the expected speedup, which counts what drafts cost.",
    note=f"For each k up to the lowest K. {BURSTS}",
    unit=Unit.TOKENS,
    better=Better.HIGHER,
    expr=1 + (_within_each_k(accepted_tokens_per_pos) & each_k).ratio(drafts, EACH_MODEL),
    record="vllm_spec_decode_tokens_per_step_at:mean_rate{window}",
    by=("k",),
    decimals=2,
)
_counted_at = (_within_each_k(draft_tokens_per_pos) & each_k).ratio(drafts, EACH_MODEL)
_at_most_the_mean = first_of(
    each_k.combined("<", draft_length, EACH_MODEL), constant(0, each_k).combined("+", draft_length, EACH_MODEL)
)
draft_length_at = Signal(
    name="draft_length_at",
    title="Mean draft length at each k",
    question="How long would drafts of at most k tokens be?",
    description="Tokens drafted in the first k positions / drafts; without the plugin for vLLM k, or the mean draft "
    "where that is shorter.",
    action="Where it stays flat as k grows, drafts end early: a larger K has little cost and little gain.",
    note="For each k up to the lowest K. Exact for drafts of any length where all engines of a model run Draftboard's "
    "plugin; otherwise too high where drafts are shorter than K.",
    unit=Unit.TOKENS,
    expr=over_level(
        "max", first_of(_counted_at.combined("and", counted_by_position, ignoring("k")), _at_most_the_mean), "k"
    ),
    record="vllm_spec_decode_draft_length_at:mean_rate{window}",
    by=("k",),
    decimals=2,
)
first_position = Signal(
    name="first_position",
    title="First-position acceptance",
    short="1st pos.",
    question="Does the drafter match the target?",
    description="Share of drafts whose first token is accepted; for n-gram and suffix it measures how repetitive "
    "the text is.",
    action="If a drafter's is low, check that it fits the target: pair, tokenizer, sampling.",
    better=Better.HIGHER,
    expr=accepted_tokens_per_pos.where("position", "0").sum("position") / drafts,
    record="vllm_spec_decode_first_position:ratio_rate{window}",
    bands=good_from(Setting("thresholds.first_position"), good="aligned", under="weak"),
)
last_position = Signal(
    name="last_position",
    title="Last-position acceptance",
    short="Last pos.",
    question="How often is a whole draft accepted?",
    description="Share of drafts accepted up to the last position of K.",
    action="If it is high, try a longer K; near 0, a shorter one.",
    note=f"Of little meaning if drafts are shorter than K. {_ONE_K}",
    expr=survival.min("position"),
    record="vllm_spec_decode_last_position:ratio_rate{window}",
)
next_position_accepted = Signal(
    name="next_position_accepted",
    title="Next-position acceptance, extrapolated",
    short="Next pos.",
    question="Would one more token be accepted?",
    description="Share of drafts accepted one token deeper than K, if that token were accepted as often as the "
    "last: extrapolated.",
    action="If it is high, try a longer K, and measure.",
    expr=last_position
    * (
        over_level("sum", next_position(conditional_acceptance, "k"), "k")
        & each_k.combined(">=", each_k.max("k"), EACH_MODEL)
    ).max("k"),
)
backed_depth = (each_k & (InWindow(_known_k) >= Setting("traffic.drafts_at_depth"))).max("k")
"""The greatest k up to which enough drafts were accepted."""
alpha_hat = Signal(
    name="alpha_hat",
    title="Acceptance per token (alpha)",
    question="How likely is one drafted token accepted, independent of K?",
    description="Estimated probability that a drafted token is accepted: accepted / (accepted + drafts - drafts "
    "accepted up to the last position).",
    action="Compare drafters of different K by it.",
    note="The maximum-likelihood estimate for drafts of fixed length: comparable across K, too low if "
    f"drafts are shorter than K. {_ONE_K}",
    better=Better.HIGHER,
    # Survival never rises with position, so the last position is the smallest.
    expr=of_one_k(accepted_tokens / (accepted_tokens + drafts - accepted_tokens_per_pos.min("position"))),
)
