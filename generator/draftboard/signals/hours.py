"""Sums over hours, of records of what was counted in each: a minute would be read sixty times as often."""

from dataclasses import replace

from draftboard.durations import Duration
from draftboard.expr.nodes import Expr, OverTime, merged
from draftboard.quantity import EVALUATION
from draftboard.signals.signal import Signal, Unit

HOUR = Duration(3600)


def in_hour(counted: Signal, what: str) -> Signal:
    """Of a rate per second what it counted within the last hour, as a record; `what` says which these are."""
    return replace(
        counted,
        name=f"{counted.name}_in_hour",
        title=f"{counted.title}, in an hour",
        question=counted.question.replace("?", " in an hour?"),
        description=f"{what}, within the last hour.",
        unit=Unit.REQUESTS,
        levels=counted.levels[-1:],
        expr=OverTime("sum_over_time", counted, HOUR) * EVALUATION,
        record=(counted.record or "").replace("rate{window}", "increase1h"),
    )


def in_hours(of_hour: Signal, span: Duration) -> Expr:
    """The sum of whole hours that end now; those without a record count nothing."""
    ends = [HOUR * number for number in range(1, span.seconds // HOUR.seconds)]
    if not ends:
        return of_hour
    return merged("ago", {"0s": of_hour, **{str(end): of_hour.ago(end) for end in ends}}).sum("ago")
