"""What one engine counted, made up from plain numbers."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence

from draftboard.catalogue import Histogram, Metric, latency, serving, speculation
from draftboard.reading import Tally

BOUNDS = (0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5, 1, 2.5, 5, 10, 20, 40)
Counted = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def tally(
    accepted: Sequence[float] = (),
    *,
    drafts: float | None = None,
    drafted: float | None = None,
    generated: float | None = None,
    prompts: float | None = None,
    requests: float | None = None,
    steps: float | None = None,
    times: Mapping[Histogram, Sequence[float]] | None = None,
    model: str = "m",
) -> Tally:
    """Counters that are None are not exposed. Drafts have full length unless drafted tokens are given.

    With drafts, steps that are None are all drafted, and nothing else is generated.
    """
    counted: Counted = {}

    def count(metric: Metric, value: float | None, **labels: str) -> None:
        if value is not None:
            counted[metric.name, tuple(sorted(labels.items()))] = float(value)

    count(speculation.DRAFTS, drafts)
    if drafts is not None:
        count(speculation.DRAFT_TOKENS, drafts * len(accepted) if drafted is None else drafted)
        count(speculation.ACCEPTED_TOKENS, sum(accepted))
    for position, tokens in enumerate(accepted):
        count(speculation.ACCEPTED_TOKENS_PER_POS, tokens, position=str(position))
    if drafts and steps is None and generated is None:
        steps, generated = drafts, drafts + sum(accepted)
        count(latency.TIME_TO_FIRST_TOKEN.count, 0)
    count(serving.GENERATION_TOKENS, generated)
    count(serving.PROMPT_TOKENS, prompts)
    count(serving.REQUESTS_FINISHED, requests, finished_reason="stop")
    count(latency.STEP_LATENCY.count, steps)
    for histogram, samples in (times or {}).items():
        ordered = sorted(samples)
        for bound in (*BOUNDS, float("inf")):
            count(histogram.bucket, bisect_right(ordered, bound), le=str(bound))
        count(histogram.sum, sum(samples))
        count(histogram.count, len(samples))
    return Tally("a:8000", model, "0", counted, {})
