"""Whether speculation pays and by how much: cost, break-even, expected speedup, best k.

Time is counted in plain decode steps of the target. A step with a draft of L tokens takes L x c + v of them. Of all
decode steps the share `coverage` has a draft, so that a step takes coverage x (L x c + v) + 1 - coverage on average;
it yields `tokens_per_step` tokens, where a plain one yields 1. The speedup of the load is the one over the other.
"""

from functools import partial

from draftboard.expr.nodes import AtLeast, Expr, Parameter, ignoring
from draftboard.quantity import Setting
from draftboard.signals.acceptance import acceptance_length, coverage, draft_length, tokens_per_step
from draftboard.signals.baseline import METHOD
from draftboard.signals.costs import draft_cost, plain_share, verify_inflation
from draftboard.signals.depth import (
    BURSTS,
    EACH_MODEL,
    backed_depth,
    draft_length_at,
    each_k,
    next_position_accepted,
    tokens_per_step_at,
)
from draftboard.signals.drafting import configured_k, of_one_k
from draftboard.signals.signal import Band, Better, Signal, Unit, good_under
from draftboard.status import Status

PLAIN_STEP = 1.0  # Unit of costs.
BREAK_EVEN = 1.0  # Expected speedup at which speculation yields just what plain steps would have.
ESTIMATE = "An estimate: it rests on the draft cost c and the verify inflation v."


SPEEDUP_BANDS = (
    Band("loses", None, Status.BAD, "costs more than it saves"),
    Band("even", BREAK_EVEN, Status.WARN, "about even"),
    Band("pays", Setting("thresholds.pays_clearly"), Status.GOOD),
)
"""What an expected speedup means."""
LEAST_GAIN = 1 + Setting("thresholds.gain")
"""Speedup of another K over that of the present one, over which the change is advised."""
_speedup = partial(Signal, unit=Unit.TIMES, better=Better.HIGHER, bands=SPEEDUP_BANDS, decimals=2)
_gain = partial(Signal, unit=Unit.TIMES_NOW, better=Better.LOWER, decimals=2)


_what_if_cost = Parameter("draft_cost", Setting("draft_cost.default"))
_what_if_inflation = Parameter("verify_inflation", Setting("draft_cost.inflation_at_least_batch"))
_in_drafts = coverage * acceptance_length
"""Tokens of speculative steps, before a stop or max_tokens cuts them off, for each decode step."""


def with_a_drafter(signal: Signal) -> Expr:
    """The signal where the label names a method with a drafter: lookups have none that could be misaligned."""
    return signal.without(METHOD, Setting("methods.lookup")).without(METHOD, "")


break_even = Signal(
    name="break_even",
    title="Break-even length",
    question="Which acceptance length pays?",
    description="Mean draft length x draft cost + verify inflation: the length at which a speculative step breaks "
    "even, at the costs c and v.",
    action="To lower it, shorten K or use a cheaper drafter.",
    note=ESTIMATE,
    unit=Unit.TOKENS,
    expr=draft_length * draft_cost + verify_inflation,
    record="vllm_spec_decode_break_even:mean_rate{window}",
    decimals=2,
)
needed_per_step = Signal(
    name="needed_per_step",
    title="Break-even tokens per step",
    short="Break-even",
    question="How many tokens must a decode step yield to break even?",
    description="Coverage x break-even length + share of steps without a draft: tokens per step at which the load "
    "breaks even, at the costs c and v.",
    action="Compare with tokens per decode step.",
    note=ESTIMATE,
    unit=Unit.TOKENS,
    expr=coverage * break_even + plain_share,
    record="vllm_tokens_per_step:break_even_rate{window}",
    decimals=2,
)
expected_speedup = _speedup(
    name="expected_speedup",
    title="Expected speedup",
    short="Expected",
    question="Does speculation pay?",
    description="Tokens per decode step / break-even tokens per step: 1 is break-even, at the costs c and v.",
    action="Below 1, shorten K, change the drafter or turn it off; measure it against a baseline under the same load.",
    note=f"Over all decode steps. {ESTIMATE}",
    expr=tokens_per_step.per(needed_per_step),
    record="vllm_spec_decode_expected_speedup:ratio_rate{window}",
)
step_speedup = _speedup(
    name="step_speedup",
    title="Expected speedup of speculative steps",
    question="How fast are the steps that carry a draft?",
    description="Mean acceptance length / break-even length: the expected speedup of speculative steps alone, at "
    "costs c and v.",
    action="Judge the load by the expected speedup, which includes steps without a draft.",
    note="Not the speedup of the load: it leaves out steps without a draft, and tokens that a stop or "
    f"max_tokens cuts off. {ESTIMATE}",
    expr=acceptance_length.per(break_even),
    record="vllm_spec_decode_step_speedup:ratio_rate{window}",
)
affordable_inflation = Signal(
    name="affordable_inflation",
    title="Affordable verify step",
    short="Affordable v",
    question="How much slower may a verify step be before speculation stops paying?",
    description="The verify inflation v at which the load is as fast as without speculation, in plain steps, at the "
    "draft cost c.",
    action="Compare with the verify inflation: near it there is no margin, so shorten K or change the drafter.",
    note="(Tokens per decode step - share of steps without a draft) / coverage - mean draft length x c. The margin of "
    "the verdict: it depends on c, but not on v.",
    unit=Unit.STEPS,
    better=Better.HIGHER,
    expr=(tokens_per_step - plain_share) / coverage - draft_length * draft_cost,
    record="vllm_spec_decode_affordable_inflation:ratio_rate{window}",
    decimals=2,
)


_step_at = AtLeast(
    draft_length_at.combined("*", draft_cost, EACH_MODEL).combined("+", verify_inflation, EACH_MODEL), PLAIN_STEP
)
"""A measured v is under 1 where c is assumed too high; no step with a draft takes less time than a plain one."""


def _speedup_at(cost: Expr) -> Expr:
    """Of the load if a speculative step took `cost`, by k: as many tokens come from drafts, in more or fewer steps."""
    steps = cost.per(tokens_per_step_at).combined("*", _in_drafts, EACH_MODEL).combined("+", plain_share, EACH_MODEL)
    return tokens_per_step.per(of_one_k(steps, "k"), ignoring("k", group="right"))


speedup_at = _speedup(
    name="speedup_at",
    title="Expected speedup at each k",
    question="Which draft length would be fastest?",
    description="Expected speedup at each k up to K, at costs c and v, if drafts of k tokens yielded an equal share of "
    "tokens.",
    action="Try the smallest k near the top; below K the values are lower bounds.",
    note=f"{BURSTS} {ESTIMATE}",
    expr=_speedup_at(_step_at),
    record="vllm_spec_decode_speedup_at:ratio_rate{window}",
    by=("k",),
)
_fastest = speedup_at.max("k")
best_speedup = _speedup(
    name="best_speedup",
    title="Highest expected speedup",
    short="Best speedup",
    question="How fast would the best k be?",
    description="The highest of the expected speedups at each k, at the costs c and v: below K a lower bound.",
    action="If it is well above the expected speedup, try the best k.",
    note=f"{BURSTS} {ESTIMATE}",
    expr=_fastest,
    record="vllm_spec_decode_best_speedup:ratio_rate{window}",
)
best_k = Signal(
    name="best_k",
    title="Best k",
    question="How many tokens should be drafted?",
    description="The smallest k whose expected speedup is within thresholds.gain of the highest, at the "
    "costs c and v; K itself means K or more.",
    action="If it is below K, try it as K.",
    note=f"Shown if enough drafts were accepted to that depth. Only lengths that are drafted can be judged. {ESTIMATE}",
    unit=Unit.TOKENS,
    expr=(
        each_k
        # Both sides from one record: another may be of another minute.
        & speedup_at.combined(">=", _fastest * (1 - Setting("thresholds.gain")), EACH_MODEL)
    )
    .min("k")
    .combined("<=", backed_depth),
    record="vllm_spec_decode_best_k:enum_rate{window}",
    empty="not enough drafts at that depth, or K differs",
    decimals=0,
)
what_if_speedup = _speedup(
    name="what_if_speedup",
    title="Speedup at each k for chosen costs",
    question="What if drafting cost more or less?",
    description="Expected speedup at each k, with draft cost c and verify inflation v from the variables of the "
    "dashboard, the same for all models.",
    action="Choose c and v as you measured them.",
    expr=_speedup_at(draft_length_at * _what_if_cost + _what_if_inflation),
    by=("k",),
)
_full = draft_length >= Setting("thresholds.full_drafts") * configured_k
"""Drafts that mostly have K tokens: of shorter ones the last position says little, and K is but their limit."""
shorter_gain = _gain(
    name="shorter_gain",
    title="Gain of the best k",
    short="Gain of best k",
    question="Would a shorter draft be faster?",
    description="Highest expected speedup of any k up to K / the current one, at costs c and v: a lower bound.",
    action="Above 1 + thresholds.gain, try the best k as K.",
    note=f"{BURSTS} {ESTIMATE}",
    expr=best_speedup / expected_speedup & _full,
    record="vllm_spec_decode_shorter_gain:ratio_rate{window}",
    bands=good_under(LEAST_GAIN, good="not-too-long", beyond="too-long"),
    empty="drafts are often shorter than K, or K differs",
)
longer_gain = _gain(
    name="longer_gain",
    title="Gain of one more token, extrapolated",
    short="Gain of K + 1",
    question="Would a longer draft be faster?",
    description="Expected speedup at K + 1 / now, if the next token were accepted as often as the last one: "
    "extrapolated, at the costs c and v.",
    action="Above 1 + thresholds.gain, try a longer K.",
    note=ESTIMATE,
    expr=needed_per_step.per(
        _in_drafts
        * ((draft_length + 1) * draft_cost + verify_inflation).per(acceptance_length + next_position_accepted)
        + plain_share
    )
    & _full,
    record="vllm_spec_decode_longer_gain:ratio_rate{window}",
    bands=good_under(LEAST_GAIN, good="not-too-short", beyond="too-short", status=Status.ODD),
    empty="drafts are often shorter than K, or K differs",
)
too_long = shorter_gain > LEAST_GAIN
too_short = longer_gain > LEAST_GAIN
