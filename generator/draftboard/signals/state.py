"""Engines by what they are doing, and servers by whether they answer."""

from draftboard.expr.labels import CountValues, LabelReplace
from draftboard.expr.scope import Level
from draftboard.expr.tree import Expr, over_level
from draftboard.signals.decisions import STATES, state
from draftboard.signals.signal import Better, Code, Signal, Unit
from draftboard.status import Status

_counts: Expr = CountValues("state", state.at(Level.ENGINE))
for _code in STATES.codes:
    _counts = LabelReplace(_counts, "state", _code.says, "state", str(_code.value))

engines_by_state = Signal(
    name="engines_by_state",
    title="Engines by state",
    question="How many engines are doing what?",
    description="Number of engines in each speculation state.",
    unit=Unit.ENGINES,
    expr=_counts,
    record="vllm_spec_decode_engines:count_rate{window}",
    by=("state",),
    kinds=tuple((code.says, code.status) for code in STATES.codes),
    empty="no vLLM target is scraped",
    decimals=0,
)
target_up = Signal(
    name="target_up",
    title="Servers up",
    question="Can the server be reached?",
    description="1 if the target answered one of the last two scrapes or is new, else 0. Covers targets that exposed "
    "vLLM metrics lately or have a method label.",
    unit=Unit.CODE,
    better=Better.HIGHER,
    expr=over_level("min", state.at(Level.ENGINE).combined("> bool", STATES["down"].value)),
    record="vllm_up:bool",
    levels=(Level.TARGET,),
    codes=(STATES["down"], Code(1, "answers, or starts", Status.GOOD)),
    empty="no vLLM target is scraped",
)
