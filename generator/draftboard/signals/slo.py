"""Error ratios, the error budget, and its burn rate: over a long window, and still over a short one.

Words and records are those of Sloth: SLI error, error budget, burn rate, error budget remaining. They live at the level
of a service, so that neither another drafting method nor a relabelling starts a fresh budget.
"""

from dataclasses import replace

from draftboard.durations import Duration
from draftboard.expr.nodes import Evaluator, Expr, FirstOf, If, Over, OverTime, Span, constant
from draftboard.quantity import EVALUATION, Setting
from draftboard.settings.objectives import BURN_WINDOWS, FAST, SLOW, Pace
from draftboard.signals.hours import HOUR, in_hour, in_hours
from draftboard.signals.signal import Band, Better, Signal, Unit, good_under
from draftboard.signals.slo_events import bad_events, budget, events, slo_signal
from draftboard.status import Status

_WINDOW = Setting("slo.window")
_DAY = Duration(86_400)
_IDLE = "no request in the window"
_SLACK = 0.01  # Sums of rates are not exact: as many bad events as the setting are enough.


IN_HOUR = {
    events: in_hour(events, "Requests that an SLO covers"),
    bad_events: in_hour(bad_events, "Requests that missed an SLO"),
}


def _within(counted: Signal, span: Span) -> Expr:
    """How many within a span: from records, whose cost does not grow with engines; else from raw series."""
    seconds = span.seconds if isinstance(span, Duration) else span
    return If(Evaluator.RAW_PANEL, Over(counted, span) * seconds, _recorded(counted, span))


def _recorded(counted: Signal, span: Span) -> Expr:
    """Of hours that end now the sum of each; of days of those that ended, once there is one."""
    of_hour = IN_HOUR[counted]
    if isinstance(span, Duration) and span < HOUR:
        return OverTime("sum_over_time", counted, span) * EVALUATION
    if isinstance(span, Duration) and span < _DAY:
        return in_hours(of_hour, span)
    return OverTime("sum_over_time", of_hour, span, pace=HOUR) | of_hour


def _missed(span: Span) -> Expr:
    """Ratio of sums, so that a busy hour counts for more than a quiet one."""
    return _within(bad_events, span) / _within(events, span)


def _error_ratio(span: Duration) -> Signal:
    return slo_signal(
        name=f"error_ratio_{span}",
        title=f"SLO misses over {span}",
        question=f"Which share of requests missed the SLO in {span}?",
        description=f"Requests outside the SLO / all requests, over {span}.",
        action="If it is above the error budget, look at that latency or at errors.",
        better=Better.LOWER,
        expr=_missed(span),
        record=f"vllm_sli_error:ratio_rate{span}",
        daily=all(span not in {pace.long, pace.short} for pace in FAST),
        empty=_IDLE,
        decimals=2,
    )


def _burn(pace: Pace) -> Signal:
    return slo_signal(
        name=f"burn_{pace.long}",
        title=f"Burn rate over {pace.long}",
        question=f"How fast was the error budget spent in {pace.long}?",
        description=f"Share of requests that missed the SLO in {pace.long} / error budget: at 1 the budget lasts "
        "exactly for the window of the SLO.",
        action="Above the limit, look at that latency or at errors since then.",
        unit=Unit.TIMES_SUSTAINABLE,
        better=Better.LOWER,
        expr=ERROR_RATIOS[str(pace.long)].per(budget),
        bands=good_under(_factor(pace), good="lasts", beyond="does-not-last", status=Status.BAD),
        empty=_IDLE,
        decimals=1,
    )


def _factor(pace: Pace) -> Setting:
    """The burn rate over a window at which its alert fires."""
    return Setting(f"slo.burn_factors.{pace.long}")


def _enough_bad_events(span: Duration) -> Expr:
    """Whether as many requests as the settings say missed the SLO: a sum of rates, each of which held for a while."""
    return _within(bad_events, span) > Setting("slo.least_bad_events") - _SLACK


def _burns_at(pace: Pace) -> Expr:
    """The burn rate of the long window, where both windows exceed the pace and enough requests missed the SLO."""
    factor = _factor(pace)
    short = ERROR_RATIOS[str(pace.short)].per(budget) if pace.short else burn_now
    return (BURNS[str(pace.long)] > factor) & (short > factor) & _enough_bad_events(pace.long)


def _burning(paces: tuple[Pace, ...]) -> Expr:
    return FirstOf(tuple(_burns_at(pace) for pace in paces))


error_ratio_now = slo_signal(
    name="error_ratio_now",
    title="SLO misses",
    question="Which share of requests misses the SLO?",
    description="Requests outside the SLO / all requests: first token too late, tokens too slow, end too late, "
    "or an error.",
    action="If it is above the error budget, look at that latency or at errors.",
    better=Better.LOWER,
    expr=bad_events / events,
    record="vllm_sli_error:ratio_rate{window}",
    empty=_IDLE,
    decimals=2,
)
burn_now = slo_signal(
    name="burn_now",
    title="Burn rate",
    question="How fast is the error budget spent?",
    description="Share of requests that miss the SLO / error budget: at 1 the error budget lasts exactly for the "
    "window of the SLO.",
    action="If it stays above 1, look at that latency or at errors.",
    unit=Unit.TIMES_SUSTAINABLE,
    better=Better.LOWER,
    expr=error_ratio_now.per(budget),
    record="vllm_slo_current_burn_rate:ratio",
    empty=_IDLE,
    decimals=1,
)
ERROR_RATIOS = {str(span): _error_ratio(span) for span in BURN_WINDOWS}
BURNS = {str(pace.long): _burn(pace) for pace in (*FAST, *SLOW)}
burning_fast = slo_signal(
    name="burning_fast",
    title="Fast burn of the error budget",
    short="Fast burn",
    question="Will the error budget be exhausted within days?",
    description="Burn rate over the long window, if it spends 2 % of the error budget in an hour or 5 % in six, "
    "and continues.",
    action="Act now: the budget is exhausted within days.",
    note="Shown if enough requests missed the SLO.",
    unit=Unit.TIMES_SUSTAINABLE,
    better=Better.LOWER,
    expr=_burning(FAST),
    record="vllm_slo_burning_fast:ratio",
    bands=good_under(0, good="lasts", beyond="burns", status=Status.BAD),
    empty="no fast burn",
    decimals=1,
)
burning_slowly = replace(
    burning_fast,
    name="burning_slowly",
    title="Slow burn of the error budget",
    short="Slow burn",
    question="Will the error budget be exhausted before its window ends?",
    description="Burn rate over the long window, if it spends 10 % of the error budget in one day or in three, "
    "and continues.",
    action="Act today: the budget is exhausted before its window ends.",
    expr=_burning(SLOW),
    record="vllm_slo_burning_slowly:ratio",
    daily=True,
    empty="no slow burn",
)
attainment = slo_signal(
    name="slo_attainment",
    title="SLO attainment",
    question="Which share of requests met the SLO in its window?",
    description="1 - requests outside the SLO / all requests, over the part of the SLO's window for which there "
    "is data.",
    action="Compare with the objective.",
    better=Better.HIGHER,
    expr=1 - _missed(_WINDOW),
    record="vllm_slo_attainment:ratio_rate{slo}",
    daily=True,
    empty="no request in the window of the SLO",
    decimals=2,
)
budget_left = slo_signal(
    name="error_budget_remaining",
    title="Error budget remaining",
    question="How much of the error budget is left?",
    description="Share of the error budget that is left, over the part of the SLO's window with data: below 0 "
    "the SLO is missed.",
    action="With little left, postpone risky changes.",
    note="The axis ends at -100 %, twice the budget.",
    better=Better.HIGHER,
    expr=1 - (1 - attainment).per(budget),
    record="vllm_slo_period_error_budget_remaining:ratio",
    bands=(Band("spent", None, Status.BAD), Band("nearly-spent", 0, Status.WARN), Band("in-hand", 0.25, Status.GOOD)),
    empty="no request in the window of the SLO",
    least=-1,
)
time_left = slo_signal(
    name="error_budget_lasts",
    title="Time to exhaustion of the error budget",
    short="Lasts",
    question="How long does the error budget last at this burn rate?",
    description="Error budget remaining * window of the SLO / burn rate, while a burn is fast or slow: 0 when it "
    "is exhausted.",
    action="Use it to decide how soon to act.",
    unit=Unit.SECONDS,
    better=Better.HIGHER,
    expr=((budget_left > 0) | constant(0, budget_left)) * _WINDOW / (burning_fast | burning_slowly),
    record="vllm_slo_error_budget_lasts:seconds",
    empty="no burn",
)
