"""Whether promises are kept: error ratios, the error budget, and how fast it burns.

A budget burns fast or slowly when a share of it is spent within a window, as the paces of the objectives' settings have
it. A long window tells that it matters, a short one that it still goes on.
"""

from collections.abc import Callable

from draftboard.catalogue import serving
from draftboard.durations import Duration
from draftboard.expr.promql import binary, constant, first_of, number, rate, ratio, sum_by, told_apart
from draftboard.settings import Settings
from draftboard.settings.objectives import BURN_WINDOWS, FAST, HISTOGRAMS, SLOW, Pace, Promise
from draftboard.signals.scope import Edition, Scope
from draftboard.signals.signal import Band, Better, Signal, Unit, good_under
from draftboard.status import Status

_IDLE = "no request in the window"
_EXACT = 12
"""Decimals that a difference of shares is rounded to: 1 - 0.99 is 0.01."""


def allowed(settings: Settings, promise: Promise) -> float:
    """Share of requests that may miss an objective."""
    return round(1 - settings.slo.of(promise).objective, _EXACT)


def either_spelling(bound: float) -> str:
    """A bound as Prometheus 2 stores it or as 3 does: `1` or `1.0`."""
    return f"{number(bound)}|{number(bound)}[.]0" if bound == int(bound) else number(bound)


def _each(s: Scope, expr: Callable[[Scope, Promise], str]) -> str:
    return told_apart("slo", {promise: expr(s, promise) for promise in s.settings.slo.watched})


def _events(s: Scope, promise: Promise) -> str:
    if promise == "errors":
        return s.rate_of_all(serving.REQUESTS_FINISHED, serving.ADMISSION_REJECTIONS)
    # A server without a bucket at the threshold cannot tell: it is left out, not counted as late.
    every = rate(s.raw(HISTOGRAMS[promise].count, window=s.window))
    return sum_by(s.labels, binary(every, "and", _in_time(s, promise), "ignoring (le)"))


def _bad_events(s: Scope, promise: Promise) -> str:
    if promise == "errors":
        errors = s.where("finished_reason", "error")
        failed = errors.rate_of_all(serving.REQUESTS_FINISHED, serving.ADMISSION_REJECTIONS)
        # Old releases count neither.
        return first_of(failed, constant(0, s.rate_of_all(serving.REQUESTS_FINISHED)))
    return binary(_events(s, promise), "-", sum_by(s.labels, _in_time(s, promise)))


def _in_time(s: Scope, promise: Promise) -> str:
    """Requests of each engine that were as fast as promised."""
    within = s.where("le", either_spelling(s.settings.slo.threshold(promise)))
    return rate(within.raw(HISTOGRAMS[promise].bucket, window=s.window))


def _summed(s: Scope, signal: Signal, span: Duration) -> str:
    """A rate over a longer span: from its record, whose cost does not grow with engines; else from raw series."""
    return s.over(span)(signal) if s.edition is Edition.RAW else s.over_time("sum_over_time", signal, span)


def _missed(s: Scope, span: Duration) -> str:
    """Ratio of sums, so that a busy hour counts for more than a quiet one."""
    return ratio(_summed(s, bad_events, span), _summed(s, events, span))


def _error_ratio(span: Duration) -> Signal:
    return Signal(
        name=f"error_ratio_{span}",
        title=f"Promises missed within {span}",
        question=f"Which share of requests missed its objective in {span}?",
        description=f"Requests outside the objective / all requests, within {span}.",
        unit=Unit.RATIO,
        better=Better.LOWER,
        expr=lambda s: _missed(s, span),
        record=f"vllm_slo_error:ratio_rate{span}",
        by=("slo",),
        empty=_IDLE,
        decimals=2,
    )


def _burn(pace: Pace) -> Signal:
    return Signal(
        name=f"burn_{pace.long}",
        title=f"Burn rate over {pace.long}",
        question=f"How fast was the budget spent in {pace.long}?",
        description=f"Share of requests that missed their objective in {pace.long} / share that may. At 1 the budget "
        "lasts as long as its window.",
        unit=Unit.TIMES_SUSTAINABLE,
        better=Better.LOWER,
        expr=lambda s: binary(s(ERROR_RATIOS[str(pace.long)]), "/", s(budget)),
        by=("slo",),
        bands=lambda settings: good_under(
            pace.factor(settings.slo.window), good="lasts", beyond="does-not-last", status=Status.BAD
        ),
        empty=_IDLE,
        decimals=1,
    )


def _burns_at(s: Scope, pace: Pace) -> str:
    """The error ratio of the long window, where both windows exceed the pace."""
    factor = pace.factor(s.settings.slo.window)
    limit = s(budget) if factor == 1 else binary(number(factor), "*", s(budget))
    short = ERROR_RATIOS[str(pace.short)] if pace.short else error_ratio_now
    return binary(
        binary(s(ERROR_RATIOS[str(pace.long)]), ">", limit),
        "and",
        binary(s(short), ">", limit),
    )


def _burning(s: Scope, paces: tuple[Pace, ...]) -> str:
    return first_of(*(_burns_at(s, pace) for pace in paces))


def _burning_bands(_: Settings) -> tuple[Band, ...]:
    return good_under(0, good="lasts", beyond="burns", status=Status.BAD)


events = Signal(
    name="slo_events",
    title="Requests with an objective",
    question="How many requests were promised something?",
    description="Requests per second that an objective speaks of.",
    unit=Unit.REQUESTS_PER_SECOND,
    expr=lambda s: _each(s, _events),
    record="vllm_slo_events:rate{window}",
    by=("slo",),
    empty="no vLLM series",
)
bad_events = Signal(
    name="slo_bad_events",
    title="Requests that missed their objective",
    question="How many promises were broken?",
    description="Requests per second that took longer than promised, or were answered with an error or not at all.",
    unit=Unit.REQUESTS_PER_SECOND,
    better=Better.LOWER,
    expr=lambda s: _each(s, _bad_events),
    record="vllm_slo_bad_events:rate{window}",
    by=("slo",),
    empty="no vLLM series, or the histogram has no bucket at the threshold: declare the servers' bounds",
)
budget = Signal(
    name="slo_budget",
    title="Error budget",
    question="Which share may miss its objective?",
    description="1 - objective.",
    unit=Unit.RATIO,
    expr=lambda s: _each(s, lambda s, promise: constant(allowed(s.settings, promise), _events(s, promise))),
    record="vllm_slo_budget:ratio",
    by=("slo",),
    empty="no vLLM series",
    decimals=2,
)
error_ratio_now = Signal(
    name="error_ratio_now",
    title="Promises missed",
    question="Which share of requests misses its objective?",
    description="Requests outside the objective / all requests: too slow a first token, too slow tokens, too late an "
    "end, or an error.",
    unit=Unit.RATIO,
    better=Better.LOWER,
    expr=lambda s: ratio(s(bad_events), s(events)),
    record="vllm_slo_error:ratio_rate{window}",
    by=("slo",),
    empty=_IDLE,
    decimals=2,
)
ERROR_RATIOS = {str(span): _error_ratio(span) for span in BURN_WINDOWS}
"""By window."""
BURNS = {str(pace.long): _burn(pace) for pace in (*FAST, *SLOW)}
burning_fast = Signal(
    name="burning_fast",
    title="Budget that burns fast",
    question="Will the budget be gone within days?",
    description="Share of requests that missed their objective over the long window, shown where it would spend 2 % of "
    "the budget in an hour or 5 % in six, and still goes on.",
    unit=Unit.RATIO,
    better=Better.LOWER,
    expr=lambda s: _burning(s, FAST),
    record="vllm_slo_burning_fast:ratio",
    by=("slo",),
    bands=_burning_bands,
    empty="no budget burns fast",
)
burning_slowly = Signal(
    name="burning_slowly",
    title="Budget that burns slowly",
    question="Will the budget be gone before its window ends?",
    description="The same, where it would spend 10 % of the budget in one day or in three.",
    unit=Unit.RATIO,
    better=Better.LOWER,
    expr=lambda s: _burning(s, SLOW),
    record="vllm_slo_burning_slowly:ratio",
    by=("slo",),
    bands=_burning_bands,
    empty="no budget burns slowly",
)
attainment = Signal(
    name="slo_attainment",
    title="Promises kept",
    question="Which share of requests was served as promised, over the objective's window?",
    description="1 - requests outside the objective / all requests, over as much of the window as there is.",
    unit=Unit.RATIO,
    better=Better.HIGHER,
    expr=lambda s: binary("1", "-", _missed(s, s.settings.slo.window)),
    record="vllm_slo_attainment:ratio_rate{slo}",
    by=("slo",),
    empty="no request in the objective's window",
    decimals=2,
)
budget_left = Signal(
    name="budget_left",
    title="Error budget left",
    question="How much may still go wrong?",
    description="Share of the error budget that is not spent, over as much of the window as there is. Under 0 the "
    "promise is broken; the axis ends at -100 %: spent twice.",
    unit=Unit.RATIO,
    better=Better.HIGHER,
    expr=lambda s: binary("1", "-", binary(binary("1", "-", s(attainment)), "/", s(budget))),
    record="vllm_slo_budget_left:ratio_rate{slo}",
    by=("slo",),
    bands=lambda _: (
        Band("spent", None, Status.BAD),
        Band("nearly-spent", 0, Status.WARN),
        Band("in-hand", 0.25, Status.GOOD),
    ),
    empty="no request in the objective's window",
    least=-1,
)

SIGNALS = (
    events,
    bad_events,
    budget,
    error_ratio_now,
    *ERROR_RATIOS.values(),
    *BURNS.values(),
    burning_fast,
    burning_slowly,
    attainment,
    budget_left,
)
