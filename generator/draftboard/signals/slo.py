"""Error ratios, the error budget, and how fast it burns: over a long window, and still over a short one."""

from collections.abc import Callable
from functools import partial

from draftboard.catalogue import serving
from draftboard.durations import Duration
from draftboard.expr.labels import told_apart
from draftboard.expr.promql import number
from draftboard.expr.scope import Edition, Scope
from draftboard.expr.tree import (
    Constant,
    Expr,
    FirstOf,
    Given,
    OverTime,
    Seen,
    Where,
    constant,
    first_of,
    ignoring,
    over_level,
    rate_of_all,
    rate_of_each,
)
from draftboard.settings import Settings
from draftboard.settings.objectives import BURN_WINDOWS, FAST, HISTOGRAMS, SLOW, Pace, Promise
from draftboard.signals.signal import Band, Better, Signal, Unit, good_under
from draftboard.status import Status

_signal = partial(Signal, by=("slo",))
_IDLE = "no request in the window"


def allowed(settings: Settings, promise: Promise) -> float:
    """Share of requests that may miss an objective; rounded, so that 1 - 0.99 is 0.01."""
    return round(1 - settings.slo.of(promise).objective, 12)


def either_spelling(bound: float) -> str:
    """A bound as Prometheus 2 stores it or as 3 does: `1` or `1.0`."""
    return f"{number(bound)}|{number(bound)}[.]0" if bound == int(bound) else number(bound)


def _each(part: Callable[[Promise], Expr]) -> Expr:
    """For each objective, told apart by its name."""
    return Given(lambda s: told_apart("slo", {promise: part(promise) for promise in s.settings.slo.watched}))


def _events(promise: Promise) -> Expr:
    if promise == "errors":
        return rate_of_all(serving.REQUESTS_FINISHED, serving.ADMISSION_REJECTIONS)
    # A server without a bucket at the threshold cannot tell: it is left out, not counted as late.
    every = rate_of_each(HISTOGRAMS[promise].count)
    return over_level("sum", every.combined("and", _in_time(promise), ignoring("le")))


def _bad_events(promise: Promise) -> Expr:
    if promise == "errors":
        every = rate_of_all(serving.REQUESTS_FINISHED, serving.ADMISSION_REJECTIONS)
        # Old releases count neither.
        return first_of(every.where("finished_reason", "error"), constant(0, rate_of_all(serving.REQUESTS_FINISHED)))
    return _events(promise) - over_level("sum", _in_time(promise))


def _in_time(promise: Promise) -> Expr:
    """Requests of each engine that were as fast as promised."""
    within = rate_of_each(HISTOGRAMS[promise].bucket)
    return Where(within, lambda _: "le", lambda settings: (either_spelling(settings.slo.threshold(promise)),))


def _summed(s: Scope, signal: Signal, span: Duration) -> Expr:
    """A rate over a longer span: from its record, whose cost does not grow with engines; else from raw series."""
    raw = s.edition is Edition.RAW
    return Seen(signal, lambda scope: scope.over(span)) if raw else OverTime("sum_over_time", signal, lambda _: span)


def _missed(span: Callable[[Settings], Duration]) -> Expr:
    """Ratio of sums, so that a busy hour counts for more than a quiet one."""
    return Given(lambda s: _summed(s, bad_events, span(s.settings)) / _summed(s, events, span(s.settings)))


def _error_ratio(span: Duration) -> Signal:
    return _signal(
        name=f"error_ratio_{span}",
        title=f"Promises missed within {span}",
        question=f"Which share of requests missed its objective in {span}?",
        description=f"Requests outside the objective / all requests, within {span}.",
        better=Better.LOWER,
        expr=_missed(lambda _: span),
        record=f"vllm_slo_error:ratio_rate{span}",
        empty=_IDLE,
        decimals=2,
    )


def _burn(pace: Pace) -> Signal:
    return _signal(
        name=f"burn_{pace.long}",
        title=f"Burn rate over {pace.long}",
        question=f"How fast was the budget spent in {pace.long}?",
        description=f"Share of requests that missed their objective in {pace.long} / share that may. At 1 the budget "
        "lasts as long as its window.",
        unit=Unit.TIMES_SUSTAINABLE,
        better=Better.LOWER,
        expr=ERROR_RATIOS[str(pace.long)].per(budget),
        bands=lambda settings: good_under(
            pace.factor(settings.slo.window), good="lasts", beyond="does-not-last", status=Status.BAD
        ),
        empty=_IDLE,
        decimals=1,
    )


def _burns_at(s: Scope, pace: Pace) -> Expr:
    """The error ratio of the long window, where both windows exceed the pace."""
    factor = pace.factor(s.settings.slo.window)
    limit = budget if factor == 1 else factor * budget
    short = ERROR_RATIOS[str(pace.short)] if pace.short else error_ratio_now
    return (ERROR_RATIOS[str(pace.long)] > limit) & (short > limit)


def _burning_bands(_: Settings) -> tuple[Band, ...]:
    return good_under(0, good="lasts", beyond="burns", status=Status.BAD)


events = _signal(
    name="slo_events",
    title="Requests with an objective",
    question="How many requests were promised something?",
    description="Requests per second that an objective speaks of.",
    unit=Unit.REQUESTS_PER_SECOND,
    expr=_each(_events),
    record="vllm_slo_events:rate{window}",
    empty="no vLLM series",
)
bad_events = _signal(
    name="slo_bad_events",
    title="Requests that missed their objective",
    question="How many promises were broken?",
    description="Requests per second that took longer than promised, or were answered with an error or not at all.",
    unit=Unit.REQUESTS_PER_SECOND,
    better=Better.LOWER,
    expr=_each(_bad_events),
    record="vllm_slo_bad_events:rate{window}",
    empty="no vLLM series, or the histogram has no bucket at the threshold: declare the servers' bounds",
)
budget = _signal(
    name="slo_budget",
    title="Error budget",
    question="Which share may miss its objective?",
    description="1 - objective.",
    expr=_each(lambda promise: Constant(lambda settings: allowed(settings, promise), _events(promise))),
    record="vllm_slo_budget:ratio",
    empty="no vLLM series",
    decimals=2,
)
error_ratio_now = _signal(
    name="error_ratio_now",
    title="Promises missed",
    question="Which share of requests misses its objective?",
    description="Requests outside the objective / all requests: too slow a first token, too slow tokens, too late an "
    "end, or an error.",
    better=Better.LOWER,
    expr=bad_events / events,
    record="vllm_slo_error:ratio_rate{window}",
    empty=_IDLE,
    decimals=2,
)
ERROR_RATIOS = {str(span): _error_ratio(span) for span in BURN_WINDOWS}
BURNS = {str(pace.long): _burn(pace) for pace in (*FAST, *SLOW)}
burning_fast = _signal(
    name="burning_fast",
    title="Budget that burns fast",
    question="Will the budget be gone within days?",
    description="Share of requests that missed their objective over the long window, shown where it would spend 2 % of "
    "the budget in an hour or 5 % in six, and still goes on.",
    better=Better.LOWER,
    expr=Given(lambda s: FirstOf(tuple(_burns_at(s, pace) for pace in FAST))),
    record="vllm_slo_burning_fast:ratio",
    bands=_burning_bands,
    empty="no budget burns fast",
)
burning_slowly = _signal(
    name="burning_slowly",
    title="Budget that burns slowly",
    question="Will the budget be gone before its window ends?",
    description="The same, where it would spend 10 % of the budget in one day or in three.",
    better=Better.LOWER,
    expr=Given(lambda s: FirstOf(tuple(_burns_at(s, pace) for pace in SLOW))),
    record="vllm_slo_burning_slowly:ratio",
    bands=_burning_bands,
    empty="no budget burns slowly",
)
attainment = _signal(
    name="slo_attainment",
    title="Promises kept",
    question="Which share of requests was served as promised, over the objective's window?",
    description="1 - requests outside the objective / all requests, over as much of the window as there is.",
    better=Better.HIGHER,
    expr=1 - _missed(lambda settings: settings.slo.window),
    record="vllm_slo_attainment:ratio_rate{slo}",
    empty="no request in the objective's window",
    decimals=2,
)
budget_left = _signal(
    name="budget_left",
    title="Error budget left",
    question="How much may still go wrong?",
    description="Share of the error budget that is not spent, over as much of the window as there is. Under 0 the "
    "promise is broken; the axis ends at -100 %: spent twice.",
    better=Better.HIGHER,
    expr=1 - (1 - attainment).per(budget),
    record="vllm_slo_budget_left:ratio_rate{slo}",
    bands=lambda _: (
        Band("spent", None, Status.BAD),
        Band("nearly-spent", 0, Status.WARN),
        Band("in-hand", 0.25, Status.GOOD),
    ),
    empty="no request in the objective's window",
    least=-1,
)
