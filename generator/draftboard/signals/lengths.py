"""How long prompts and answers are: not only in the mean, which hides the few long ones that slow all others.

Of each one number is recorded: a record of each bound would be as many series again as half of a model's.
"""

from dataclasses import replace

from draftboard.catalogue import Histogram, latency
from draftboard.expr.nodes import rate
from draftboard.signals.distribution import Distribution, bound_of, mean_of, ranges_of, record_of, together_of
from draftboard.signals.signal import Better, Signal, Unit


def _lengths(metric: Histogram, *, name: str, what: str, short: str, action: str) -> Distribution:
    words = {"name": name, "what": what, "short": short, "action": action}
    mean = replace(mean_of(metric, unit=Unit.TOKENS, **words), better=Better.NEITHER, record=None)

    def bound(percent: int, upper: bool) -> Signal:
        one = bound_of(metric, percent, rate(metric.bucket), upper=upper, unit=Unit.TOKENS, **words)
        return replace(one, better=Better.NEITHER, decimals=0)

    ranges = ranges_of(bound)
    return Distribution(what, ranges, together_of(replace(mean, decimals=0), ranges))


prompts = _lengths(
    latency.REQUEST_PROMPT_TOKENS,
    name="prompt_length",
    what="Prompt length",
    short="Prompt",
    action="If P99 is far above the mean, look at step latency by context, and plan K by batch and context.",
)
answers = _lengths(
    latency.REQUEST_GENERATION_TOKENS,
    name="answer_length",
    what="Answer length",
    short="Answer",
    action="If P99 is far above the mean, some requests hold their place for long: look at the end-to-end tail.",
)
longest_prompts, longest_answers = (
    replace(of.bounds(95)[1], record=f"{record_of(metric)}:p95_bound_rate{{window}}", daily=True)
    for of, metric in ((prompts, latency.REQUEST_PROMPT_TOKENS), (answers, latency.REQUEST_GENERATION_TOKENS))
)
