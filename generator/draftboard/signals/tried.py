"""Draft lengths that a model tried, and that were slower than shorter ones at like load."""

from draftboard.expr.nodes import Before, Evaluator, Function, If, OverTime, Ref, constant, first_of, ignoring
from draftboard.quantity import LOOK_BACK, RATE_WINDOW, Setting
from draftboard.signals.acceptance import tokens_per_step
from draftboard.signals.comparison import BEFORE
from draftboard.signals.drafting import configured_k, lowest_k
from draftboard.signals.signal import Signal, Unit
from draftboard.signals.steps import LOAD, step_time_by_batch

_OF_LOAD = ignoring(*LOAD, group="left")
_per_token = step_time_by_batch.ratio(tokens_per_step, _OF_LOAD)
_slower = Function("sgn", _per_token / _per_token.ago(BEFORE) - 1)
# In windows with two K the drafts of both are counted.
_one_k = configured_k.equals(lowest_k)
_longer = Function("sgn", _one_k - _one_k.ago(BEFORE))
_votes = OverTime("sum_over_time", _slower.combined("*", _longer, _OF_LOAD), BEFORE, pace=RATE_WINDOW)
"""Windows in which tokens took longer with the longer of two K, less those in which they took less time."""
_ENOUGH = BEFORE / RATE_WINDOW / 2
# Of all windows that are compared; an hour that is over has its part in it still.
_longest = OverTime("max_over_time", configured_k, BEFORE * 2, pace=RATE_WINDOW)
_record = Ref("slower_k_by_batch")
_lately = Before(_record, LOOK_BACK)
_known = first_of(_lately, Before(_record, Setting("rules.baseline_steps"), pace=BEFORE)) + 0
# Kept as 0 while the model drafts: what is absent, the last value before it would replace.
_faster_since = (_known.combined("<=", _longest, _OF_LOAD) & (_votes <= -_ENOUGH)) * 0
_ended = constant(0, _lately.equals(0).combined("and", configured_k, ignoring(*LOAD)))
_still_known = first_of(_known.combined(">=", configured_k, _OF_LOAD), _ended)
slower_k_by_batch = Signal(
    name="slower_k_by_batch",
    title="Slower K by batch",
    question="Which longer K made tokens slower at this batch?",
    description="The longer of two K between which the model changed, where tokens took longer to decode with it than "
    "with the shorter one, in batches of this size and with contexts of this length.",
    action="Do not lengthen drafts to it at this load.",
    note="By the windows of the hour after a change (rules.compare_with), each beside the one an hour before: slower "
    "in six of the twelve more than faster. Kept while K is not longer; 0 once a later change to it was faster. Gaps "
    "of up to rules.baseline_steps are bridged.",
    unit=Unit.TOKENS,
    expr=first_of(
        constant(0, _votes >= _ENOUGH).combined("+", _longest, _OF_LOAD),
        If(Evaluator.RECORDS, first_of(_faster_since, _still_known)),
    ),
    record="vllm_spec_decode_slower_k:by_batch_rate{window}",
    daily=True,
    by=LOAD,
    empty="no longer K is known to be slower",
    decimals=0,
)
