"""Against what it was and against its siblings: before, the model's own past, the model's other engines."""

import math

from draftboard.expr.promql import binary, first_of, ignoring, number, ratio
from draftboard.signals.acceptance import acceptance, acceptance_length
from draftboard.signals.depth import configured_k
from draftboard.signals.scope import Scope
from draftboard.signals.signal import Better, Level, Signal, Unit, good_from
from draftboard.signals.traffic import accepted_tokens, drafts


def _past(s: Scope, function: str, signal: Signal) -> str:
    """Of a signal over the baseline, the latest stretch left out so that a drop does not excuse itself."""
    rules = s.settings.rules
    return s.over_time(function, signal, rules.baseline, rules.compare_with)


def usual(s: Scope, signal: Signal) -> str:
    """The mean of a signal's past, where enough of it holds samples to call it usual."""
    rules = s.settings.rules
    needed = math.ceil(rules.baseline_needs * rules.baseline.seconds / rules.evaluation_interval.seconds)
    enough = binary(_past(s, "count_over_time", signal), ">=", number(needed))
    return binary(_past(s, "avg_over_time", signal), "and", enough)


def _normal(s: Scope) -> str:
    """The usual length, where K was always what it is."""
    never_longer = binary(s(configured_k), "==", _past(s, "max_over_time", configured_k))
    never_shorter = binary(s(configured_k), "==", _past(s, "min_over_time", configured_k))
    return binary(usual(s, acceptance_length), "and", binary(never_longer, "and", never_shorter))


def _change(s: Scope) -> str:
    """Now over before, where K is what it was: acceptance falls as K grows, which is no drop."""
    before = s.ago(s.settings.rules.compare_with)
    same_k = binary(s(configured_k), "==", before(configured_k))
    return binary(ratio(s(acceptance), before(acceptance)), "and", same_k)


def _deviation(s: Scope) -> str:
    """The standard deviation, at least a small share of the mean."""
    least = binary(number(s.settings.thresholds.deviation_floor), "*", s(length_baseline))
    spread = _past(s, "stddev_over_time", acceptance_length)
    return first_of(binary(spread, ">", least), least)


def other_engines(s: Scope, signal: Signal) -> str:
    """A rate of the other engines of an engine's model, together."""
    labels = s.settings.labels
    return binary(s.at(Level.MODEL)(signal), "-", s(signal), ignoring(labels.instance, labels.engine, group="right"))


acceptance_change = Signal(
    name="acceptance_change",
    title="Acceptance against before",
    question="Has acceptance dropped?",
    description="Draft acceptance now / draft acceptance before. A drop at the same K means that the workload or the "
    "drafter has changed; a shorter K is no remedy. Shown while K is what it was; the axis ends at 200 %.",
    unit=Unit.RATIO,
    better=Better.HIGHER,
    expr=_change,
    record="vllm_spec_decode_acceptance:change{before}_ratio_rate{window}",
    bands=lambda settings: good_from(settings.thresholds.drop, good="as-before", under="dropped"),
    empty="no drafts now, or none before",
    most=2,
)
length_baseline = Signal(
    name="length_baseline",
    title="Own normal length",
    question="What is normal for this model?",
    description="Mean of the mean acceptance length over the model's own past, its latest stretch left out. Shown "
    "once enough of that past holds samples, unless K was another then.",
    unit=Unit.TOKENS,
    expr=_normal,
    record="vllm_spec_decode_acceptance_length:avg{baseline}_mean_rate{window}",
    empty="too little history to call anything normal",
    decimals=2,
)
length_deviation = Signal(
    name="length_deviation",
    title="Own spread of length",
    question="How much does this model usually vary?",
    description="Standard deviation of the mean acceptance length over the same past, at least a small share of the "
    "mean.",
    unit=Unit.TOKENS,
    expr=_deviation,
    record="vllm_spec_decode_acceptance_length:stddev{baseline}_mean_rate{window}",
    empty="too little history to call anything normal",
    decimals=2,
)
length_anomaly = Signal(
    name="length_anomaly",
    title="Length against its own past",
    question="Is this unusual for this model?",
    description="(Mean acceptance length - its own normal) / its own spread: 0 is normal, -3 is rare.",
    unit=Unit.DEVIATIONS,
    expr=lambda s: ratio(binary(s(acceptance_length), "-", s(length_baseline)), s(length_deviation)),
    record="vllm_spec_decode_acceptance_length:zscore{baseline}_mean_rate{window}",
    bands=lambda settings: good_from(-settings.thresholds.anomaly, good="normal", under="unusually-low"),
    empty="too little history to call anything normal",
    decimals=1,
    least=None,
)
length_to_others = Signal(
    name="length_to_others",
    title="Length against the other engines",
    question="Is one engine worse than its siblings?",
    description="Acceptance length of an engine / acceptance length of its model's other engines together. Shown "
    "where a model has two or more engines that draft.",
    unit=Unit.RATIO,
    expr=lambda s: binary(
        s(acceptance_length),
        "/",
        binary("1", "+", ratio(other_engines(s, accepted_tokens), other_engines(s, drafts))),
    ),
    record="vllm_spec_decode_acceptance_length_to_others:ratio_rate{window}",
    levels=(Level.ENGINE,),
    bands=lambda settings: good_from(settings.thresholds.outlier, good="in-line", under="outlier"),
    empty="fewer than two engines draft",
)

SIGNALS = (acceptance_change, length_baseline, length_deviation, length_anomaly, length_to_others)
