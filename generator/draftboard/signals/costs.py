"""What a step costs, in plain decode steps of the target: measured against a baseline, else as the settings say.

Where they say nothing, it is a range, of published measurements: its cheap and its dear end.
"""

from dataclasses import dataclass, replace

from draftboard.catalogue import latency, probe, serving
from draftboard.evidence import LONG_PROMPT
from draftboard.expr.nodes import (
    Aggregate,
    AsRecorded,
    AtLeast,
    Before,
    ByLabel,
    Evaluator,
    Expr,
    If,
    Interpolated,
    IsSet,
    Match,
    Not,
    OverTime,
    Raw,
    Ref,
    constant,
    expr,
    first_of,
    on,
    over_level,
    rate,
)
from draftboard.quantity import RATE_WINDOW, Setting
from draftboard.signals import capacity
from draftboard.signals.acceptance import coverage, draft_length
from draftboard.signals.baseline import METHOD, MODEL, of_baseline, of_speculating
from draftboard.signals.presence import latest
from draftboard.signals.signal import Better, Code, Signal, Unit
from draftboard.signals.steps import LOAD, STEP_TIMES_BY_BATCH
from draftboard.signals.traffic import decode_steps, drafts, first_tokens
from draftboard.status import Status

intensity = Signal(
    name="intensity",
    title="Operations per byte",
    question="Does memory bound the steps?",
    description="Floating point operations / bytes read and written, by vLLM's own estimate: of all steps, prefills "
    "included.",
    action="Where it is far below what the card can do for each byte, verifying more tokens moves hardly more bytes.",
    note="Only with --enable-mfu-metrics. The drafter is not in it, nor more than one token's logits of a draft.",
    unit=Unit.OPERATIONS_PER_BYTE,
    expr=rate(serving.ESTIMATED_OPERATIONS) / (rate(serving.ESTIMATED_READS) + rate(serving.ESTIMATED_WRITES)) > 0,
    empty="vLLM estimates nothing, or idle",
    decimals=1,
)
_IS_CURVE = IsSet("draft_cost.inflation_is_curve")

draft_cost = Signal(
    name="draft_cost",
    title="Assumed draft cost",
    short="Draft cost c",
    question="What is drafting assumed to cost?",
    description="c: time of drafting one token / one plain step of the target, as the settings say for the method.",
    action="Measure it, and set draft_cost.by_method.",
    note="A rule of thumb until you measure it.",
    expr=ByLabel(Setting("draft_cost.by_method"), Setting("draft_cost.default"), METHOD, drafts),
    empty="speculation is off",
)
_running = capacity.batch.expr
_API_SERVERS = 1.75
"""Running requests over those in a step, from which on several API servers count the steps of one engine, each."""
_in_a_step = decode_steps / rate(latency.STEP_TOKENS.count)
decode_batch = Signal(
    name="decode_batch",
    title="Batch of a decode step",
    question="How many requests share a decode step?",
    description="Decode steps of all requests / steps of the engines, or the mean number of running requests per "
    "engine where that is far larger.",
    action="Compare it with the batches at which costs were measured.",
    note="Far larger is 1.75 times: several API servers count the steps of one engine. Less is chance, as few scrapes "
    "see the running requests.",
    unit=Unit.REQUESTS,
    expr=first_of(_running > _in_a_step * _API_SERVERS, _in_a_step, _running),
    record="vllm_decode_batch:mean_rate{window}",
    empty="idle",
    decimals=1,
)
batch_to_baseline = Signal(
    name="batch_to_baseline",
    title="Batch of a decode step vs. the baseline",
    question="Do as many requests share a step as on the baseline?",
    description="Batch of a decode step / that of the model's servers without speculation, whichever engines they are "
    "on.",
    action="Where it is far from 1 at equal requests, spread them as evenly over the engines of both.",
    unit=Unit.TIMES,
    expr=of_speculating(decode_batch).ratio(
        Aggregate("avg", MODEL, of_baseline(decode_batch)), on(*MODEL, group="left")
    ),
    empty="no baseline of this model, or idle",
    decimals=2,
)
plain_share = AtLeast(1 - coverage, 0)
"""Share of decode steps without a draft. None where drafts outnumber steps: aborted requests leave such drafts."""


KEEPS_A_PAST = Not(Evaluator.RAW_PANEL)
"""Whether a baseline's past is known: records keep it, and panels of raw series would take days to compute it."""
_MODEL_AT_LOAD = (*MODEL, *LOAD)


def remembered(step_time: Signal) -> Expr:
    """Its mean over days, at each load that a variant had, by windows that follow one another."""
    return OverTime("avg_over_time", step_time, Setting("rules.baseline_steps"), pace=RATE_WINDOW)


_NAME_OF_DAYS = "baseline_{}"


def _of_days(step_time: Signal) -> Signal:
    """Of a baseline what its steps took over days, as a record: they are read once in a while, and not every minute."""
    return replace(
        step_time,
        name=_NAME_OF_DAYS.format(step_time.name),
        title=f"{step_time.title}, of the baseline's days",
        short="",
        question=step_time.question.replace("?", " on the baseline?"),
        description=f"{step_time.title}, in the mean of rules.baseline_steps (by default 3d), of the baseline.",
        action="Use it as what a step costs without speculation.",
        note="",
        expr=of_baseline(remembered(step_time)),
        record=(step_time.record or "").replace(":mean_", ":avg{baseline_steps}_mean_"),
        daily=True,
        levels=step_time.levels[-1:],
    )


def against_baseline(figure: Expr, plain: Expr) -> Expr:
    """A figure of variants that speculate, over that of their model's baseline at the same load."""
    of_model = Aggregate("avg", _MODEL_AT_LOAD, of_baseline(plain))
    return of_speculating(figure).ratio(of_model, on(*_MODEL_AT_LOAD, group="left"))


def _now(step_time: Signal) -> Expr:
    """Against what the baseline's steps take now, at loads that it has now; else what they took."""
    now = latest(step_time)
    # Evaluated behind it: what rests on it would be of two moments.
    then = Before(Ref(_NAME_OF_DAYS.format(step_time.name)), RATE_WINDOW * 2)
    return against_baseline(now, first_of(now, then))


# One series, whatever the load, as all other figures of a model.
_step_cost = first_of(*map(_now, STEP_TIMES_BY_BATCH)).max("batch").max("context")
step_cost = Signal(
    name="step_cost",
    title="Measured step cost",
    question="How much longer does a step take than without speculation?",
    description="Mean step latency / that of the model's baseline at this load, now or within rules.baseline_steps (by "
    "default 3d): the tokens per step at which the load breaks even.",
    action="Compare with tokens per decode step: below it, shorten K.",
    note="In plain steps, over all decode steps. Load: running requests per engine, rounded up to a power of two, and "
    "their context, to a power of four. Pure decode steps where both run Draftboard's plugin for vLLM; otherwise "
    "prefills lengthen steps on both sides.",
    unit=Unit.STEPS,
    better=Better.LOWER,
    # A single evaluation cannot compute days of a past.
    expr=If(Evaluator.ONCE, AsRecorded(Ref("step_cost")), _step_cost),
    record="vllm_step_cost:ratio_rate{window}",
    empty="no baseline of this model had this load",
    decimals=2,
)
BASELINE_STEP_TIMES = {one.name: _of_days(one) for one in STEP_TIMES_BY_BATCH}
"""Of a model's baseline over days, by the signal of what its steps take now."""


_highest = constant(Setting("draft_cost.highest_inflation"), drafts)
_at_batch = Interpolated(decode_batch, Setting("draft_cost.inflation_by_batch")) + drafts * 0
# The highest where the batch is unknown, so that no verdict is too good.
_by_settings = If(_IS_CURVE, first_of(_at_batch, _highest), _highest)
# At least a plain step, within rounding: where a step takes clearly less, there is no verdict (`verdicts`).
_measured = (AtLeast(step_cost, 1) - plain_share) / coverage - draft_length * draft_cost
verify_inflation = Signal(
    name="verify_inflation",
    title="Verify inflation",
    short="Verify v",
    question="What does a verify step cost?",
    description="v: time of a verify step / one plain step, measured where the model's baseline had this batch size, "
    "otherwise from the settings.",
    action="Run a baseline to measure it, or set draft_cost.verify_inflation by batch.",
    note="Measured: (step cost - share of steps without a draft) / coverage - mean draft length x c. Step time alone "
    "does not separate c and v: if c is too high, this v falls below 1, but their sum stays right.",
    unit=Unit.STEPS,
    better=Better.LOWER,
    expr=If(KEEPS_A_PAST, first_of(_measured, _by_settings), _by_settings),
    empty="speculation is off",
    decimals=2,
)


pipelined = Signal(
    name="pipelined",
    title="Pipeline parallelism",
    question="Do stages of a pipeline share a step?",
    description="1 where an engine has several stages of a pipeline, as vLLM resolved its configuration at start.",
    action="Run a baseline: published costs of such servers are few, and high.",
    note="Only engines with Draftboard's plugin for vLLM.",
    unit=Unit.CODE,
    expr=over_level("max", Raw(probe.INFO, matchers=(Match(probe.STAGES, "!~", "|1"),))),
    codes=(Code(1, "pipeline", Status.ODD),),
    empty="no pipeline, or no server has the plugin for vLLM",
)
_unlike = first_of(capacity.prompt_tokens / first_tokens > LONG_PROMPT, pipelined)
"""Where servers are no example of most published measurements."""
ASSUMED = IsSet("draft_cost.is_assumed")
"""Where no cost is set: then it is a range."""


@dataclass(frozen=True)
class Case:
    """An end of what a step may cost; where costs are set, both are what the settings say."""

    token: Signal
    """Of each drafted token, drafting and verifying it."""
    base: Signal
    """Of a step with a draft, without its drafted tokens."""


def _case(end: str, name: str, extreme: str, *, widened: bool) -> Case:
    """The end of that name in the settings, `widened` where servers are unlike; `name` is `low` or `high`."""

    def of(part: str) -> Setting:
        return Setting(f"draft_cost.{end}.{part}")

    def by_method(part: str) -> Expr:
        return ByLabel(of(part), of(f"other_{part}"), METHOD, drafts)

    known = AtLeast(decode_batch > 0, 1)
    batch = first_of(known, constant(of("batch"), drafts)) <= Setting("draft_cost.largest_batch")
    # One more token in a step of so many, by the law of published measurements: batch / (knee + batch).
    verifying = expr(1).per(expr(of("knee")).per(batch) + 1)

    def in_all(parts: Expr) -> Expr:
        return parts * first_of(constant(of("unlike"), _unlike), constant(1, drafts)) if widened else parts

    token = Signal(
        name=f"token_cost_{name}",
        title=f"Cost of a drafted token, at {extreme}",
        short=f"Token cost, {extreme}",
        question=f"What does each drafted token cost at {extreme}?",
        description=f"Time of drafting and verifying one more token / one plain step, at {extreme}: from published "
        "measurements of the method at this batch, or c of the settings.",
        action="Run a baseline to measure it.",
        note="One server in five is outside of both ends. An unknown batch widens them; none in a larger batch than "
        "any that was measured.",
        unit=Unit.STEPS,
        better=Better.LOWER,
        expr=If(ASSUMED, in_all(verifying + by_method("token")), draft_cost),
        record=f"vllm_spec_decode_token_cost_{name}:ratio_rate{{window}}",
        empty="no requests, speculation off, or a batch larger than any that was measured",
        decimals=3,
    )
    measured = (AtLeast(step_cost, 1) - plain_share) / coverage - draft_length * token
    assumed = in_all(by_method("draft") + by_method("step") / coverage + 1)
    base = Signal(
        name=f"base_cost_{name}",
        title=f"Cost of a step besides its drafted tokens, at {extreme}",
        short=f"Base cost, {extreme}",
        question=f"What does a step with a draft cost at {extreme}, however short the draft is?",
        description=f"A plain step, and what a draft adds whatever its length, at {extreme}: from published "
        "measurements of the method, the rest of a measured step cost, or v of the settings.",
        action="Run a baseline to measure it.",
        unit=Unit.STEPS,
        better=Better.LOWER,
        expr=If(ASSUMED, If(KEEPS_A_PAST, first_of(measured, assumed), assumed), verify_inflation),
        record=f"vllm_spec_decode_base_cost_{name}:ratio_rate{{window}}",
        empty="speculation is off",
        decimals=2,
    )
    return Case(token, base)


CHEAP, DEAR = _case("cheap", "low", "least", widened=False), _case("dear", "high", "most", widened=True)
token_cost_low, base_cost_low = CHEAP.token, CHEAP.base
token_cost_high, base_cost_high = DEAR.token, DEAR.base
