"""Whether speculation pays and by how much: cost, break-even, expected speedup.

Time is counted in plain decode steps of the target. A step with a draft of L tokens takes L x c + v of them. Of all
decode steps the share `coverage` has a draft, so that a step takes coverage x (L x c + v) + 1 - coverage on average;
it yields `tokens_per_step` tokens, where a plain one yields 1. The speedup of the load is the one over the other.
"""

from functools import partial

from draftboard.expr.nodes import Expr
from draftboard.quantity import Setting
from draftboard.signals.acceptance import acceptance_length, coverage, draft_length, tokens_per_step
from draftboard.signals.baseline import METHOD
from draftboard.signals.costs import CHEAP, DEAR, Case, draft_cost, plain_share, verify_inflation
from draftboard.signals.signal import Band, Better, Signal, Unit, within
from draftboard.status import Status

PLAIN_STEP = 1.0  # Unit of costs.
BREAK_EVEN = 1.0  # Expected speedup at which speculation yields just what plain steps would have.
ESTIMATE = "An estimate: it rests on the draft cost c and the verify inflation v."


SPEEDUP_BANDS = (
    Band("loses", None, Status.DUE, "costs more than it saves"),
    Band("even", BREAK_EVEN, Status.WARN, "about even"),
    Band("pays", Setting("thresholds.pays_clearly"), Status.GOOD),
)
"""What an expected speedup means."""
speedup_signal = partial(Signal, unit=Unit.TIMES, better=Better.HIGHER, bands=SPEEDUP_BANDS, decimals=2)


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
expected_speedup = speedup_signal(
    name="expected_speedup",
    title="Expected speedup",
    short="Expected",
    question="Does speculation pay?",
    description="Tokens per decode step / break-even tokens per step: 1 is break-even, at the costs c and v.",
    action="Below 1, shorten K, change the drafter or turn it off; measure it against a baseline under the same load.",
    note=f"Over all decode steps. {ESTIMATE}",
    expr=tokens_per_step.per(needed_per_step),
)


_end = partial(
    Signal,
    action="Compare with tokens per decode step, and run a baseline to measure it.",
    note="In plain steps. Both ends are equal where costs are measured or set.",
    unit=Unit.STEPS,
    better=Better.LOWER,
    decimals=2,
)


def _break_even(name: str, extreme: str, case: Case) -> Signal:
    return _end(
        name=f"break_even_{name}",
        title=f"Break-even length, at {extreme}",
        question=f"Which acceptance length pays at {extreme}?",
        description=f"Mean draft length x cost of a drafted token + base cost, at {extreme}: what a step with a draft "
        "costs.",
        expr=draft_length * case.token + case.base,
        empty=case.token.empty,
    )


break_even_low, break_even_high = _break_even("low", "least", CHEAP), _break_even("high", "most", DEAR)


def _step_cost(name: str, extreme: str, of_draft: Signal) -> Signal:
    return _end(
        name=f"step_cost_{name}",
        title=f"Step cost, at {extreme}",
        short=f"Cost, {extreme}",
        question=f"What does a decode step cost at {extreme}?",
        description=f"Coverage x {within(of_draft.title)} + share of steps without a draft: the tokens per step at "
        "which the load breaks even.",
        expr=coverage * of_draft + plain_share,
        empty=of_draft.empty,
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


step_cost_low = _step_cost("low", "least", break_even_low)
step_cost_high = _step_cost("high", "most", break_even_high)
_LOSES, _, _PAYS = SPEEDUP_BANDS
expected_speedup_low = _expected(
    "low", "least", step_cost_high, (Band("unsure", None, Status.NEUTRAL, "may lose"), _PAYS)
)
expected_speedup_high = _expected(
    "high", "most", step_cost_low, (_LOSES, Band("unsure", BREAK_EVEN, Status.NEUTRAL, "may pay"))
)
step_speedup = speedup_signal(
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
