"""One variant against another: what a step costs by batch beside the baseline's, and what its tokens cost."""

from dataclasses import replace

from draftboard.expr.nodes import (
    Aggregate,
    AsRecorded,
    AtLeast,
    Evaluator,
    Function,
    If,
    InWindow,
    Parameter,
    constant,
    expr,
    first_of,
    ignoring,
    on,
)
from draftboard.expr.scope import Level
from draftboard.quantity import Setting
from draftboard.signals import capacity, costs, economics, health, requests, states, steps, traffic, users
from draftboard.signals.alike import CHANCE
from draftboard.signals.baseline import METHOD
from draftboard.signals.signal import NO_BANDS, Better, Code, Signal, Unit, good_from, good_under
from draftboard.signals.states import STATES
from draftboard.status import Status

_baseline = traffic.generation_tokens.where(METHOD, Setting("methods.baseline"))
ranked_speedup = replace(
    users.measured_speedup,
    name="ranked_speedup",
    title="Measured speedup beside the baseline",
    question="Which drafting method is fastest?",
    description="The measured speedup of each variant; 1 of the baseline, none of a variant without one at like load.",
    action="Take the variant whose low end is above the next one's high end.",
    # Grafana sorts no rows without a value.
    expr=first_of(users.measured_speedup + 0, constant(1, _baseline), constant(0, health.health)),
    codes=(Code(0, "\N{EN DASH}", Status.QUIET), Code(1, "baseline", Status.QUIET)),
    record=None,
)
speedup_over_time = replace(
    ranked_speedup,
    name="speedup_over_time",
    title="Measured speedup over time",
    question="Has the measured speedup been steady?",
    description="The measured speedup of the variants; the baseline is 1.",
    # A line breaks off where nothing is measured; at 0 it would read as a loss.
    expr=first_of(users.measured_speedup + 0, constant(1, _baseline)),
    codes=(Code(1, "baseline", Status.QUIET),),
)
_best = Aggregate("max", (), users.measured_speedup.at(Level.MODEL))
_of_best = users.measured_speedup.at(Level.MODEL).combined(">=", _best, on(group="left"))
best_variant = replace(
    users.measured_speedup,
    name="best_variant",
    title="Best variant by measured speedup",
    short="",
    question="Which variant is best?",
    description="The variant with the highest measured speedup, and its 95 % interval.",
    action="Take it if the next panels say that this is certain and the load alike.",
    expr=_of_best,
    record=None,
)


def _of(end: Signal, short: str, which: str) -> Signal:
    """An end of the interval of the best variant."""
    return replace(
        end,
        name=f"best_{end.name}",
        title=f"Best variant, {which} end",
        short=short,
        question=f"What is the {which} end of the best variant's interval?",
        description=f"The {which} end of the 95 % interval of the best variant's measured speedup.",
        expr=Aggregate("max", (), end.at(Level.MODEL) & _of_best),
        record=None,
        levels=(Level.FLEET,),
    )


best_low = _of(users.speedup_low, "at least (95 %)", "low")
best_high = _of(users.speedup_high, "at most", "high")
_others = users.measured_speedup.at(Level.MODEL).combined("<", _best, on(group="left"))
lead = replace(
    best_variant,
    name="lead",
    title="Lead over the next variant",
    short="times as fast",
    question="Is it certain which variant is best?",
    description="Measured speedup of the best variant / that of the next; at least: the low end of the one's 95 % "
    "interval / the high end of the other's.",
    action="If they are not apart, measure longer.",
    expr=_best.per(Aggregate("max", (), _others)),
    bands=NO_BANDS,
    levels=(Level.FLEET,),
    decimals=2,
)
_next_high = Aggregate("max", (), users.speedup_high.at(Level.MODEL) & _others)
lead_low = replace(
    lead,
    name="lead_low",
    title="Lead over the next variant, at least",
    short="at least (95 %)",
    question="How far is the best variant ahead at least?",
    description="Low end of the best variant's 95 % interval / high end of the next one's.",
    expr=best_low.expr.per(_next_high),
    bands=good_from(1, good="ahead", under="not-certain"),
)
_recorded = states.engines_by_state.where(
    "state", *(STATES[row].says for row in ("drafting", "not drafting", "idle", "off"))
).sum("state")
_answering = If(Evaluator.RECORDS, _recorded, capacity.engines)
_rate = (requests.request_rate / _answering).at(Level.MODEL)
_few = InWindow(requests.request_rate.at(Level.MODEL))
_by_chance = Function("exp", CHANCE * Function("sqrt", expr(2).per(Aggregate("min", (), _few))))
_spread = AtLeast(Aggregate("max", (), _rate) / Aggregate("min", (), _rate) / _by_chance, 1) - 1
load_spread = Signal(
    name="load_spread",
    title="Spread of the load beyond chance",
    short="requests/s apart",
    question="Is the load of the variants alike?",
    description="Requests per second and engine: the busiest variant over the least busy one, less what chance "
    "makes of so few requests; and how many wait.",
    action="The intervals hold, each at its baseline's load; where yellow, part of a small lead may be load.",
    unit=Unit.RATIO,
    better=Better.LOWER,
    expr=_spread,
    bands=good_under(Setting("thresholds.load"), good="alike", beyond="unlike"),
    levels=(Level.FLEET,),
    empty="nothing is requested",
    decimals=0,
)
expected = replace(
    economics.expected_speedup_low,
    name="expected",
    title="Expected speedup by costs",
    short="Expected, x",
    question="How much is speculation expected to gain?",
    description="Expected speedup of each variant, from the highest to the lowest costs; one number where they are "
    "measured or set.",
    expr=economics.expected_speedup_low + 0,
    bands=NO_BANDS,
    record=None,
)
intervals_apart = Signal(
    name="intervals_apart",
    title="Intervals apart",
    short="intervals apart",
    question="Do the intervals of the best two overlap?",
    description="Whether the 95 % interval of the best variant lies above those of all others.",
    action="If it does not, measure longer.",
    unit=Unit.CODE,
    expr=best_low.expr.combined("> bool", _next_high),
    codes=(Code(0, "no", Status.WARN), Code(1, "yes", Status.GOOD)),
    levels=(Level.FLEET,),
    empty="fewer than two variants have an interval",
)
_MILLIONS_AN_HOUR = 0.0036  # Of one a second.
_EACH_VARIANT = ignoring("batch", group="left")
_DAYS = "Means of rules.baseline_steps (by default 3d), so that variants compare whose batches differed in time."


_by_days = first_of(
    *(costs.against_baseline(one, one) for one in map(costs.remembered, steps.STEP_TIMES_BY_BATCH))
).max("context")


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


most_waiting = replace(
    requests.requests_waiting,
    name="most_waiting",
    title="Most requests waiting",
    question="Does a variant have more requests than it can serve?",
    description="Waiting requests of the variant with the longest queue.",
    short="waiting, most",
    expr=Aggregate("max", (), requests.requests_waiting.at(Level.MODEL)),
    record=None,
    levels=(Level.FLEET,),
)


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
    title="Cost of a million tokens at saturation",
    short="1M tokens",
    absent="no queue",
    question="What do a million generated tokens cost?",
    description="Price of an engine's hour, a variable of the page, / tokens that an engine generates in an hour.",
    action="Compare the variants that have one: where no request waits, throughput depends on the clients.",
    note="Only while requests wait, so that the throughput is what the variant can do. The price covers all GPUs of "
    "one engine.",
    unit=Unit.PRICE,
    better=Better.LOWER,
    expr=Parameter("price", Setting("cost.price_per_engine_hour")) / (tokens_per_engine * _MILLIONS_AN_HOUR)
    & capacity.saturated,
    empty="no request waits: throughput depends on the clients",
    decimals=2,
)
