"""Whether speculation pays and by how much: cost, break-even, expected speedup, best k."""

from functools import partial
from typing import Literal

from draftboard.expr.scope import Scope
from draftboard.expr.tree import Expr, FirstOf, Given, Where, constant, first_of, ignoring, setting
from draftboard.settings import Settings
from draftboard.signals.acceptance import acceptance_length, draft_length
from draftboard.signals.depth import configured_k, each_k, last_position, tokens_per_step_at
from draftboard.signals.signal import Band, Better, Signal, Unit
from draftboard.signals.traffic import drafts
from draftboard.status import Status

BREAK_EVEN = 1.0  # Expected speedup at which speculation yields just what plain steps would have.
ASSUMPTION = "An estimate: it rests on the draft cost and verify inflation that the settings assume."


def speedup_bands(settings: Settings) -> tuple[Band, ...]:
    """What an expected speedup means."""
    return (
        Band("loses", None, Status.BAD, "costs more than it saves"),
        Band("even", BREAK_EVEN, Status.WARN, "about even"),
        Band("pays", settings.thresholds.pays_clearly, Status.GOOD),
    )


_speedup = partial(Signal, unit=Unit.TIMES, better=Better.HIGHER, bands=speedup_bands, decimals=2)


def _method(settings: Settings) -> str:
    return settings.labels.spec_method


def _draft_cost(s: Scope) -> Expr:
    """The settings' cost for each model's method; methods of one cost share a branch."""
    costs = s.settings.draft_cost
    methods_by_cost: dict[float, list[str]] = {}
    for method, cost in sorted(costs.by_method.items()):
        methods_by_cost.setdefault(cost, []).append(method)
    known = [constant(cost, drafts.where(_method, *methods)) for cost, methods in sorted(methods_by_cost.items())]
    return FirstOf((*known, constant(costs.default, drafts)))


_each_model = ignoring("k", group="left")  # One number of a model for all its k.
# The speedup at K is the expected speedup, for drafters too whose drafts are seldom full. For k below K that is an
# approximation where draft lengths vary: vLLM does not export their distribution.
_drafted_at = first_of(
    each_k.combined("<", draft_length, _each_model), constant(0, each_k).combined("+", draft_length, _each_model)
)
"""Tokens drafted a step with drafts of up to k: k, but no more than the mean draft has now."""
_inflation = setting(lambda settings: settings.draft_cost.verify_inflation)
_what_if_cost = setting(lambda settings: settings.draft_cost.default, variable="draft_cost")
_what_if_inflation = setting(lambda settings: settings.draft_cost.verify_inflation, variable="verify_inflation")


def with_a_drafter(signal: Signal) -> Expr:
    """The signal where the label names a method with a drafter: lookups have none that could be misaligned."""
    others = Where(signal, _method, lambda settings: settings.methods.lookup, negated=True)
    return Where(others, _method, lambda _: ("",), negated=True)


draft_cost = Signal(
    name="draft_cost",
    title="Assumed draft cost",
    question="What is drafting assumed to cost?",
    description="c: time of drafting one token / one plain step of the target, as the settings assume for the "
    "method. A rule of thumb until you measure it.",
    expr=Given(_draft_cost),
    record="vllm_spec_decode_draft_cost:ratio",
    empty="speculation is off",
)
break_even = Signal(
    name="break_even",
    title="Break-even length",
    question="Which acceptance length pays?",
    description="Mean draft length x c + v: the mean acceptance length at which a speculative step yields just what "
    f"plain steps would have in the same time. {ASSUMPTION}",
    unit=Unit.TOKENS,
    expr=draft_length * draft_cost + _inflation,
    record="vllm_spec_decode_break_even:mean_rate{window}",
    decimals=2,
)
expected_speedup = _speedup(
    name="expected_speedup",
    title="Expected speedup",
    question="Does speculation pay?",
    description="Mean acceptance length / break-even length: 1 is break-even. Of speculative steps alone. "
    f"{ASSUMPTION} Only a baseline under the same load measures the real one.",
    expr=acceptance_length.per(break_even),
    record="vllm_spec_decode_expected_speedup:ratio_rate{window}",
)
speedup_at = _speedup(
    name="speedup_at",
    title="Expected speedup at each k",
    question="Which draft length would be fastest?",
    description="Tokens per step at k / (k x c + v), for each k up to K; k counts no more than the mean draft. "
    f"{ASSUMPTION}",
    expr=tokens_per_step_at.per(_drafted_at.combined("*", draft_cost, _each_model) + _inflation),
    record="vllm_spec_decode_speedup_at:ratio_rate{window}",
    by=("k",),
)
best_speedup = _speedup(
    name="best_speedup",
    title="Expected speedup at best k",
    question="What would the best k gain?",
    description=f"The highest of the expected speedups at each k. {ASSUMPTION}",
    expr=speedup_at.max("k"),
    record="vllm_spec_decode_best_speedup:ratio_rate{window}",
)
best_k = Signal(
    name="best_k",
    title="Best k",
    question="How many tokens should be drafted?",
    description="The k of the highest expected speedup, the smallest on ties. Only lengths that are drafted can be "
    f"judged: equal to K it means K or more. {ASSUMPTION}",
    unit=Unit.TOKENS,
    # On ties the smallest, which drafts least.
    expr=(each_k & speedup_at.equals(best_speedup, _each_model)).min("k"),
    record="vllm_spec_decode_best_k:enum_rate{window}",
    decimals=0,
)
what_if_speedup = _speedup(
    name="what_if_speedup",
    title="Speedup at each k for the chosen c and v",
    question="What if drafting cost more or less?",
    description="Tokens per step at k / (k x c + v), with draft cost c and verify inflation v from the variables of "
    "the dashboard, the same for all models.",
    expr=tokens_per_step_at.per(_drafted_at * _what_if_cost + _what_if_inflation),
    by=("k",),
)


def last_token(how: Literal["<", ">="]) -> Expr:
    """Where the last drafted token yields less than it costs, or at least that.

    With full drafts, K - 1 is expected to be faster than K exactly when survival of the last position < c x speedup
    at K; since survival never rises, some shorter k is then the best, and otherwise none is.
    """
    return last_position.combined(how, draft_cost * expected_speedup)


_full = draft_length >= setting(lambda settings: settings.thresholds.full_drafts) * configured_k
# The last condition does not follow from the others: drafts a little short of K pay for a part of the last token only.
tail_costs = (_full & last_token("<")) & (best_k < configured_k)
"""Models that mostly draft to K, whose last token yields less than it costs, and that a shorter k would speed up."""
tail_pays = last_token(">=")  # Models whose last drafted token yields at least what it costs.
