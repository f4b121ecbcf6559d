"""How long decode steps take at a load, and against the engine's own past at the same load.

Steps are alike where as many requests share them, and where these are as long: what a step attends to lengthens it, and
so do the prefills of long prompts.
"""

from draftboard.catalogue import probe
from draftboard.expr.nodes import (
    LEVEL,
    AtLeast,
    CountValues,
    Expr,
    Function,
    InWindow,
    OfOneMoment,
    constant,
    expr,
    first_of,
    on,
    rate,
)
from draftboard.expr.scope import Level
from draftboard.quantity import Setting
from draftboard.signals import capacity
from draftboard.signals.comparison import usual
from draftboard.signals.signal import Better, Signal, Unit, good_under
from draftboard.signals.traffic import BOTH_LEVELS, decode_steps, first_tokens, generation_tokens, step_seconds

LOAD = ("batch", "context")
"""Labels of a load: requests in a batch, rounded up to a power of two, and their tokens, to a power of four."""


def _rounded_up(figure: Expr, base: int) -> Expr:
    """To the next power of the base."""
    exponent = Function("log2", AtLeast(figure, 1))
    return expr(base).combined("^", Function("ceil", exponent if base == 2 else exponent.per(expr(2))))  # noqa: PLR2004


_OF_LEVEL = on(LEVEL, group="right")
_batches = CountValues("batch", _rounded_up(capacity.batch.expr, 2))
CONTEXT = first_of(
    OfOneMoment((capacity.prompt_tokens + generation_tokens * 0.5) / first_tokens), constant(1, capacity.batch.expr)
)
"""Prompt and half of the answer: what a decode step attends to in the mean. 1 where nobody counts them."""
_loads = CountValues("context", _rounded_up(CONTEXT, 4).combined("*", _batches, _OF_LEVEL), by=("batch",))


_enough_steps = InWindow(decode_steps) >= Setting("traffic.steps_to_judge")
step_time_by_batch = Signal(
    name="step_time_by_batch",
    title="Step latency by batch",
    question="How long does a step take at this batch?",
    description="Mean step latency by the mean number of running requests, rounded up to a power of two, and by their "
    "context (prompt and half of the answer), to a power of four.",
    action="Use it to see how steps lengthen as batches grow.",
    note="Shown with enough decode steps in the window.",
    unit=Unit.SECONDS,
    better=Better.LOWER,
    expr=OfOneMoment(step_seconds / decode_steps & _enough_steps).combined("*", _loads, _OF_LEVEL),
    record="vllm_inter_token_latency_seconds:mean_by_batch_rate{window}",
    levels=BOTH_LEVELS,
    by=LOAD,
    empty="not enough decode steps",
)
_pure_steps = rate(probe.DECODE_STEPS, ())
pure_step_time_by_batch = Signal(
    name="pure_step_time_by_batch",
    title="Pure decode step by batch",
    question="How long does a step without prefill take?",
    description="Mean time of pure decode steps by the mean number of running requests, rounded up to a power of two, "
    "and by their context (prompt and half of the answer), to a power of four.",
    action="Use it to see how decoding alone slows as batches grow.",
    note="Of servers with Draftboard's plugin for vLLM, with enough of these steps in the window.",
    unit=Unit.SECONDS,
    better=Better.LOWER,
    # The load is that of all steps: whoever has no plugin computes it once.
    expr=(
        rate(probe.DECODE_STEP_SECONDS, ()) / _pure_steps & (InWindow(_pure_steps) >= Setting("traffic.steps_to_judge"))
    ).combined("*", step_time_by_batch / step_time_by_batch, _OF_LEVEL),
    record="draftboard_spec_decode_step_seconds:mean_by_batch_rate{window}",
    by=LOAD,
    empty="no plugin, or not enough pure decode steps",
)
STEP_TIMES_BY_BATCH = (pure_step_time_by_batch, step_time_by_batch)
"""From the most exact: two servers compare by one of them, so both without prefills or both with them."""
step_time_change = Signal(
    name="step_time_change",
    title="Step latency vs. its own past",
    question="Has the engine become slow at the same batch?",
    description="Mean step latency / its mean over the engine's own past (rules.baseline, by default 1d) at "
    "batches of the same size and context.",
    action="If it is high, look at the GPU.",
    unit=Unit.TIMES_USUAL,
    better=Better.LOWER,
    # One series, whatever the batch: an alert must not wait anew when it changes.
    expr=(step_time_by_batch / usual(step_time_by_batch, Setting("traffic.evaluations_to_compare")))
    .max("batch")
    .max("context"),
    record="vllm_inter_token_latency_seconds:change{baseline}_by_batch_rate{window}",
    daily=True,
    levels=(Level.ENGINE,),
    bands=good_under(Setting("thresholds.slow_steps"), good="as-usual", beyond="slower-than-usual"),
    empty="too little history at this load, or not enough decode steps",
    decimals=2,
)
