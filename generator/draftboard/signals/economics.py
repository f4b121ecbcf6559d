"""Whether speculation pays, by how much, and what to change: cost, break-even, expected speedup, best k, advice."""

from typing import Literal

from draftboard.expr.promql import binary, constant, first_of, ignoring, number, reduce
from draftboard.settings import Settings
from draftboard.signals.acceptance import acceptance_length, draft_length
from draftboard.signals.comparison import acceptance_change
from draftboard.signals.depth import configured_k, each_k, first_position, last_position, tokens_per_step_at
from draftboard.signals.scope import Scope
from draftboard.signals.signal import Band, Better, Code, Signal, Unit
from draftboard.signals.traffic import drafts
from draftboard.status import Status

BREAK_EVEN = 1.0
"""Expected speedup at which speculation yields just what plain steps would have."""
_ASSUMPTION = "An estimate: it rests on the draft cost and verify inflation that the settings assume."


def _speedup_bands(settings: Settings) -> tuple[Band, ...]:
    return (
        Band("loses", None, Status.BAD, "costs more than it saves"),
        Band("even", BREAK_EVEN, Status.WARN, "about even"),
        Band("pays", settings.thresholds.pays_clearly, Status.GOOD),
    )


def _draft_cost(s: Scope) -> str:
    """The settings' cost for each model's method; methods of one cost share a branch."""
    costs = s.settings.draft_cost
    methods_by_cost: dict[float, list[str]] = {}
    for method, cost in sorted(costs.by_method.items()):
        methods_by_cost.setdefault(cost, []).append(method)
    label = s.settings.labels.spec_method
    known = [constant(cost, s.where(label, *methods)(drafts)) for cost, methods in sorted(methods_by_cost.items())]
    return first_of(*known, constant(costs.default, s(drafts)))


def _step_cost(drafted: str, cost: str, inflation: str, matching: str = "") -> str:
    """K * c + v."""
    return binary(binary(drafted, "*", cost, matching), "+", inflation)


def _assumed_inflation(s: Scope) -> str:
    return number(s.settings.draft_cost.verify_inflation)


def _speedup_at(s: Scope) -> str:
    cost = _step_cost(_drafted_at(s), s(draft_cost), _assumed_inflation(s), ignoring("k", group="left"))
    return binary(s(tokens_per_step_at), "/", cost)


def _what_if_speedup(s: Scope) -> str:
    return binary(s(tokens_per_step_at), "/", _step_cost(_drafted_at(s), s.draft_cost, s.verify_inflation))


def _drafted_at(s: Scope) -> str:
    """Tokens drafted a step with drafts of up to k: k, but no more than the mean draft has now.

    So the speedup at K is the expected speedup, for drafters too whose drafts are seldom full. For k below K that is
    an approximation where draft lengths vary: vLLM does not export their distribution.
    """
    shorter = binary(s(each_k), "<", s(draft_length), ignoring("k", group="left"))
    mean = binary(constant(0, s(each_k)), "+", s(draft_length), ignoring("k", group="left"))
    return first_of(shorter, mean)


def _best_k(s: Scope) -> str:
    """The k whose speedup is the highest; on ties the smallest, which drafts least."""
    best = binary(s(speedup_at), "==", s(best_speedup), ignoring("k", group="left"))
    return reduce("min", "k", binary(s(each_k), "and", best))


def tail_costs(s: Scope) -> str:
    """Models that mostly draft to K, whose last token yields less than it costs, and that a shorter k would speed up.

    The last does not follow from the others: drafts a little short of K pay for a part of the last token only.
    """
    full = binary(number(s.settings.thresholds.full_drafts), "*", s(configured_k))
    costs = binary(binary(s(draft_length), ">=", full), "and", _last_token(s, "<"))
    return binary(costs, "and", binary(s(best_k), "<", s(configured_k)))


def tail_pays(s: Scope) -> str:
    """Models whose last drafted token yields at least what it costs."""
    return _last_token(s, ">=")


def _last_token(s: Scope, operator: Literal["<", ">="]) -> str:
    """What the last drafted token yields against what it costs.

    With full drafts, K - 1 is expected to be faster than K exactly when survival of the last position < c x speedup
    at K; since survival never rises, some shorter k is then the best, and otherwise none is.
    """
    return binary(s(last_position), operator, binary(s(draft_cost), "*", s(expected_speedup)))


def with_a_drafter(s: Scope, signal: Signal) -> str:
    """The signal where the label names a method with a drafter: lookups have none that could be misaligned."""
    method = s.settings.labels.spec_method
    return s.where_not(method, "").where_not(method, *s.settings.methods.lookup)(signal)


def _advice(s: Scope) -> str:
    t = s.settings.thresholds
    hardly_reached = binary(s(last_position), "<", number(t.last_position_low))
    often_reached = binary(s(last_position), ">", number(t.last_position_high))
    loses = binary(s(expected_speedup), "<", number(BREAK_EVEN))
    conditions = {
        "workload": binary(s(acceptance_change), "<", number(t.drop)),
        "off": binary(s(best_speedup), "<", number(BREAK_EVEN)),
        "drafter": binary(with_a_drafter(s, first_position), "<", number(t.first_position)),
        "shorter": binary(first_of(hardly_reached, loses), "and", tail_costs(s)),
        "longer": binary(often_reached, "and", tail_pays(s)),
        "keep": s(expected_speedup),
    }
    return first_of(*(constant(ADVICE[name].value, condition) for name, condition in conditions.items()))


ADVICE = {
    "keep": Code(0, "keep", Status.GOOD),
    "longer": Code(1, "try a longer K", Status.ODD),
    "shorter": Code(2, "try a shorter K", Status.WARN),
    "drafter": Code(3, "look at the drafter", Status.WARN),
    "off": Code(4, "turn it off, or change the drafter", Status.BAD),
    "workload": Code(5, "look at what changed", Status.WARN),
}

draft_cost = Signal(
    name="draft_cost",
    title="Assumed draft cost",
    question="What is drafting assumed to cost?",
    description="c: time of drafting one token over one plain step of the target, as the settings assume for the "
    "method. A rule of thumb until you have measured yours.",
    unit=Unit.RATIO,
    expr=_draft_cost,
    record="vllm_spec_decode_draft_cost:ratio",
    empty="speculation is off",
)
break_even = Signal(
    name="break_even",
    title="Break-even length",
    question="How long must accepted drafts be to pay?",
    description="Mean draft length x c + v: the mean acceptance length at which a speculative step yields just what "
    f"plain steps would have in the same time. {_ASSUMPTION}",
    unit=Unit.TOKENS,
    expr=lambda s: _step_cost(s(draft_length), s(draft_cost), _assumed_inflation(s)),
    record="vllm_spec_decode_break_even:mean_rate{window}",
    decimals=2,
)
expected_speedup = Signal(
    name="expected_speedup",
    title="Expected speedup",
    question="Does speculation pay?",
    description="Mean acceptance length / break-even length: 1 is break-even. Of speculative steps alone. "
    f"{_ASSUMPTION} Only a baseline under the same load measures the real one.",
    unit=Unit.TIMES,
    better=Better.HIGHER,
    expr=lambda s: binary(s(acceptance_length), "/", s(break_even)),
    record="vllm_spec_decode_expected_speedup:ratio_rate{window}",
    bands=_speedup_bands,
    decimals=2,
)
verdict = Signal(
    name="verdict",
    title="Verdict",
    question="Is it paying off?",
    description="The expected speedup in words: costs more than it saves, about even, or pays. Heuristic: the bounds "
    f"are settings. {_ASSUMPTION}",
    unit=Unit.CODE,
    better=Better.HIGHER,
    expr=lambda s: s(expected_speedup),
    bands=_speedup_bands,
)
speedup_at = Signal(
    name="speedup_at",
    title="Expected speedup at each k",
    question="Which draft length would be fastest?",
    description="Tokens per step at k / (k x c + v), for each k up to K; k counts no more than the mean draft. "
    f"{_ASSUMPTION}",
    unit=Unit.TIMES,
    better=Better.HIGHER,
    expr=_speedup_at,
    record="vllm_spec_decode_speedup_at:ratio_rate{window}",
    by=("k",),
    bands=_speedup_bands,
    decimals=2,
)
best_speedup = Signal(
    name="best_speedup",
    title="Expected speedup at best k",
    question="What would the best k gain?",
    description=f"The highest of the expected speedups at each k. {_ASSUMPTION}",
    unit=Unit.TIMES,
    better=Better.HIGHER,
    expr=lambda s: reduce("max", "k", s(speedup_at)),
    record="vllm_spec_decode_best_speedup:ratio_rate{window}",
    bands=_speedup_bands,
    decimals=2,
)
best_k = Signal(
    name="best_k",
    title="Best k",
    question="How many tokens should be drafted?",
    description="The k of the highest expected speedup, the smallest on ties. Only lengths that are drafted can be "
    f"judged: equal to K it means K or more. {_ASSUMPTION}",
    unit=Unit.TOKENS,
    expr=_best_k,
    record="vllm_spec_decode_best_k:enum_rate{window}",
    decimals=0,
)
what_if_speedup = Signal(
    name="what_if_speedup",
    title="Speedup at each k, for the c and v chosen above",
    question="And if drafting cost more, or less?",
    description="Tokens per step at k / (k x c + v), with draft cost c and verify inflation v from the dashboard's "
    "variables, the same for all models.",
    unit=Unit.TIMES,
    better=Better.HIGHER,
    expr=_what_if_speedup,
    by=("k",),
    bands=_speedup_bands,
    decimals=2,
)
advice = Signal(
    name="advice",
    title="What to do",
    question="What should be changed?",
    description="The first that holds: acceptance dropped against before (look at workload and drafter, not at K); no "
    "k is expected to pay; a drafter misses the first position; the last drafted token costs more than it yields, the "
    "best k is shorter, and the last position is hardly reached or this K does not pay; the last position is often "
    "reached; else keep. Rules of thumb: they say where to look first.",
    unit=Unit.CODE,
    expr=_advice,
    record="vllm_spec_decode_advice:enum_rate{window}",
    codes=tuple(ADVICE.values()),
)

SIGNALS = (
    draft_cost,
    break_even,
    expected_speedup,
    verdict,
    speedup_at,
    best_speedup,
    best_k,
    what_if_speedup,
    advice,
)
