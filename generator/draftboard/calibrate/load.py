"""Windows of a load that is sent: the same prompts to a baseline and to candidates in turns, at several concurrencies.

A window ends when the first of the requests in flight has no successor: until then the batch is as large as wanted.
"""

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from draftboard.calibrate.windows import BASELINE, Measured, Window
from draftboard.catalogue import Histogram, latency, serving, speculation
from draftboard.errors import DraftboardError
from draftboard.expr.to_numbers import values_of
from draftboard.output import Progress, no_progress
from draftboard.reading import Growth, Page, Since, counts_of, growth, lifetime
from draftboard.settings import Settings
from draftboard.settings.objectives import HISTOGRAMS
from draftboard.signals import Level
from draftboard.signals.costs import decode_batch
from draftboard.signals.steps import CONTEXT
from draftboard.sweep import (
    Api,
    Batch,
    Plan,
    Prompts,
    explained,
    foreign,
    foreign_notes,
    page_of,
    require_answers,
    settled_page,
    total,
)

_NEEDED = (latency.STEP_LATENCY.count, latency.STEP_LATENCY.sum, serving.GENERATION_TOKENS)
_DEFAULTS = Settings()  # No setting changes what is counted of a page.
_LOWEST = 0.8  # Of the concurrency, under which the server did not run the batch that it was sent. Heuristic.


@dataclass(frozen=True, kw_only=True)
class Load:
    """What is sent: `requests` for each one in flight, in each round; the first round warms up and does not count."""

    concurrency: tuple[int, ...] = (1, 2, 4, 8)
    rounds: int = 5
    requests: int = 4
    temperature: float = 0.0
    prompts: tuple[Prompts, ...] = ()
    """Of several contexts, each measured by itself; none: those of the plan."""
    plan: Plan
    """Prompts, lengths, access and times; its server, model, concurrency and requests are replaced."""


@dataclass
class _Variant:
    """One server."""

    api: Api
    plan: Plan
    is_baseline: bool
    settings: Settings
    failures: Counter[str] = field(default_factory=Counter)
    disturbances: list[str] = field(default_factory=list)

    def require_model(self) -> str:
        """The model that it serves. DraftboardError where it cannot be measured, or is in the wrong place."""
        page = page_of(self.api)
        grown = lifetime(page)
        speculates = total(grown, speculation.DRAFTS) is not None
        if not grown.tallies or page.v0:
            raise DraftboardError(f"{page.source}: not a vLLM server with the V1 engine")
        if self.is_baseline and speculates:
            raise DraftboardError(f"{page.source}: the baseline speculates: start it without --speculative-config")
        if not self.is_baseline and not speculates:
            raise DraftboardError(f"{page.source}: the candidate does not speculate: name the baseline first")
        if any(total(grown, metric) is None for metric in _NEEDED):
            raise DraftboardError(f"{page.source}: step latency is not exported: requires vLLM 0.10.2 or newer")
        return grown.tallies[0].model

    def window(self, model: str, load: Load, concurrency: int, prompts: Prompts) -> Window:
        """Send one round."""
        requests, batch = concurrency * load.requests, Batch([])
        pages, errors = list[Page](), list[DraftboardError]()
        before = page_of(self.api)

        def ended() -> None:
            if len(batch.outcomes) == requests - concurrency + 1:
                try:
                    pages.append(page_of(self.api))
                except DraftboardError as error:  # which a group of tasks would wrap
                    errors.append(error)

        sent = replace(self.plan, prompts=prompts).prompts_of(requests)
        self.api.complete(sent, model, load.temperature, batch, ended, concurrency=concurrency)
        require_answers(batch, self.api, model)
        if errors:
            raise errors[0]
        self.failures.update(outcome.failure for outcome in batch.outcomes if outcome.completion is None)
        after = settled_page(self.api, before, batch)
        self.disturbances += foreign_notes(foreign(self.plan, self.settings, before, after, batch))
        variant = BASELINE if self.is_baseline else self.api.name
        return window_between(variant, concurrency, before, pages[0], self.settings)

    def notes(self) -> Iterator[str]:
        """Failed requests and disturbed rounds."""
        for failure, count in self.failures.most_common():
            yield f"{self.api.name}: {count:,} requests failed: {explained(failure)}"
        if self.disturbances:
            yield f"{self.api.name}: {len(self.disturbances)} rounds were disturbed, last by {self.disturbances[-1]}"


def window_between(variant: str, concurrency: int, before: Page, after: Page, settings: Settings = _DEFAULTS) -> Window:
    """The window between two pages of a server. DraftboardError where it restarted, or decoded nothing."""
    grown = growth(before, after)
    if any(tally.since is not Since.WINDOW for tally in grown.tallies):
        raise DraftboardError(f"{after.source}: the server restarted during the measurement: run it again")
    metrics = (*_NEEDED, latency.TIME_TO_FIRST_TOKEN.count)
    steps, seconds, generated, first = (total(grown, metric) or 0.0 for metric in metrics)
    if steps <= 0 or seconds <= 0 or generated <= first:
        reason = f"no decode steps within a round at concurrency {concurrency}"
        raise DraftboardError(f"{after.source}: {reason}: raise --requests or --max-tokens")
    batches, contexts = (
        values_of(figure, counts_of(grown.tallies, _DEFAULTS), Level.FLEET) for figure in (decode_batch, CONTEXT)
    )
    return Window(
        variant=variant,
        load=concurrency,
        batch=max(1.0, *batches.values()),
        steps=steps,
        seconds=seconds,
        tokens=generated - first,
        drafts=total(grown, speculation.DRAFTS) or 0.0,
        drafted=total(grown, speculation.DRAFT_TOKENS) or 0.0,
        context=math.ceil(max(contexts.values(), default=0.0)),
        within={name: _within(grown, HISTOGRAMS[name], bound) for name, bound in settings.slo.thresholds.items()},
    )


def _within(grown: Growth, histogram: Histogram, bound: float) -> tuple[float, float]:
    """Samples up to that bound, and all of them."""
    up_to = (
        value
        for tally in grown.tallies
        for (name, labels), value in tally.counted.items()
        if name == histogram.bucket.name and float(dict(labels)["le"]) == bound
    )
    return sum(up_to), total(grown, histogram.count) or 0.0


def of_load(
    baseline: str,
    candidates: Sequence[str],
    load: Load,
    settings: Settings,
    *,
    progress: Progress = no_progress,
    sleep: Callable[[float], None] = time.sleep,
) -> Measured:
    """Send the load to all servers in turns, so that what disturbs the machine disturbs every variant.

    Raises:
        DraftboardError: a server does not answer or cannot be measured, or they serve different models.
    """
    plans = [replace(load.plan, server=server) for server in (baseline, *candidates)]
    variants = [_Variant(Api(plan, sleep), plan, plan is plans[0], settings) for plan in plans]
    if len({variant.api.base for variant in variants}) < len(variants):
        raise DraftboardError("a server is named twice: name each once")
    served = dict.fromkeys(variant.require_model() for variant in variants)
    if len(served) > 1 and not load.plan.model:
        names = ", ".join(map(repr, served))
        raise DraftboardError(f"the servers have different models ({names}): name a common one with --model")
    model = load.plan.model or next(iter(served))
    turns = [
        (prompts, level, number, variant)
        for prompts in load.prompts or (load.plan.prompts,)
        for level in load.concurrency
        for number in range(load.rounds + 1)
        for variant in variants
    ]
    measured: dict[Prompts, list[Window]] = {}
    for done, (prompts, concurrency, number, variant) in enumerate(turns):
        progress(f"concurrency {concurrency}", done, len(turns))
        window = variant.window(model, load, concurrency, prompts)
        measured.setdefault(prompts, []).extend([window] if number else [])
    windows = [one for own in measured.values() for one in _of_one_context(own)]
    return Measured(
        origin="load",
        model=model,
        method=load.plan.method,
        sources=tuple(variant.api.name for variant in variants),
        taken_at=time.time(),
        windows=tuple(windows),
        notes=(*(note for variant in variants for note in variant.notes()), *_low(windows)),
    )


def _of_one_context(windows: Sequence[Window]) -> Iterator[Window]:
    """Windows of the same prompts, which hold up to their longest context."""
    longest = max(one.context for one in windows)
    return (replace(one, context=longest) for one in windows)


def _low(windows: Sequence[Window]) -> Iterator[str]:
    """A note on each concurrency that a server did not run as one batch."""
    for load in sorted({one.load for one in windows}):
        batches = [one.batch for one in windows if one.load == load]
        if min(batches) < _LOWEST * load:
            span = f"{min(batches):.3g} to {max(batches):.3g}"
            yield f"Concurrency {load} ran in batches from {span}: results are by batch"
