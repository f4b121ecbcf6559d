"""Whether speculation pays and by how much: cost, break-even, expected speedup, best k.

Time is counted in plain decode steps of the target. A step with a draft of L tokens takes L x c + v of them. Of all
decode steps the share `coverage` has a draft, so that a step takes coverage x (L x c + v) + 1 - coverage on average;
it yields `tokens_per_step` tokens, where a plain one yields 1. The speedup of the load is the one over the other.
"""

from dataclasses import replace
from functools import partial

from draftboard.evidence import BLOCKS
from draftboard.expr.nodes import AtLeast, Expr, Parameter, first_of, ignoring
from draftboard.quantity import Setting
from draftboard.signals.acceptance import acceptance_length, coverage, draft_length, tokens_per_step
from draftboard.signals.baseline import METHOD
from draftboard.signals.costs import CHEAP, DEAR, Case, draft_cost, plain_share, verify_inflation
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
from draftboard.signals.signal import NO_BANDS, Band, Better, Signal, Unit, good_under, within
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
)


def _needed(case: Case) -> Expr:
    """Tokens per step at which the load breaks even: what a mean step costs."""
    return coverage * (draft_length * case.token + case.base) + plain_share


def _end(name: str, extreme: str, case: Case) -> Signal:
    return Signal(
        name=f"step_cost_{name}",
        title=f"Step cost, at {extreme}",
        short=f"Cost, {extreme}",
        question=f"What does a decode step cost at {extreme}?",
        description="Coverage x (mean draft length x cost of a drafted token + base cost) + share of steps without a "
        f"draft, at {extreme}: the tokens per step at which the load breaks even.",
        action="Compare with tokens per decode step, and run a baseline to measure it.",
        note="In plain steps. Both ends are equal where costs are measured or set.",
        unit=Unit.STEPS,
        better=Better.LOWER,
        expr=_needed(case),
        empty=case.token.empty,
        decimals=2,
    )


def _expected(name: str, extreme: str, cost: Signal, bands: tuple[Band, ...]) -> Signal:
    return Signal(
        name=f"expected_speedup_{name}",
        title=f"Expected speedup, at {extreme}",
        short=f"Expected, {extreme}",
        question=f"How much does speculation gain at {extreme}?",
        description=f"Tokens per decode step / {within(cost.title)}: 1 is break-even.",
        action="Where one end is below 1 and the other above, run a baseline: costs decide.",
        note="Over all decode steps. Both ends are equal where costs are measured or set.",
        unit=Unit.TIMES,
        better=Better.HIGHER,
        expr=tokens_per_step.per(cost),
        record=f"vllm_spec_decode_expected_speedup_{name}:ratio_rate{{window}}",
        bands=bands,
        empty=cost.empty,
        decimals=2,
    )


step_cost_low, step_cost_high = _end("low", "least", CHEAP), _end("high", "most", DEAR)
_LOSES, _, _PAYS = SPEEDUP_BANDS
expected_speedup_low = _expected(
    "low", "least", step_cost_high, (Band("unsure", None, Status.NEUTRAL, "may lose"), _PAYS)
)
expected_speedup_high = _expected(
    "high", "most", step_cost_low, (_LOSES, Band("unsure", BREAK_EVEN, Status.NEUTRAL, "may pay"))
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
    decimals=2,
)


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


speedup_at = _speedup(
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


def _steps_at(case: Case) -> Expr:
    """Plain steps in the time of those that yield what a mean step now does, by k."""
    cost = draft_length_at.combined("*", case.token, EACH_MODEL).combined("+", case.base, EACH_MODEL)
    return of_one_k(_steps_of(AtLeast(cost, PLAIN_STEP)), "k")


def _gain_at(case: Case) -> Expr:
    """Of each k over K."""
    return _needed(case).per(_steps_at(case), ignoring("k", group="right"))


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
    return _speedup(
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
best_speedup = _speedup(
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
fastest_k = Signal(
    name="fastest_k",
    title="Fastest k",
    question="How many tokens should be drafted, if any?",
    description="The smallest k whose gain, at least, is within thresholds.gain of the highest; K itself means K or "
    "more.",
    action="If it is below K, try it as K.",
    note="Shown if enough drafts were accepted to that depth. Only lengths that are drafted can be judged.",
    unit=Unit.TOKENS,
    expr=(
        each_k
        # Both sides from one record: another may be of another minute.
        & gain_at.combined(">=", gain_at.max("k") * (1 - Setting("thresholds.gain")), EACH_MODEL)
    )
    .min("k")
    .combined("<=", backed_depth),
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
_full = (draft_length >= Setting("thresholds.full_drafts") * configured_k).without(METHOD, *BLOCKS)
"""Drafts that mostly have K tokens, of which another number could be drafted.

Of shorter ones the last position says little, and K is but their limit.
"""
_CHANGES = "drafts are often shorter than K, or K differs, or a block is drafted"


def _shorter(name: str, extreme: str, expr: Expr, bands: tuple[Band, ...] = NO_BANDS) -> Signal:
    return _gain(
        name=name,
        title=f"Gain of the best k, at {extreme}",
        short=f"Best k, {extreme}",
        question=f"How much faster would a shorter draft be at {extreme}?",
        description=f"Highest expected speedup of any k up to K / the current one, at the {extreme} costs.",
        action="Above 1 + thresholds.gain at least, try the best k as K.",
        note=BURSTS,
        expr=expr & _full,
        record=f"vllm_spec_decode_{name}:ratio_rate{{window}}",
        bands=bands,
        empty=_CHANGES,
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
        expr=_needed(case).per(steps) & _full,
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
