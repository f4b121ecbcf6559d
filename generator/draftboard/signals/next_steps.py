"""What to do first about each model: about its servers, its users or its counters, and else about K."""

from dataclasses import replace
from functools import reduce

from draftboard.expr.nodes import (
    LEVEL,
    Carrying,
    CountValues,
    Evaluator,
    Expr,
    If,
    InWindow,
    constant,
    expr,
    first_of,
    ignoring,
    labelled,
    over_level,
)
from draftboard.expr.scope import Level
from draftboard.signals import advice, capacity, causes, drafting, gains, health, traffic, users
from draftboard.signals.advice import ADVICE
from draftboard.signals.health import HEALTH
from draftboard.signals.signal import Code, Signal, Unit
from draftboard.status import Status

_HEALTH = health.health.at(Level.MODEL)
_ABOVE_ADVICE = 20
"""What is added to the code of a health that says by itself what to do: codes of advice are lower."""
_ADVISED = ("costs more", "warning", "about even")
"""What is wrong, and has its advice from the figures of speculation where these give one."""
_URGENT = reduce(lambda found, row: found.combined("!=", HEALTH[row].value), _ADVISED, HEALTH["pays"].value > _HEALTH)
_SAYS = {
    "gone": "bring it back",
    "down": "restart it",
    "servers down": "restart what is down",
    "stuck": "restart stuck",
    "requests fail": "read its logs",
    "users wait": "add engines",
    "critical": "open runbook",
    "costs more": "roll back or turn off",
    "no drafter": "restore drafter",
    "warning": "open runbook",
    "not drafting": "check K, method",
    "unclear": "run draftboard doctor",
    "silent": "run draftboard doctor",
}
_BRIEFLY = {
    "slower": "turn it off",
    "off": "turn it off",
    "adaptive": "none: adaptive",
    "workload": "what changed?",
    "unfit": "change drafter",
    "drafter": "check drafter",
    "even": "measure at peak",
    "measure": "run a baseline",
}
"""Advice whose words are longer than a cell of a table on a phone, or no step."""
_ADVICE = tuple(
    replace(choice.code, says=_BRIEFLY.get(row, choice.code.says)) for row, choice in ADVICE.choices.items()
)
_STEPS = tuple(Code(HEALTH[row].value + _ABOVE_ADVICE, says, HEALTH[row].status) for row, says in _SAYS.items())
RESTART = next(code for code in _STEPS if code.says == _SAYS["servers down"])
TOGETHER = Code(41, "check node, network", HEALTH["servers down"].status)
"""Of servers that fell at one time: what they share, as a restart of each would not mend it."""
_LIMITED = Code(42, "raise max_num_seqs", HEALTH["users wait"].status)
"""Where requests wait for a place in the batch, and not for memory."""
_UNLABELLED = Code(43, "label its method", Status.ODD)
_fell = over_level("group", causes.health_cause.where("why", f".+{causes.AT_ONCE}"))
_more = (
    If(Evaluator.RECORDS, constant(TOGETHER.value, _fell)),
    constant(_LIMITED.value, HEALTH.any_of(_HEALTH, "users wait") & capacity.room_in_kv_cache),
    constant(_UNLABELLED.value, causes.unlabelled),
)
_mends = HEALTH.any_of(_HEALTH, "costs more") & ADVICE.any_of(advice.advice, "workload")
"""Where what changed costs more than it saves: what ends that comes before what explains it."""
next_step = Signal(
    name="next_step",
    title="Next step",
    question="What should be done first?",
    description="What to do about the servers, the users or the counters; else the advice on K.",
    action="Take it as the start of a search.",
    unit=Unit.CODE,
    expr=first_of(
        *(*_more, *(part + _ABOVE_ADVICE for part in (_URGENT, _mends))),
        *(advice.advice + 0, HEALTH.any_of(_HEALTH, "warning") + _ABOVE_ADVICE),
    ),
    record="vllm_health:next_step",
    codes=(*_ADVICE, *_STEPS, TOGETHER, _LIMITED, _UNLABELLED),
    empty="no verdict",
)
urgent = next_step >= _ABOVE_ADVICE
"""What comes before any advice on K: of servers, users and counters."""


def _gain(row: str, next_k: Expr, gain: Expr) -> Expr:
    """The gain of a K, which stands in a label, where it is advised."""
    where_advised = gain & ADVICE.any_of(advice.advice, row)
    return CountValues("next_k", next_k).combined("*", where_advised, ignoring("next_k", group="left"))


_advised = first_of(
    *(
        _gain("shorter", gains.fastest_k, gains.shorter_gain),
        _gain("longer", drafting.configured_k + 1, gains.longer_gain),
    ),
    labelled(expr(1).per(users.measured_speedup) & ADVICE.any_of(advice.advice, "slower"), "next_k", "off"),
)
next_gain = Signal(
    name="next_gain",
    title="Gain of the K to try",
    question="What would another K gain?",
    description="Expected speedup at the K to try over that of now, less 1, where another K is advised; where users "
    "wait longer than on the baseline, what is measured without drafts.",
    action="Try another K on one server; where users still wait longer, turn speculation off.",
    note="At least, whatever a step costs. Of a shorter K a lower bound, of a longer one extrapolated. The labels k "
    "and next_k are the K of now and the K to try, or off.",
    unit=Unit.RATIO,
    expr=Carrying(_advised - 1, "k", CountValues("k", drafting.configured_k), (LEVEL,)),
    by=("k", "next_k"),
    record="vllm_spec_decode_next_gain:ratio_rate{window}",
    empty="no other K is advised",
    decimals=0,
)
advice_since = health.since(advice.advice, "vllm_spec_decode_advice:since")
_HALF = 0.5
ONLY_GAINS = health.WELL - _HALF / 2
"""Ranks above it and below those that are well are of models that need nobody, and of which another K gains."""
_tokens = InWindow(traffic.generation_tokens)  # A number, so that counts without a time give as good an order.
_busy = expr(1).per(1 + _tokens)
_gained = expr(1).per(1 + over_level("max", next_gain) * _tokens)
rank = Signal(
    name="rank",
    title="Rank by need",
    question="Which model comes first?",
    description="The lowest comes first: by health, of equals the busiest; of those that need nobody first what lacks "
    "the label of its method, then the one of which another K makes most tokens faster.",
    action="Start with the first.",
    unit=Unit.CODE,
    expr=first_of(
        (ONLY_GAINS - _HALF / 2 * (1 - _busy)) & causes.unlabelled,
        (ONLY_GAINS + _HALF / 4 * _gained) & (_HEALTH >= health.WELL),
        _HEALTH + _HALF * _busy,
        _HEALTH + _HALF,
    ),
    record="vllm_health:rank",
    empty=health.health.empty,
)
