"""What another K would gain: the expected speedup at each k, the best k, and the change from the present K."""

from dataclasses import replace
from functools import partial

from draftboard.evidence import BLOCKS
from draftboard.expr.nodes import (
    AsRecorded,
    AtLeast,
    Before,
    Evaluator,
    Expr,
    If,
    Parameter,
    Ref,
    constant,
    first_of,
    ignoring,
)
from draftboard.quantity import LOOK_BACK, Setting
from draftboard.signals.acceptance import acceptance_length, coverage, draft_length, tokens_per_step
from draftboard.signals.baseline import METHOD
from draftboard.signals.costs import CHEAP, DEAR, KEEPS_A_PAST, Case, draft_cost, plain_share, verify_inflation
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
from draftboard.signals.economics import (
    BREAK_EVEN,
    ESTIMATE,
    PLAIN_STEP,
    expected_speedup_high,
    speedup_signal,
    step_cost_high,
    step_cost_low,
)
from draftboard.signals.presence import latest
from draftboard.signals.signal import NO_BANDS, Band, Better, Code, Signal, Unit, good_under
from draftboard.signals.steps import step_time_by_batch
from draftboard.status import Status

LEAST_GAIN = 1 + Setting("thresholds.gain")
"""Speedup of another K over that of the present one, over which the change is advised."""
_gain = partial(Signal, unit=Unit.TIMES_NOW, better=Better.LOWER, decimals=2)
_what_if_cost = Parameter("draft_cost", Setting("draft_cost.default"))
_what_if_inflation = Parameter("verify_inflation", Setting("draft_cost.inflation_at_least_batch"))
_in_drafts = coverage * acceptance_length
"""Tokens of speculative steps, before a stop or max_tokens cuts them off, for each decode step."""


_step_at = AtLeast(
    draft_length_at.combined("*", draft_cost, EACH_MODEL).combined("+", verify_inflation, EACH_MODEL), PLAIN_STEP
)
"""A measured v is under 1 where c is assumed too high; no step with a draft takes less time than a plain one."""


def _steps_of(cost: Expr) -> Expr:
    """Plain steps in the time of a mean step, if a speculative one took `cost`, by k.

    As many tokens come from drafts, in more or fewer steps.
    """
    return cost.per(tokens_per_step_at).combined("*", _in_drafts, EACH_MODEL).combined("+", plain_share, EACH_MODEL)


def _speedup_at(cost: Expr) -> Expr:
    """Of the load if a speculative step took `cost`, by k."""
    return tokens_per_step.per(of_one_k(_steps_of(cost), "k"), ignoring("k", group="right"))


speedup_at = speedup_signal(
    name="speedup_at",
    title="Expected speedup at each k",
    question="Which draft length would be fastest?",
    description="Expected speedup at each k up to K, at costs c and v, if drafts of k tokens yielded an equal share of "
    "tokens.",
    action="Try the smallest k near the top; below K the values are lower bounds.",
    note=f"{BURSTS} {ESTIMATE}",
    expr=_speedup_at(_step_at),
    by=("k",),
)


_NOW = {CHEAP: step_cost_low, DEAR: step_cost_high}
"""What a mean step costs at each end."""


def _steps_at(case: Case) -> Expr:
    """Plain steps in the time of those that yield what a mean step now does, by k."""
    cost = draft_length_at.combined("*", case.token, EACH_MODEL).combined("+", case.base, EACH_MODEL)
    return of_one_k(_steps_of(AtLeast(cost, PLAIN_STEP)), "k")


def _gain_at(case: Case) -> Expr:
    """Of each k over K."""
    return _NOW[case].per(_steps_at(case), ignoring("k", group="right"))


gain_at = _gain(
    name="gain_at",
    title="Gain at each k, at least",
    question="What would a shorter draft gain at any cost?",
    description="Expected speedup at each k up to K / the current one, at the least costs, where a shorter draft "
    "gains least.",
    action="Try the smallest k near the top; below K the values are lower bounds.",
    note=BURSTS,
    expr=_gain_at(CHEAP),
    record="vllm_spec_decode_gain_at:ratio_rate{window}",
    by=("k",),
)


def _speedup_at_end(name: str, extreme: str, case: Case) -> Signal:
    return speedup_signal(
        name=f"speedup_at_{name}",
        title=f"Expected speedup at each k, at {extreme}",
        question=f"How fast would each draft length be at {extreme}?",
        description=f"Expected speedup at each k up to K, at {extreme}, if drafts of k tokens yielded as large a "
        "share of tokens.",
        action="Compare the lengths by their gain, which costs change less.",
        note=BURSTS,
        expr=tokens_per_step.per(_steps_at(case), ignoring("k", group="right")),
        by=("k",),
    )


speedup_at_low, speedup_at_high = _speedup_at_end("low", "least", DEAR), _speedup_at_end("high", "most", CHEAP)
best_speedup = speedup_signal(
    name="best_speedup",
    title="Highest expected speedup, at most",
    short="Best, most",
    question="How fast could the best k be?",
    description="The highest of the expected speedups at each k up to K, at the least costs.",
    action="Below 1, no k pays at any of these costs.",
    note=BURSTS,
    expr=expected_speedup_high * gain_at.max("k"),
    record="vllm_spec_decode_best_speedup:ratio_rate{window}",
)


def _fastest(gain: Expr) -> Expr:
    # Both sides from one record: another may be of another minute.
    near = gain.combined(">=", gain.max("k") * (1 - Setting("thresholds.gain")), EACH_MODEL)
    return (each_k & near).min("k").combined("<=", backed_depth)


fastest_k = Signal(
    name="fastest_k",
    title="Fastest k",
    question="How many tokens should be drafted, if any?",
    description="The smallest k whose gain, at least, is within thresholds.gain of the highest; K itself means K or "
    "more.",
    action="If it is below K, try it as K.",
    note="Shown if enough drafts were accepted to that depth. Only lengths that are drafted can be judged.",
    unit=Unit.TOKENS,
    expr=_fastest(gain_at),
    record="vllm_spec_decode_fastest_k:enum_rate{window}",
    empty="not enough drafts at that depth, or K differs",
    decimals=0,
)
no_k_pays = best_speedup < BREAK_EVEN
best_k = replace(
    fastest_k,
    name="best_k",
    title="Best k",
    question="How many tokens should be drafted?",
    description="The fastest k, where any k pays at any of the costs.",
    expr=fastest_k.combined("unless", no_k_pays),
    record="vllm_spec_decode_best_k:enum_rate{window}",
    empty=f"no k pays, {fastest_k.empty}",
)
best_k_or_none = replace(
    best_k,
    name="best_k_or_none",
    title="Best k, or none",
    question="How many tokens should be drafted, or does no k pay?",
    short="Best k",
    description="The fastest k; none where no k pays at any of the costs, so that a shorter one only loses less.",
    expr=first_of(best_k + 0, constant(0, no_k_pays)),
    codes=(Code(0, "none pays", Status.DUE),),
    record=None,
)
best_k_low = replace(
    best_k,
    name="best_k_low",
    title="Best k, at most costs",
    question="How many tokens should be drafted at the highest costs?",
    description="The smallest k whose gain at the highest costs is within thresholds.gain of the highest, where any k "
    "pays at any of the costs.",
    expr=_fastest(_gain_at(DEAR)).combined("unless", no_k_pays),
    record=None,
)
what_if_speedup = speedup_signal(
    name="what_if_speedup",
    title="Speedup at each k for chosen costs",
    question="What if drafting cost more or less?",
    description="Expected speedup at each k, with draft cost c and verify inflation v from the variables of the "
    "dashboard, the same for all models; elsewhere a range of published costs of each method.",
    action="Choose c and v as you measured them.",
    expr=_speedup_at(draft_length_at * _what_if_cost + _what_if_inflation),
    by=("k",),
)
_takes_another = draft_length.without(METHOD, *BLOCKS)
"""Drafts of which another number of tokens could be drafted."""
_full = _takes_another >= Setting("thresholds.full_drafts") * configured_k
"""Those that mostly have K tokens.

Of shorter ones the last position says little, and K is but their limit.
"""
_slower = Ref("slower_k_by_batch")
# What a change measured is known for hours: read by the evaluation before.
_known_slower = If(Evaluator.RECORDS, Before(_slower, LOOK_BACK), _slower)
_slower_at_this_load = ((_known_slower > 0) & latest(step_time_by_batch)).max("batch").max("context")
slower_k = Signal(
    name="slower_k",
    title="Longer K, slower at this load",
    short="Slower K",
    question="Which longer K was slower at this load?",
    description="A K that is not shorter than now, with which tokens took longer to decode at the present batch and "
    "context.",
    action="Do not try a longer K at this load.",
    note="By the changes of K that rules have seen.",
    unit=Unit.TOKENS,
    expr=If(Evaluator.ONCE, AsRecorded(_slower_at_this_load), _slower_at_this_load),
    empty="no longer K is known to be slower",
    decimals=0,
)
_may_be_longer = If(KEEPS_A_PAST, _full.combined("unless", slower_k), _full)
_CHANGES = "drafts are often shorter than K, K differs, a block is drafted, or a longer K was slower at this load"


def _shorter(name: str, extreme: str, expr: Expr, bands: tuple[Band, ...] = NO_BANDS) -> Signal:
    return _gain(
        name=name,
        title=f"Gain of a shorter K, at {extreme}",
        short=f"Shorter, {extreme}",
        question=f"How much faster would a shorter draft be at {extreme}?",
        description=f"Highest expected speedup of any k up to K / the current one, at the {extreme} costs.",
        action="Above 1 + thresholds.gain at least, try the best k as K.",
        note=BURSTS,
        expr=expr & _takes_another,
        record=f"vllm_spec_decode_{name}:ratio_rate{{window}}",
        bands=bands,
        empty="K differs, or a block is drafted",
    )


def _longer(name: str, extreme: str, case: Case, bands: tuple[Band, ...] = NO_BANDS) -> Signal:
    cost = (draft_length + 1) * case.token + case.base
    steps = _in_drafts * cost.per(acceptance_length + next_position_accepted) + plain_share
    return _gain(
        name=name,
        title=f"Gain of one more token, at {extreme}",
        short=f"K + 1, {extreme}",
        question=f"How much faster would a longer draft be at {extreme}?",
        description="Expected speedup at K + 1 / now, if the next token were accepted as often as the last one, at "
        f"{extreme}: extrapolated.",
        action="Above 1 + thresholds.gain at least, try a longer K.",
        note="A longer draft gains least at the highest costs.",
        expr=_NOW[case].per(steps) & _may_be_longer,
        record=f"vllm_spec_decode_{name}:ratio_rate{{window}}",
        bands=bands,
        empty=_CHANGES,
    )


shorter_gain = _shorter(
    "shorter_gain", "least", gain_at.max("k"), good_under(LEAST_GAIN, good="not-too-long", beyond="too-long")
)
shorter_gain_high = _shorter("shorter_gain_high", "most", _gain_at(DEAR).max("k"))
longer_gain = _longer(
    *("longer_gain", "least", DEAR), good_under(LEAST_GAIN, good="not-too-short", beyond="too-short", status=Status.ODD)
)
longer_gain_high = _longer("longer_gain_high", "most", CHEAP)
too_long = shorter_gain > LEAST_GAIN
too_short = longer_gain > LEAST_GAIN
may_gain = first_of(shorter_gain_high > LEAST_GAIN, longer_gain_high > LEAST_GAIN)
"""Where another K gains at some of the costs."""
