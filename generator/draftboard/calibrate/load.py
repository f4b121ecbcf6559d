"""Windows of a load that is sent: the same prompts to a baseline and to candidates in turns, at several concurrencies.

A window ends when the first of the requests in flight has no successor: until then the batch is as large as asked for.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from draftboard.access import shown
from draftboard.calibrate.windows import BASELINE, Measured, Window
from draftboard.catalogue import latency, serving, speculation
from draftboard.errors import DraftboardError
from draftboard.output import Progress
from draftboard.reading import Page, Since, counts_of, growth, lifetime
from draftboard.settings import Settings
from draftboard.signals import Level
from draftboard.signals.costs import decode_batch
from draftboard.sweep import Api, Batch, Plan, Watch, explained, foreign, foreign_notes, require_answers, total

_NEEDED = (latency.STEP_LATENCY.count, latency.STEP_LATENCY.sum, serving.GENERATION_TOKENS)
_DEFAULTS = Settings()  # No setting changes what is counted of a page.
_LOWEST = 0.8  # Of the concurrency, under which the server did not run the batch that it was sent. HEUR


@dataclass(frozen=True, kw_only=True)
class Load:
    """What is sent: `requests` for each one in flight, in each round; the first round warms up and does not count."""

    concurrency: tuple[int, ...] = (1, 2, 4, 8)
    rounds: int = 5
    requests: int = 4
    temperature: float = 0.0
    plan: Plan
    """Prompts, lengths, access and times; its server, concurrency and requests are replaced."""


@dataclass
class _Arm:
    """One server."""

    name: str
    plan: Plan
    settings: Settings
    sleep: Callable[[float], None]
    failures: Counter[str] = field(default_factory=Counter)
    disturbed: list[str] = field(default_factory=list)

    def model(self) -> str:
        """As it names it. DraftboardError where it is no arm of this kind."""
        page = self._watch(Api(self.plan)).page()
        grown = lifetime(page)
        speculates = total(grown, speculation.DRAFTS) is not None
        if not grown.tallies or page.v0:
            raise DraftboardError(f"{page.source}: no vLLM with its V1 engine is measured there")
        if self.name == BASELINE and speculates:
            raise DraftboardError(f"{page.source}: the baseline speculates: start it without --speculative-config")
        if self.name != BASELINE and not speculates:
            raise DraftboardError(f"{page.source}: the candidate does not speculate: name the baseline first")
        if any(total(grown, metric) is None for metric in _NEEDED):
            raise DraftboardError(f"{page.source}: step latency is not exposed: vLLM 0.10.2 or newer is needed")
        return grown.tallies[0].model

    def window(self, concurrency: int, requests: int, temperature: float) -> Window:
        """Send the prompts once."""
        plan = replace(self.plan, concurrency=concurrency, requests=requests)
        api, batch = Api(plan), Batch([])
        watch, full, lost = self._watch(api), list[Page](), list[DraftboardError]()
        before = watch.page()

        def ended() -> None:
            if len(batch.outcomes) == requests - concurrency + 1:
                try:
                    full.append(watch.page())
                except DraftboardError as error:  # which a group of tasks would wrap
                    lost.append(error)

        api.complete(plan.asked(requests), plan.model, temperature, batch, ended)
        require_answers(batch, api, plan.model)
        if lost:
            raise lost[0]
        self.failures.update(outcome.failure for outcome in batch.outcomes if outcome.completion is None)
        self.disturbed += foreign_notes(foreign(plan, self.settings, before, watch.settled(before, batch), batch))
        return counted(self.name, concurrency, before, full[0])

    def notes(self) -> Iterator[str]:
        """What went wrong here."""
        name = shown(Api(self.plan).base)
        for failure, count in self.failures.most_common():
            yield f"{name}: {count:,} requests failed: {explained(failure)}"
        if self.disturbed:
            yield f"{name}: {len(self.disturbed)} rounds were disturbed, the last by {self.disturbed[-1]}"

    def _watch(self, api: Api) -> Watch:
        return Watch(api, self.plan.access, self.sleep)


def counted(arm: str, concurrency: int, before: Page, after: Page) -> Window:
    """The window between two pages of a server. DraftboardError where its counters do not tell."""
    grown = growth(before, after)
    if any(tally.since is not Since.WINDOW for tally in grown.tallies):
        raise DraftboardError(f"{after.source}: the server restarted meanwhile: measure anew")
    metrics = (*_NEEDED, latency.TIME_TO_FIRST_TOKEN.count)
    steps, seconds, generated, first = (total(grown, metric) or 0.0 for metric in metrics)
    if steps <= 0 or seconds <= 0 or generated <= first:
        raise DraftboardError(
            f"{after.source}: no decode steps within a round at concurrency {concurrency}: raise --requests or "
            "--max-tokens"
        )
    batches = counts_of(grown.tallies, _DEFAULTS).read(decode_batch, Level.FLEET)
    return Window(
        arm=arm,
        load=concurrency,
        batch=max(1.0, *batches.values()),
        steps=steps,
        seconds=seconds,
        tokens=generated - first,
        drafts=total(grown, speculation.DRAFTS) or 0.0,
        drafted=total(grown, speculation.DRAFT_TOKENS) or 0.0,
    )


def of_load(
    baseline: str,
    candidates: Sequence[str],
    load: Load,
    settings: Settings,
    *,
    progress: Progress = lambda *_: None,
    sleep: Callable[[float], None] = time.sleep,
) -> Measured:
    """Send the load to all servers in turns, so that what disturbs the machine disturbs every arm.

    Raises:
        DraftboardError: a server does not answer, or is no arm of one model.
    """
    arms = [
        _Arm(BASELINE if not number else shown(Api(plan).base), plan, settings, sleep)
        for number, server in enumerate((baseline, *candidates))
        for plan in (replace(load.plan, server=server),)
    ]
    if len({Api(arm.plan).base for arm in arms}) < len(arms):
        raise DraftboardError("a server is named twice: name each once")
    served = [arm.model() for arm in arms]
    names = [load.plan.model] if load.plan.model else served
    if len(set(names)) > 1:
        told = ", ".join(map(repr, dict.fromkeys(names)))
        raise DraftboardError(f"the servers have different models ({told}): name a common one with --model")
    for arm in arms:
        arm.plan = replace(arm.plan, model=names[0])
    windows, done, rounds = list[Window](), 0, range(load.rounds + 1)
    for concurrency in load.concurrency:
        for number in rounds:
            for arm in arms:
                progress(f"concurrency {concurrency}", done, len(load.concurrency) * len(rounds) * len(arms))
                window = arm.window(concurrency, concurrency * load.requests, load.temperature)
                windows += [window] if number else []
                done += 1
    return Measured(
        origin="load",
        model=names[0],
        method=load.plan.method,
        sources=tuple(shown(Api(arm.plan).base) for arm in arms),
        taken_at=time.time(),
        windows=tuple(windows),
        notes=(*(note for arm in arms for note in arm.notes()), *_low(windows)),
    )


def _low(windows: Sequence[Window]) -> Iterator[str]:
    """Loads that the servers did not run as one batch."""
    for load in sorted({one.load for one in windows}):
        batches = [one.batch for one in windows if one.load == load]
        if min(batches) < _LOWEST * load:
            yield (
                f"Concurrency {load} ran in batches from {min(batches):.3g} to {max(batches):.3g}: results are by batch"
            )
