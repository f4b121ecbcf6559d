"""Values that separate good from bad, and the minimum traffic for a judgement; "Heuristic" marks a rule of thumb."""

from typing import Literal, Self

from pydantic import Field, model_validator

from draftboard.files import Table
from draftboard.settings.fields import AboveZero, ModelPattern, Share


class AcceptanceRanges(Table):
    """Lower bounds of the ranges of draft acceptance. Heuristic, and not comparable across draft lengths."""

    fair: Share = 0.4
    healthy: Share = 0.6
    optimal: Share = 0.7
    suspicious: Share = 0.98
    """Acceptance that stays above this is rarely a good drafter and often a repetition loop."""

    @model_validator(mode="after")
    def _rise(self) -> Self:
        if not self.fair < self.healthy < self.optimal < self.suspicious:
            raise ValueError("must rise: fair < healthy < optimal < suspicious")
        return self


class Thresholds(Table):
    """Values that separate good from bad. Alerts, panel colours and advice use the same ones."""

    acceptance: AcceptanceRanges = AcceptanceRanges()
    pays_clearly: AboveZero = 1.1
    """Expected speedup from which speculation pays. From 1 to this value it breaks about even. Heuristic."""
    drop: Share = 0.8
    """Acceptance now / acceptance earlier, below which the workload or the drafter has changed. Heuristic."""
    anomaly: AboveZero = 3.0
    """Standard deviations below the mean of the model's own day, from which a length is unusual."""
    usual: AboveZero = 2.0
    """Standard deviations of the model's own day, within which a drop comes from another mix of requests."""
    deviation_floor: Share = 0.05
    """Minimum standard deviation as a share of the mean, so that small changes of a steady model fire no alert."""
    unfit: Share = 0.05
    """Share of draft tokens accepted, below which a drafter does not fit its model. Heuristic: a broken EAGLE head had
    0.2 %, n-gram drafts on text that hardly repeats had 6 %."""
    first_position: Share = 0.7
    """Share of drafts whose first token is accepted, below which a drafter is misaligned. Heuristic."""
    gain: Share = 0.02
    """Relative gain in speedup above which another K is advised. Smaller gains are noise, and a short draft is
    safer."""
    full_drafts: Share = 0.9
    """Mean draft length / configured K, below which the last position says little: few drafts reach it."""
    outlier: Share = 0.75
    """Acceptance length of an engine / that of its model's other engines, below which it is an outlier. Heuristic."""
    inconsistent: Share = 0.05
    """Largest relative error of an identity of the counters. Rates differ slightly when series begin."""
    lens_coverage: Share = 0.9
    """Share of vLLM's draft tokens that the lens sees, below which classes of requests are not judged. Heuristic."""
    class_share: Share = 0.05
    """Share of a model's requests from which a class of them that loses is worth an alert. Heuristic."""
    slower: Share = 0.95
    """Measured speedup over a baseline, below which users wait longer with speculation. Heuristic."""
    tail: AboveZero = 1.5
    """P99 over P50, relative to the model's own day, above which slow requests have become slower. Heuristic."""
    slow_steps: AboveZero = 1.5
    """Mean decode step, relative to the engine's own day at the same batch, above which it is slow. Heuristic."""
    load: Share = 0.2
    """Largest relative difference at which request rates, batches or lengths of two sides count as alike. Heuristic."""
    kv_cache: Share = 0.9
    """Share of the KV cache in use, above which the next long request may preempt another. Heuristic."""
    preemptions: Share = 0.1
    """Preemptions per finished request, above which too many prompts are computed twice. Heuristic."""
    late_first_token: AboveZero = 10.0
    """Mean time to first token in seconds, above which a report says before its verdict that users wait. Heuristic."""
    queue_growth: AboveZero = 1.0
    """Increase of waiting requests per engine within one window, above which the queue grows. Heuristic."""
    queue_wait: AboveZero = 30.0
    """Longest estimated wait in the queue, in seconds: users leave a chat that shows nothing for longer. Heuristic."""
    errors: Share = 0.05
    """Largest share of finished requests with an error, and of HTTP responses with 5xx. Heuristic."""
    chance: AboveZero = 3.0
    """Standard deviations above the threshold of errors, up to which errors of few requests are chance.
    `make false-alarms` simulates this and the other guards against chance."""
    unfinished: Share = 0.2
    """Largest share of accepted requests that never finish: clients abandoned them. Heuristic."""
    unfinished_of_model: dict[ModelPattern, Share] = Field(
        default={}, max_length=64, examples=[{"qwen-coder-fim": 0.9}]
    )
    """`unfinished` of models whose clients cancel by design, such as completions in an editor, by name or regular
    expression."""
    refused: Share = 0.9
    """Share of requests for generated text that are answered with 4xx or rejected, from which nobody is served.
    Heuristic."""
    rejections: Share = 0.01
    """Largest share of requests rejected by a limit of the queue. Heuristic."""
    interruptions: AboveZero = 2.0
    """Restarts or failures of a server within rules.remember, above which it is flapping. Heuristic."""
    answered: Share = 0.95
    """Share of answered scrapes, from which an occasional failed one is no interruption. Heuristic."""
    servers_down: Share = 0.25
    """Share of a model's servers that are down, above which the others cannot carry their load. Heuristic."""
    cut_off: Share = 0.5
    """Share of answers that reach their length limit, above which most are long. Heuristic."""
    disk_left: Share = 0.05
    """Free share of a disk, now or within a day, below which it is filling up. Heuristic."""
    disk_low: Share = 0.4
    """Free share of a disk, below which its growth is extrapolated. Above, growth is a download. Heuristic."""
    new_series: AboveZero = 500.0
    """New series a scrape of one target, as a mean, above which they churn: a page of vLLM has about 450. Heuristic."""
    foreign: Share = 0.01
    """Largest share of tokens generated during a sweep that none of its responses explains: those of other traffic."""

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.pays_clearly <= 1:
            raise ValueError("pays_clearly must be over 1, the break-even")
        for name in ("tail", "slow_steps"):
            if getattr(self, name) <= 1:
                raise ValueError(f"{name} must be over 1, no change")
        return self


class Traffic(Table):
    """Minimum traffic for a judgement: ratios of a handful of drafts are noise."""

    drafts_to_judge: AboveZero = 200
    """Drafts in the window, on each side of a comparison. Below it, there is no verdict, advice or alert."""
    drafts_at_depth: AboveZero = 20
    """Drafts accepted up to a position, below which no draft of that length is called the best. Heuristic."""
    draft_tokens_to_judge_fit: AboveZero = 2000
    """Draft tokens from which a misfit of the drafter differs from a bad start. Heuristic."""
    steps_to_judge: AboveZero = 200
    """Decode steps of all requests in the window, below which their mean is noise. Heuristic."""
    evaluations_to_compare: AboveZero = 60
    """Past evaluations with a like batch, below which there is no usual step time: an hour by default. Heuristic."""
    tokens_per_second: AboveZero = 1.0
    requests_per_second: AboveZero = 0.05
    """Three per minute, so fifteen in the window of a rate."""
    errors_to_judge: AboveZero = 5
    """Errors within an hour that fire although there are too few requests for a shorter window. Heuristic."""
    requests_unanswered: AboveZero = 3
    """Unanswered requests within the window from which an engine counts as hung."""
    requests_to_judge: AboveZero = 10
    """Requests started in the window, below which it is unknown whether requests finish."""
    requests_to_compare: AboveZero = 15
    """Finished requests on each side of a comparison, as many as a rate needs in its window."""
    requests_to_compare_tails: AboveZero = 100
    """Finished requests on each side for a comparison of P99."""

    def to_compare(self, sample: Literal["requests", "tokens"]) -> float:
        """Minimum on each side of a comparison, of what times per output token are counted by."""
        return {"requests": self.requests_to_compare, "tokens": self.steps_to_judge}[sample]


class Planning(Table):
    """Values above which `draftboard plan vram` warns. Both are advice of authors without a measurement."""

    target_share: Share = 0.7
    """Target weights / all GPU memory, above which a draft model cuts concurrency."""
    draft_share: Share = 0.15
    """Draft weights / all GPU memory, above which they take too much of the KV cache."""
