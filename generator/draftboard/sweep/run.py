"""The sweep itself: warm-up, page, requests, page, for one temperature after the other."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from draftboard.catalogue import serving, speculation
from draftboard.errors import DraftboardError
from draftboard.reading import Page, growth, lifetime, scrape
from draftboard.report import Origin, Reading
from draftboard.settings import Settings
from draftboard.sweep.client import Api, Batch, explained
from draftboard.sweep.plan import BUILT_IN, Plan
from draftboard.sweep.result import SCHEMA_VERSION, Production, Row, Sweep
from draftboard.sweep.rows import Rows, running_on, total

_DEFAULTS = Settings()
_PAUSE, _TRIES = 0.2, 15
_NOT_REPORTED = (
    "no response reports its drafts in a form that this release knows: start vLLM (0.29 and newer) with "
    "--per-request-spec-decode-metrics summary"
)
_ONE_PROMPT = "a single prompt does not represent a workload: use --prompts with a file of your own"
_BUILT_IN = "built-in prompts do not represent your traffic: use --prompts with a file of your own"


def sweep(
    plan: Plan,
    settings: Settings = _DEFAULTS,
    *,
    progress: Callable[[str, int, int], None] = lambda *_: None,
    sleep: Callable[[float], None] = time.sleep,
) -> Sweep:
    """Sweep a server's temperatures. An interruption, or a server that stops answering, ends it with what is done.

    `progress` receives a description, the requests done and the number of requests; `sleep` waits a number of seconds
    while the server counts what it has answered.

    Raises:
        DraftboardError: the server does not answer, does not speculate, or completes nothing.
    """
    api = Api(plan)
    (page,) = scrape([str(api.base)], plan.access)
    grown = lifetime(page)
    if total(grown, speculation.DRAFTS) is None or page.v0:
        model = Reading([page], grown, settings, "").report(Origin.LIFETIME).models[0]
        raise DraftboardError(f"{page.source}: nothing to sweep: {model.state}: {model.verdict.reasons[0]}")
    run = _Run(Rows(plan, plan.model or grown.tallies[0].model, settings), api, progress, sleep)
    failure, interrupted, wanted = None, False, plan.production_temperature
    try:
        for temperature in plan.temperatures:
            run.at(temperature)
    except KeyboardInterrupt:
        interrupted = True
    except DraftboardError as error:
        if not run.done:
            raise
        failure = str(error)
    notes = (
        (_BUILT_IN, plan.prompts is BUILT_IN),
        (_ONE_PROMPT, len(plan.prompts.all) == 1),
        (_NOT_REPORTED, bool(run.done) and not any(row.by_request for row in run.done)),
    )
    return Sweep(
        schema_version=SCHEMA_VERSION,
        server=api.name,
        model=run.rows.model,
        prompts=len(plan.prompts.all),
        prompts_source=plan.prompts.source,
        concurrency=plan.concurrency,
        max_tokens=plan.max_tokens,
        warm_up=plan.warm_up,
        rows=tuple(run.done),
        production=None if wanted is None else _at_production(wanted, run.done),
        interrupted=interrupted,
        failure=failure,
        notes=tuple(note for note, applies in notes if applies),
    )


@dataclass
class _Run:
    """A sweep in progress."""

    rows: Rows
    api: Api
    progress: Callable[[str, int, int], None]
    sleep: Callable[[float], None]
    done: list[Row] = field(default_factory=list)
    ended: int = 0
    """Requests."""
    answered: bool = False
    """Whether there was a completion."""

    def at(self, temperature: float) -> None:
        """Add a row for one temperature, or for the part of it that was done when it was interrupted.

        Raises:
            KeyboardInterrupt: it was interrupted.
            DraftboardError: the server does not answer, or completes nothing.
        """
        plan, start, warm_up, batch = self.rows.plan, self._page(), Batch([]), Batch([])
        self._send(f"warming up for temperature {temperature:g}", temperature, plan.warm_up, warm_up)
        before = self._settled(start, warm_up)
        try:
            self._send(f"temperature {temperature:g}", temperature, plan.requests, batch)
        except KeyboardInterrupt:
            if batch.outcomes:
                self.done.append(self.rows.row(temperature, before, self._settled(before, batch), batch))
            raise
        self.done.append(self.rows.row(temperature, before, self._settled(before, batch), batch))

    def _send(self, what: str, temperature: float, requests: int, batch: Batch) -> None:
        plan = self.rows.plan
        steps = len(plan.temperatures) * (plan.warm_up + plan.requests)

        def ended() -> None:
            self.ended += 1
            self.progress(what, self.ended, steps)

        self.progress(what, self.ended, steps)
        self.api.complete(plan.asked(requests), self.rows.model, temperature, batch, ended)
        self.answered |= bool(batch.answers)
        if batch.outcomes and not self.answered:
            raise DraftboardError(
                f"{self.api.name}: none of {len(batch.outcomes)} requests to {self.rows.model} was answered with a "
                f"completion: {explained(batch.outcomes[0].failure)}"
            )

    def _settled(self, since: Page, batch: Batch) -> Page:
        """The page once the server runs nothing and has counted its answers, which takes it a moment."""
        for _ in range(_TRIES):
            page = self._page()
            counted = total(growth(since, page), serving.GENERATION_TOKENS)
            if (counted is None or counted >= batch.tokens) and not running_on(page):
                return page
            self.sleep(_PAUSE)
        return self._page()

    def _page(self) -> Page:
        (page,) = scrape([str(self.api.base)], self.rows.plan.access)
        return page


def _at_production(temperature: float, rows: Sequence[Row]) -> Production | None:
    """The verdict at the nearest temperature, the higher one of two, and why production may differ."""
    # Rounded: 0.4 and 0.8 are equally far from 0.6, though their differences are not.
    nearest = min(
        (row for row in rows if row.answered),
        key=lambda row: (round(abs(row.temperature - temperature), 6), -row.temperature),
        default=None,
    )
    if nearest is None:
        return None
    measured, warnings = nearest.temperature, []
    if measured != temperature:
        warnings.append(f"{temperature:g} was not swept, {measured:g} is the nearest: add it to --temperatures")
    if measured == 0 < temperature:
        warnings.append(f"temperature 0 is greedy decoding, which says nothing about {temperature:g}")
    if measured < temperature:
        warnings.append("this is optimistic: as temperature rises, a drafter predicts the sampled token less often")
    return Production(
        temperature=temperature,
        measured_at=measured,
        verdict=nearest.server.verdict,
        rule_of_thumb=nearest.rule_of_thumb,
        warnings=tuple(warnings),
    )
