"""Where a number changes its meaning, and how much traffic a judgement takes; "HEUR" marks a rule of thumb."""

from typing import Self

from pydantic import model_validator

from draftboard.files import Table
from draftboard.settings.fields import AboveZero, Share


class Bands(Table):
    """Acceptance (accepted / drafted tokens) in words. HEUR, and not comparable across draft lengths."""

    fair: Share = 0.4
    healthy: Share = 0.6
    optimal: Share = 0.7
    suspicious: Share = 0.98
    """A long time above this is rarely a good drafter and often a repetition loop."""

    @model_validator(mode="after")
    def _rise(self) -> Self:
        if not self.fair < self.healthy < self.optimal < self.suspicious:
            raise ValueError("must rise: fair < healthy < optimal < suspicious")
        return self


class Thresholds(Table):
    """Where a number changes its meaning. Alerts, panel colours and advice use the same values."""

    acceptance: Bands = Bands()
    pays_clearly: AboveZero = 1.1
    """Expected speedup from which speculation pays; from 1 to this it is about even. HEUR."""
    drop: Share = 0.8
    """Acceptance now over acceptance before, under which the workload or the drafter has changed. HEUR."""
    anomaly: AboveZero = 3.0
    """Standard deviations below the model's own day."""
    usual: AboveZero = 2.0
    """Standard deviations of the model's own day, within which a drop is the turn of another kind of request."""
    deviation_floor: Share = 0.05
    """Least standard deviation assumed, as a share of the mean: small changes of a steady model raise no alert."""
    unfit: Share = 0.05
    """Share of drafted tokens accepted, under which a drafter does not fit its model. HEUR: a broken EAGLE head had
    0.2 %, n-gram drafts on text that hardly repeats 6 %."""
    first_position: Share = 0.7
    """Share of drafts whose first token is accepted, under which a drafter is misaligned. HEUR."""
    gain: Share = 0.02
    """Speedup gained by another K, over which it is advised: what lies within is noise, and a short draft is safer."""
    full_drafts: Share = 0.9
    """Mean draft length over configured K, under which the last position says little: few drafts reach it."""
    outlier: Share = 0.75
    """An engine's acceptance length over that of its model's other engines. HEUR."""
    inconsistent: Share = 0.05
    """Relative error of an identity that the counters hold exactly; rates differ a little where series begin."""
    slower: Share = 0.95
    """Measured speedup against a baseline, under which users wait longer with speculation. The rest is noise. HEUR."""
    tail: AboveZero = 1.5
    """P99 over P50, relative to the model's own day, above which slow requests have become slower. HEUR."""
    slow_steps: AboveZero = 1.5
    """Mean decode step, relative to the engine's own day at the same batch, above which an engine is slow. HEUR."""
    load: Share = 0.2
    """Largest relative difference of comparable sides in an engine's request rate and batch, or in lengths. HEUR."""
    kv_cache: Share = 0.9
    """Share of the KV cache in use, above which the next long request may preempt another. HEUR."""
    preemptions: Share = 0.1
    """Preemptions for each finished request, above which prompts are computed twice too often. HEUR."""
    queue_growth: AboveZero = 1.0
    """Waiting requests per engine more than one window ago, above which the queue grows rather than varies. HEUR."""
    errors: Share = 0.05
    """Share of finished requests that ended in an error, and of HTTP answers that were 5xx. HEUR."""
    chance: AboveZero = 4.0
    """Standard deviations above half the limit of errors, up to which errors of few requests are chance.
    `make false-alarms` simulates it, and the other guards against chance."""
    unfinished: Share = 0.2
    """Share of started requests that did not finish and do not run, above which clients give up. HEUR."""
    rejections: Share = 0.01
    """Share of requests rejected by a limit of the queue. HEUR."""
    interruptions: AboveZero = 2.0
    """Restarts or failures of a server within rules.remember, above which it is unsteady. HEUR."""
    answered: Share = 0.95
    """Share of scrapes that a server answers, from which a failed one now and then is no interruption. HEUR."""
    servers_down: Share = 0.25
    """Share of a model's servers, above which the others cannot carry their load. HEUR."""
    cut_off: Share = 0.5
    """Share of answers that end at their length limit, above which long answers are the rule. HEUR."""
    disk_left: Share = 0.05
    """Share of a disk that is left, or will be within a day, under which it fills. HEUR."""
    disk_low: Share = 0.4
    """Share of a disk left, under which its growth is looked at: above, it is a download. HEUR."""
    foreign: Share = 0.01
    """Share of the tokens generated during a sweep that none of its responses explains: those are of other traffic."""

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.pays_clearly <= 1:
            raise ValueError("pays_clearly must be over 1, the break-even")
        for name in ("tail", "slow_steps"):
            if getattr(self, name) <= 1:
                raise ValueError(f"{name} must be over 1, no change")
        return self


class Traffic(Table):
    """Least traffic for a judgement: ratios of a handful of drafts are noise."""

    drafts_to_judge: AboveZero = 200
    """Drafts in the window, on each side of a comparison: with fewer there is no verdict, advice or alert. HEUR."""
    drafts_at_depth: AboveZero = 20
    """Drafts accepted to a depth, under which no draft of that length is called the best. HEUR."""
    draft_tokens_to_judge_fit: AboveZero = 2000
    """Drafted tokens from which a drafter that does not fit is told from a bad start. HEUR."""
    steps_to_judge: AboveZero = 200
    """Decode steps of all requests in the window, under which their mean says nothing. HEUR."""
    evaluations_to_compare: AboveZero = 60
    """Evaluations of the past with a like batch, under which none is usual: an hour at the default pace. HEUR."""
    tokens_per_second: AboveZero = 1.0
    requests_per_second: AboveZero = 0.05
    """Three a minute: fifteen in the window of a rate."""
    errors_to_judge: AboveZero = 5
    """Errors within an hour that are told although too few requests come for a judgement by minutes. HEUR."""
    requests_unanswered: AboveZero = 3
    """Requests within the window, of which not one was answered, that tell a hung engine from a single odd request."""
    requests_to_judge: AboveZero = 10
    """Requests started in the window, under which nobody can tell whether requests finish."""
    requests_to_compare: AboveZero = 15
    """Finished requests on each side of a comparison: as many as a rate needs in its window."""
    requests_to_compare_tails: AboveZero = 100
    """Finished requests on each side for a comparison of P99."""


class Planning(Table):
    """Limits above which `draftboard plan vram` warns. Both are HEUR: authors' advice that nobody has measured."""

    target_share: Share = 0.7
    """Target weights over all GPU memory, above which a draft model cuts concurrency."""
    draft_share: Share = 0.15
    """Draft weights over all GPU memory, above which they take too much of the KV cache."""
