"""How long decode steps take at a batch, and against the engine's own past at the same batch."""

from draftboard.catalogue import latency, probe
from draftboard.expr.nodes import InWindow, rate
from draftboard.expr.scope import Level
from draftboard.quantity import Setting
from draftboard.signals.capacity import by_batch
from draftboard.signals.comparison import usual
from draftboard.signals.signal import Better, Signal, Unit, good_under
from draftboard.signals.traffic import BOTH_LEVELS, decode_steps

_enough_steps = InWindow(decode_steps) >= Setting("traffic.steps_to_judge")
step_time_by_batch = Signal(
    name="step_time_by_batch",
    title="Step latency by batch",
    question="How long does a step take at this batch?",
    description="Mean step latency by the mean number of running requests, rounded up to a power of two.",
    action="Use it to see how steps lengthen as batches grow.",
    note="Shown with enough decode steps in the window.",
    unit=Unit.SECONDS,
    better=Better.LOWER,
    expr=by_batch(rate(latency.STEP_LATENCY.sum) / decode_steps & _enough_steps),
    record="vllm_inter_token_latency_seconds:mean_by_batch_rate{window}",
    levels=BOTH_LEVELS,
    by=("batch",),
    empty="not enough decode steps",
)
_pure_steps = rate(probe.DECODE_STEPS, ())
pure_step_time_by_batch = Signal(
    name="pure_step_time_by_batch",
    title="Pure decode step by batch",
    question="How long does a step without prefill take?",
    description="Mean time of pure decode steps by the mean number of running requests, rounded up to a power of two.",
    action="Use it to see how decoding alone slows as batches grow.",
    note="Of servers with Draftboard's plugin for vLLM, with enough of these steps in the window.",
    unit=Unit.SECONDS,
    better=Better.LOWER,
    expr=by_batch(
        rate(probe.DECODE_STEP_SECONDS, ()) / _pure_steps & (InWindow(_pure_steps) >= Setting("traffic.steps_to_judge"))
    ),
    record="draftboard_spec_decode_step_seconds:mean_by_batch_rate{window}",
    by=("batch",),
    empty="no plugin, or not enough pure decode steps",
)
STEP_TIMES_BY_BATCH = (pure_step_time_by_batch, step_time_by_batch)
"""From the most exact: two servers compare by one of them, so both without prefills or both with them."""
step_time_change = Signal(
    name="step_time_change",
    title="Step latency vs. its own past",
    question="Has the engine become slow at the same batch?",
    description="Mean step latency / its mean over the engine's own past (rules.baseline, by default 1d) at "
    "batches of the same size.",
    action="If it is high, look at the GPU, and at prompts: prefills lengthen steps.",
    unit=Unit.TIMES_USUAL,
    better=Better.LOWER,
    # One series, whatever the batch: an alert must not wait anew when it changes.
    expr=(step_time_by_batch / usual(step_time_by_batch, Setting("traffic.evaluations_to_compare"))).max("batch"),
    record="vllm_inter_token_latency_seconds:change{baseline}_by_batch_rate{window}",
    levels=(Level.ENGINE,),
    bands=good_under(Setting("thresholds.slow_steps"), good="as-usual", beyond="slower-than-usual"),
    empty="too little history at this batch, or not enough decode steps",
    decimals=2,
)
