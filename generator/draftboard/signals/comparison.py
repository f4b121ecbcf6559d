"""Against what it was and against its siblings: before, the model's own past, the model's other engines."""

from dataclasses import replace

from draftboard.expr.nodes import Binary, Expr, InWindow, Labels, Matching, OverTime, first_of
from draftboard.expr.scope import Level
from draftboard.quantity import EVALUATION, RATE_WINDOW, Quantity, Setting, ceil
from draftboard.signals.acceptance import acceptance, acceptance_length
from draftboard.signals.depth import EACH_MODEL, each_k, tokens_per_step_at
from draftboard.signals.drafting import adaptive, configured_k, k_differs, lowest_k
from draftboard.signals.signal import Better, Signal, Unit, good_from
from draftboard.signals.traffic import LEAST_DRAFTS, accepted_tokens, drafts, enough_drafts

BEFORE = Setting("rules.compare_with")
"""How long ago "before" is."""


BASELINE = Setting("rules.baseline")
_ENOUGH = Setting("rules.baseline_needs") * BASELINE / EVALUATION


def past(function: str, signal: Signal, pace: Quantity = RATE_WINDOW) -> Expr:
    """Of a signal over the baseline, the latest stretch left out so that a drop does not excuse itself.

    Windows of rates follow one another at that pace: each sample of a server is in one of them.
    """
    return OverTime(function, signal, BASELINE, BEFORE, pace=pace)


def is_usual(signal: Signal, evaluations: Quantity = _ENOUGH) -> Expr:
    """Where windows of a signal's past that last as long as so many evaluations have samples."""
    return past("count_over_time", signal) >= ceil(evaluations * EVALUATION / RATE_WINDOW)


def usual(signal: Signal, evaluations: Quantity = _ENOUGH) -> Expr:
    """The mean of a signal's past, where enough of it has samples to call it usual."""
    return past("avg_over_time", signal) & is_usual(signal, evaluations)


BESIDE = Matching((Labels("instance"), Labels("engine")), group="right")
"""A figure of a model beside one of each of its engines."""


def other_engines(signal: Signal) -> Expr:
    """A rate of the other engines of an engine's model, together."""
    return Binary(signal.at(Level.MODEL), "-", signal, BESIDE)


def _unless_of_model(figure: Expr, condition: Expr) -> Expr:
    """Of the engines of models for which the condition does not hold."""
    return Binary(figure, "unless", condition.at(Level.MODEL), replace(BESIDE, group=""))


def _against_before(figure: Expr) -> Expr:
    return figure / figure.ago(BEFORE)


def _at_largest_common_k() -> Expr:
    """Tokens accepted a draft now / earlier, within the first k positions: of the largest k that drafts had both times.

    Deeper positions are left out, so that a K that was changed is neither a drop nor a gain.
    """
    common = each_k & each_k.ago(BEFORE)
    change = _against_before(tokens_per_step_at - 1)
    return (change & common.combined(">=", common.max("k"), EACH_MODEL)).max("k")


acceptance_change = Signal(
    name="acceptance_change",
    title="Acceptance vs. earlier",
    question="Has acceptance dropped?",
    description="Draft acceptance now / earlier (rules.compare_with, by default 1h), within the positions "
    "drafted both times.",
    action="If it dropped, look at workload and drafter: a shorter K does not help.",
    note="If K has changed: accepted tokens per draft within the positions that both K have, now / earlier. Shown with "
    "enough drafts now and earlier, unless verification is adaptive: acceptance then follows the load. The axis "
    "ends at 200 %.",
    better=Better.HIGHER,
    # Acceptance falls as K grows, which is no drop.
    expr=first_of(
        (_against_before(acceptance) & configured_k.equals(configured_k.ago(BEFORE)))
        .combined("unless", k_differs)
        .combined("unless", k_differs.ago(BEFORE)),
        _at_largest_common_k(),
    ).combined("unless", adaptive)
    & (enough_drafts & enough_drafts.ago(BEFORE)),
    record="vllm_spec_decode_acceptance:change{before}_ratio_rate{window}",
    bands=good_from(Setting("thresholds.drop"), good="as-before", under="dropped"),
    empty="not enough drafts now or earlier",
    most=2,
)
length_baseline = Signal(
    name="length_baseline",
    title="Acceptance length, long-term mean",
    question="What is normal for this model?",
    description="Mean of the mean acceptance length over the model's own past (rules.baseline, by default 1d).",
    action="Use it as what is normal for this model.",
    note="Excludes the latest part of that range. Shown if enough of the range has samples, K was constant and "
    "verification is not adaptive.",
    unit=Unit.TOKENS,
    # Where K was always what it is.
    expr=(
        usual(acceptance_length)
        & (
            configured_k.equals(past("max_over_time", configured_k))
            & configured_k.equals(lowest_k)
            & configured_k.equals(past("min_over_time", lowest_k))
        )
    ).combined("unless", adaptive),
    record="vllm_spec_decode_acceptance_length:avg{baseline}_mean_rate{window}",
    daily=True,
    empty="too little history",
    decimals=2,
)
_least_deviation = Setting("thresholds.deviation_floor") * length_baseline
length_deviation = Signal(
    name="length_deviation",
    title="Acceptance length, long-term standard deviation",
    question="How much does the acceptance length of this model vary?",
    description="Standard deviation of the mean acceptance length over the model's own past, but at least a "
    "small share of the mean.",
    action="Use it to see which drops are unusual for this model.",
    unit=Unit.TOKENS,
    expr=first_of(past("stddev_over_time", acceptance_length) > _least_deviation, _least_deviation),
    record="vllm_spec_decode_acceptance_length:stddev{baseline}_mean_rate{window}",
    daily=True,
    empty="too little history",
    decimals=2,
)
length_anomaly = Signal(
    name="length_anomaly",
    title="Acceptance length vs. its own past",
    question="Is the acceptance length unusual for this model?",
    description="(Mean acceptance length - its long-term mean) / its standard deviation: 0 is normal, -3 is rare.",
    action="If it is far below 0, look for a change of workload or drafter; do not lower K.",
    unit=Unit.DEVIATIONS,
    better=Better.HIGHER,
    expr=(acceptance_length - length_baseline) / length_deviation,
    record="vllm_spec_decode_acceptance_length:zscore{baseline}_mean_rate{window}",
    bands=good_from(-Setting("thresholds.anomaly"), good="normal", under="unusually-low"),
    empty="too little history",
    decimals=1,
    least=None,
)
length_to_others = Signal(
    name="length_to_others",
    title="Acceptance length vs. other engines",
    question="Is one engine worse than the others?",
    description="Acceptance length of an engine / acceptance length of the model's other engines together.",
    action="If it is low, compare the engine's traffic, arguments and answers with the others'.",
    note="Shown if at least two engines of a model draft enough, at one K.",
    better=Better.HIGHER,
    expr=_unless_of_model(
        _unless_of_model(
            acceptance_length.per(1 + other_engines(accepted_tokens) / other_engines(drafts))
            & (enough_drafts & (InWindow(other_engines(drafts)) >= LEAST_DRAFTS)),
            k_differs,
        ),
        adaptive,
    ),
    record="vllm_spec_decode_acceptance_length_to_others:ratio_rate{window}",
    levels=(Level.ENGINE,),
    bands=good_from(Setting("thresholds.outlier"), good="in-line", under="outlier"),
    empty="fewer than two engines draft enough, or K differs",
)
