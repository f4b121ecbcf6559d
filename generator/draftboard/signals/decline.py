"""Slow declines: acceptance against its level after the last restart, and against the same hour of other days."""

from draftboard.catalogue import around
from draftboard.durations import Duration
from draftboard.expr.nodes import Before, Evaluator, Expr, If, Match, Now, OverTime, Raw, Ref, first_of, over_level
from draftboard.expr.scope import Level
from draftboard.quantity import Setting
from draftboard.signals.acceptance import acceptance
from draftboard.signals.drafting import adaptive, configured_k
from draftboard.signals.events import restarts
from draftboard.signals.presence import of_known
from draftboard.signals.signal import Better, Signal, good_from

_HOUR, _DAY, _WEEK = Duration(3600), Duration(86_400), Duration(7 * 86_400)
_DROP = Setting("thresholds.drop")
_HALF_A_DROP = (_DROP + 1) / 2

acceptance_of_hour = Signal(
    name="acceptance_of_hour",
    title="Draft acceptance of an hour",
    question="What is acceptance, without its noise?",
    description="Mean draft acceptance over an hour.",
    action="Use it to compare hours of different days.",
    better=Better.HIGHER,
    expr=OverTime("avg_over_time", acceptance, _HOUR),
    record="vllm_spec_decode_acceptance:avg1h_ratio_rate{window}",
    daily=True,
    empty="speculation is off, or idle",
)
_newest = over_level("max", of_known("max", Raw(around.PROCESS_START_TIME)).at(Level.TARGET))
_restarted = first_of((Now() - _newest) < _HOUR.seconds, restarts > 0)
acceptance_at_start = Signal(
    name="acceptance_at_start",
    title="Draft acceptance after the last restart",
    question="Which acceptance did the servers have when they were new?",
    description="Mean draft acceptance of the hour after a server of the model last started.",
    action="Use it as what the drafter can do on this workload.",
    note="Until a start is seen: of the first hour that is.",
    better=Better.HIGHER,
    expr=If(
        Evaluator.RECORDS,
        over_level(
            "max",
            first_of(acceptance_of_hour & _restarted, Before(Ref("acceptance_at_start"), _DAY), acceptance_of_hour),
        ),
        acceptance_of_hour,
    ),
    record="vllm_spec_decode_acceptance:start1h_ratio_rate{window}",
    daily=True,
    empty=acceptance_of_hour.empty,
)


def _against(span: Duration) -> Expr:
    """An hour's acceptance / that of the same hour so long ago, at the same K."""
    return acceptance_of_hour.per(acceptance_of_hour.ago(span)) & configured_k.equals(configured_k.ago(span))


# What differs with the time of day differed yesterday, too; what differs with the day of the week, a week ago.
_since_start = (acceptance_of_hour.per(acceptance_at_start) & (_against(_DAY) < _HALF_A_DROP)).combined(
    "unless", _against(_WEEK) > _HALF_A_DROP
)
acceptance_decline = Signal(
    name="acceptance_decline",
    title="Acceptance vs. its start and last week",
    question="Does acceptance decline slowly?",
    description="An hour's draft acceptance / that after the last restart, where it is also lower than at the same "
    "hour yesterday; or / that of the same hour a week ago.",
    action="Restart one engine and compare its acceptance with the others'.",
    note="At the same K, unless verification is adaptive. With a fixed draft length the acceptance length declines "
    "with acceptance.",
    better=Better.HIGHER,
    expr=first_of(_since_start < _DROP, _against(_WEEK)).combined("unless", adaptive),
    bands=good_from(_DROP, good="as-before", under="declined"),
    empty="less than a day of history",
)
DECLINE = "SpecDecodeAcceptanceDecline"
stays_low = acceptance.per(acceptance_at_start) & over_level(
    "group", Raw(around.ALERTS, matchers=(Match("alertname", "=", DECLINE), Match("alertstate", "=", "pending")))
)
"""Acceptance now / that after the last restart, until the alert on its decline fires."""
