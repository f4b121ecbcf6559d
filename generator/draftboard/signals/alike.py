"""Whether a variant and the model's baseline are alike, so that a difference between them is that of speculation."""

from draftboard.catalogue import Metric, latency, serving
from draftboard.expr.nodes import (
    Aggregate,
    Evaluator,
    Expr,
    Function,
    If,
    InDialect,
    InWindow,
    IsRead,
    Labels,
    Match,
    Number,
    OfOneMoment,
    Raw,
    Window,
    constant,
    expr,
    first_of,
    on,
    over_level,
    rate,
)
from draftboard.expr.scope import Level
from draftboard.quantity import Quantity, Setting
from draftboard.signals.baseline import METHOD, MODEL, of_baseline, of_speculating
from draftboard.signals.capacity import answer_length, prompt_length, prompt_tokens
from draftboard.signals.decision import Choice, Decision
from draftboard.signals.latency import end_to_end
from draftboard.signals.signal import Code, Signal, Unit
from draftboard.signals.traffic import first_tokens, generation_tokens, step_seconds
from draftboard.status import Status

_BASELINE = Match(METHOD, "=", Setting("methods.baseline"))
_LEAST = 1 - Setting("thresholds.load")
CHANCE = 2
"""Standard deviations of the logarithm of a ratio that are chance."""
_PRESENT = 0.9
"""Samples of one side in a window, as a share of the other's."""
_FINISHED = latency.TIME_PER_OUTPUT_TOKEN.count


def _of_baseline(how: str, function: str, metric: Metric) -> Expr:
    """Of all servers of a model that run without speculation on purpose, whatever their job and whoever is chosen."""
    series = Raw(metric, Window.RATE, (_BASELINE,), chosen_by=(Labels("model_name"),))
    return Aggregate(how, MODEL, Function(function, series))


def total_of_baseline(metric: Metric) -> Expr:
    """Per-second increase of a counter."""
    return _of_baseline("sum", "rate", metric)


_COUNTED = {
    prompt_tokens: serving.PROMPT_TOKENS,
    generation_tokens: serving.GENERATION_TOKENS,
    first_tokens: latency.TIME_TO_FIRST_TOKEN.count,
    step_seconds: latency.STEP_LATENCY.sum,
}


def recorded_of_baseline(counter: Signal) -> Expr:
    """Per-second increase of a counter, by the records that rules make of it."""
    recorded = Aggregate("sum", MODEL, of_baseline(counter.at(Level.MODEL)))
    return If(IsRead(counter, Level.MODEL), recorded, total_of_baseline(_COUNTED[counter]))


def _alike(function: str, metric: Metric, least: Quantity | float = _LEAST) -> Expr:
    """Where the mean over engines is as the baseline's; a mean of 0 says nothing."""
    of_engine = over_level("avg", Function(function, Raw(metric, Window.RATE)))
    ratio = of_engine.ratio(_of_baseline("avg", function, metric), on(*MODEL, group="left"))
    return (ratio >= least) <= 1 / least


# What one sample is: a request, or a token where requests are not counted.
_enough = If(
    InDialect(serving.REQUESTS_FINISHED),
    Number(Setting("traffic.requests_per_second")),
    Number(Setting("traffic.tokens_per_second")),
)
serves_enough = total_of_baseline(_FINISHED) > _enough
"""Where the baseline's requests are more than a few."""
_alike_load = OfOneMoment(
    _alike("avg_over_time", serving.REQUESTS_RUNNING)
    | (
        # The rate of an engine that restarts or appears within the window is that of a part of it.
        _alike("rate", _FINISHED) & _alike("count_over_time", _FINISHED, _PRESENT)
    )
)
"""Clients keep so many requests in flight or send so many a second; a faster server changes the other one."""
_first_tokens, _of_records = total_of_baseline(latency.TIME_TO_FIRST_TOKEN.count), recorded_of_baseline(first_tokens)


def _of_each_variant(of_baseline: Expr) -> Expr:
    """A figure of a model's baseline, for each of the variants beside it."""
    return constant(0, of_speculating(first_tokens)).combined("+", of_baseline, on(*MODEL, group="left"))


def _baseline(name: str, of: Signal, tokens: Metric) -> Signal:
    return Signal(
        name=f"baseline_{name}",
        title=f"{of.title} of the baseline",
        question=f"{of.question[:-1]} that the baseline has?",
        description=f"{of.description[:-1]}, of the model's servers without speculation.",
        action="Where it is far from the variant's, send both the same kind of requests.",
        unit=Unit.TOKENS,
        expr=_of_each_variant(total_of_baseline(tokens) / _first_tokens),
        empty=of.empty,
        decimals=0,
    )


baseline_prompt_length = _baseline("prompt_length", prompt_length, serving.PROMPT_TOKENS)
baseline_answer_length = _baseline("answer_length", answer_length, serving.GENERATION_TOKENS)


def _far(own: Expr, of_baseline: Expr) -> Expr:
    """Lengths apart by more than the tolerance and chance.

    Lengths of requests scatter about as much as they are long: the logarithm of a ratio of means of n and m of them has
    a standard deviation of the root of 1/n + 1/m.
    """
    ratio = (of_speculating(own) > 0).ratio(of_baseline, on(*MODEL, group="left"))
    distance = Function("abs", Function("ln", ratio))
    one = expr(1)
    variance = (one / InWindow(first_tokens)).combined("+", one / InWindow(_of_records), on(*MODEL, group="left"))
    return Function("exp", distance - CHANCE * Function("sqrt", variance)) > 1 / _LEAST


_computed = (prompt_tokens + generation_tokens - rate(serving.PREFIX_CACHE_HITS)) / first_tokens
_computed_of_baseline = (
    total_of_baseline(serving.PROMPT_TOKENS)
    + total_of_baseline(serving.GENERATION_TOKENS)
    - total_of_baseline(serving.PREFIX_CACHE_HITS)
) / _first_tokens
_cached = OfOneMoment(_far(_computed, _computed_of_baseline))
"""Where one side's prefix cache saves so much that its steps wait less for prefills, at equal lengths."""
_prompts, _answers = (
    _far(tokens / first_tokens, recorded_of_baseline(tokens) / _of_records)
    for tokens in (prompt_tokens, generation_tokens)
)
OBJECTION = Decision(
    {
        "prompts": Choice(Code(1, "prompts are not alike", Status.ODD), first_of(_prompts, _cached)),
        "answers": Choice(Code(2, "answers are not alike", Status.ODD), _answers),
        "no sooner": Choice(
            Code(3, "answers come no sooner", Status.WARN),
            OfOneMoment(
                of_speculating(end_to_end.mean).ratio(
                    total_of_baseline(latency.END_TO_END_LATENCY.sum)
                    / total_of_baseline(latency.END_TO_END_LATENCY.count),
                    on(*MODEL, group="left"),
                )
            )
            >= 1,
        ),
        "nothing": Choice(Code(0, "nothing", Status.GOOD), of_speculating(rate(_FINISHED))),
    }
)
objection = Signal(
    name="measured_speedup_objection",
    title="Objection to the measured speedup",
    short="Objection",
    question="What speaks against the comparison with the baseline?",
    description="Mean lengths of prompts or answers apart by more than thresholds.load and chance, far more cached "
    "prompts on one side, or whole answers that come no sooner than the baseline's.",
    action="Send both the same kind of requests, as a router at random does.",
    note="Only at like load. Where lengths are not alike, no speedup is measured.",
    unit=Unit.CODE,
    expr=OBJECTION.expr & _alike_load,
    record="vllm_measured_speedup:objection_enum_rate{window}",
    codes=OBJECTION.codes,
    empty="no baseline of this model has a similar load",
)
alike = If(
    Evaluator.RECORDS_AT_ONCE,
    OBJECTION.any_of(objection, "nothing", "no sooner"),
    _alike_load.combined("unless", first_of(_prompts, _answers, _cached)),
)
"""Where no other load, and no other requests than the baseline's make a difference that speculation does not."""
no_sooner = OBJECTION.any_of(objection, "no sooner")
"""Where users wait as long for whole answers, whatever their tokens do."""
