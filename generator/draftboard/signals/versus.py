"""One variant against another: what a step costs by batch beside the baseline's, and what its tokens cost."""

from dataclasses import replace

from draftboard.expr.nodes import AsRecorded, AtLeast, Evaluator, If, Parameter, constant, first_of, ignoring
from draftboard.quantity import Setting
from draftboard.signals import acceptance, capacity, costs, health, states, steps, traffic, users
from draftboard.signals.signal import Better, Code, Signal, Unit
from draftboard.signals.states import STATES
from draftboard.status import Status

ranked_speedup = replace(
    users.measured_speedup,
    name="ranked_speedup",
    title="Measured speedup, or none",
    question="Which drafting method is fastest?",
    description="The measured speedup of each variant, and none of a variant without a baseline at like load.",
    action="Take the variant whose low end is above the next one's high end.",
    # Grafana sorts no rows without a value.
    expr=first_of(users.measured_speedup, constant(0, health.health)),
    codes=(Code(0, "\N{EN DASH}", Status.QUIET),),
    record=None,
)
_MILLIONS_AN_HOUR = 0.0036  # Of one a second.
_EACH_VARIANT = ignoring("batch", group="left")
_DAYS = "Means of rules.baseline_steps (by default 3d), so that variants compare whose batches differed in time."


_by_days = first_of(
    *(costs.against_baseline(step_time, costs.remembered(step_time)) for step_time in steps.STEP_TIMES_BY_BATCH)
)


step_cost_by_batch = Signal(
    name="step_cost_by_batch",
    title="Measured step cost by batch",
    question="How much longer does a step take than the baseline's, at each batch?",
    description="Mean step latency / that of the model's baseline, at each batch size that both had: the tokens per "
    "step at which the load breaks even.",
    action="Draft less at the batches where the cost is above tokens per decode step.",
    note=f"{_DAYS} Of pure decode steps where both run Draftboard's plugin for vLLM.",
    unit=Unit.STEPS,
    better=Better.LOWER,
    # A single evaluation cannot compute days of a past.
    expr=If(Evaluator.ONCE, AsRecorded(_by_days), _by_days),
    by=("batch",),
    empty="no baseline of this model had batches of a size that its other servers had",
    decimals=2,
)
verify_inflation_by_batch = Signal(
    name="verify_inflation_by_batch",
    title="Verify inflation by batch",
    question="What does a verify step cost at each batch?",
    description="v at each batch: (measured step cost - share of steps without a draft) / coverage - draft length x c, "
    "with the current coverage and draft length.",
    action="Set draft_cost.verify_inflation by batch to it, or run draftboard calibrate.",
    note=f"{_DAYS} Step time alone does not separate c and v.",
    unit=Unit.STEPS,
    better=Better.LOWER,
    expr=AtLeast(step_cost_by_batch, 1)
    .combined("-", costs.plain_share, _EACH_VARIANT)
    .ratio(acceptance.coverage, _EACH_VARIANT)
    .combined("-", acceptance.draft_length * costs.draft_cost, _EACH_VARIANT),
    by=("batch",),
    empty=step_cost_by_batch.empty,
    decimals=2,
)


_recorded = states.engines_by_state.where(
    "state", *(STATES[row].says for row in ("drafting", "not drafting", "idle", "off"))
).sum("state")
_answering = If(Evaluator.RECORDS, _recorded, capacity.engines)
tokens_per_engine = Signal(
    name="tokens_per_engine",
    title="Generated tokens per engine",
    short="Tokens/s, engine",
    question="How much does each engine of a variant generate?",
    description="Generated tokens per second / engines that answer.",
    action="Compare at like load: throughput depends on the clients.",
    unit=Unit.TOKENS_PER_SECOND,
    expr=traffic.generation_tokens / _answering,
)
cost_of_tokens = Signal(
    name="cost_of_tokens",
    title="Cost of a million tokens",
    short="1M tokens",
    question="What do a million generated tokens cost?",
    description="Price of an engine's hour, a variable of the page, / tokens that an engine generates in an hour.",
    action="Compare variants at like load: an idle engine costs as much as a busy one.",
    note="At the current throughput; the price covers all GPUs of one engine.",
    unit=Unit.PRICE,
    better=Better.LOWER,
    expr=Parameter("price", Setting("cost.price_per_engine_hour")) / (tokens_per_engine * _MILLIONS_AN_HOUR),
    empty="nothing is generated",
    decimals=2,
)
