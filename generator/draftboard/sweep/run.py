"""The sweep itself: warm-up, page, requests, page, for one temperature after the other."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from draftboard.errors import DraftboardError
from draftboard.reading.fetch import scrape
from draftboard.reading.growth import growth, lifetime
from draftboard.reading.page import Page
from draftboard.report import Origin, Reading
from draftboard.report.totals import totals
from draftboard.settings import Settings
from draftboard.sweep.client import Api, Batch, explained
from draftboard.sweep.foreign import generated, running_on
from draftboard.sweep.objects import SCHEMA_VERSION, Row, Sweep
from draftboard.sweep.plan import Plan
from draftboard.sweep.production import at_production
from draftboard.sweep.prompts import BUILT_IN
from draftboard.sweep.rows import Rows

Progress = Callable[[str, int, int], None]
_DEFAULTS = Settings()
_PAUSE = 0.2
_TRIES = 15
_TELLS_NOTHING = (
    "the server does not say how each request was drafted, so there is nothing by request: start vLLM (0.29 and newer) "
    "with --per-request-spec-decode-metrics summary"
)
_UNREADABLE = "the server says how each request was drafted, but in a form that this release does not know"
_ONE_PROMPT = "one prompt alone was sent: it stands for no workload; name a file of your own with --prompts"
_BUILT_IN = "the prompts are built in, and are not your traffic: name a file of your own with --prompts"


def sweep(
    plan: Plan,
    settings: Settings = _DEFAULTS,
    *,
    progress: Progress = lambda *_: None,
    sleep: Callable[[float], None] = time.sleep,
) -> Sweep:
    """Sweep a server's temperatures. An interruption, or a server that stops answering, ends it with what is done.

    Args:
        plan: What to do.
        settings: Thresholds, costs and names.
        progress: Is told what is being done, how many requests have ended, and how many there are.
        sleep: Waits so many seconds, while the server counts what it has answered.

    Raises:
        DraftboardError: there is nothing to sweep: the server does not answer, does not speculate, or completes
            nothing.
    """
    api = Api(plan)
    (page,) = scrape([api.page], plan.access)
    _require_speculation(page, settings)
    run = _Run(plan, settings, api, plan.model or api.first_model(), progress, sleep)
    rows: list[Row] = []
    failure = None
    try:
        for temperature in plan.temperatures:
            rows.append(run.at(temperature))
            if run.interrupted:
                break
    except KeyboardInterrupt:
        run.interrupted = True
    except DraftboardError as error:
        if not rows:
            raise
        failure = str(error)
    wanted = plan.production_temperature
    return Sweep(
        schema_version=SCHEMA_VERSION,
        server=api.name,
        model=run.model,
        prompts=len(plan.prompts.all),
        prompts_source=plan.prompts.source,
        concurrency=plan.concurrency,
        max_tokens=plan.max_tokens,
        warm_up=plan.warm_up,
        rows=tuple(rows),
        production=None if wanted is None else at_production(wanted, rows),
        interrupted=run.interrupted,
        failure=failure,
        notes=_notes(plan, rows, unreadable=run.unreadable),
    )


@dataclass
class _Run:
    """A sweep under way."""

    plan: Plan
    settings: Settings
    api: Api
    model: str
    progress: Progress
    sleep: Callable[[float], None]
    done: int = 0
    """Requests that have ended."""
    answered: bool = False
    """Whether there was a completion yet."""
    unreadable: bool = False
    """Whether a response told of its drafts in an unknown form."""
    interrupted: bool = False

    def at(self, temperature: float) -> Row:
        """One temperature, or as much of it as there is when it is interrupted.

        Raises:
            KeyboardInterrupt: nothing is done yet.
            DraftboardError: the server does not answer, or completes nothing.
        """
        start = self._page()
        warm_up = Batch([])
        self._send(f"warming up for temperature {temperature:g}", temperature, self.plan.warm_up, warm_up)
        before = self._settled(start, warm_up)
        batch = Batch([])
        try:
            self._send(f"temperature {temperature:g}", temperature, self.plan.requests, batch)
        except KeyboardInterrupt:
            if not batch.outcomes:
                raise
            self.interrupted = True
        after = self._settled(before, batch)
        rows = Rows(self.plan, self.model, self.settings)
        return rows.row(temperature, before, after, growth(before, after), batch)

    def _send(self, what: str, temperature: float, requests: int, batch: Batch) -> None:
        def tell() -> None:
            self.done += 1
            self.progress(what, self.done, self.plan.steps)

        self.progress(what, self.done, self.plan.steps)
        self.api.complete(self.plan.asked(requests), self.model, temperature, batch, tell)
        answers = [outcome.completion for outcome in batch.outcomes if outcome.completion]
        self.answered |= bool(answers)
        self.unreadable |= any(answer.unreadable for answer in answers)
        if batch.outcomes and not self.answered:
            raise DraftboardError(
                f"{self.api.name}: none of {len(batch.outcomes)} requests to {self.model} was answered with a "
                f"completion: {explained(batch.outcomes[0].failure)}"
            )

    def _settled(self, since: Page, batch: Batch) -> Page:
        """The page once the server has counted what it answered, which it does a moment later, and runs nothing."""
        tokens = sum(outcome.completion.tokens for outcome in batch.outcomes if outcome.completion)
        for _ in range(_TRIES):
            page = self._page()
            counted = generated(growth(since, page).tallies)
            if (counted is None or counted >= tokens) and not running_on(page):
                return page
            self.sleep(_PAUSE)
        return self._page()

    def _page(self) -> Page:
        (page,) = scrape([self.api.page], self.plan.access)
        return page


def _require_speculation(page: Page, settings: Settings) -> None:
    """Drafts must be counted, in the words of the report where they are not."""
    grown = lifetime(page)
    if totals(grown.tallies).drafts is not None and not page.v0:
        return
    model = Reading([page], grown, settings, "").report(Origin.LIFETIME).models[0]
    raise DraftboardError(f"{page.source}: nothing to sweep: {model.state}: {model.verdict.reasons[0]}")


def _notes(plan: Plan, rows: Sequence[Row], *, unreadable: bool) -> tuple[str, ...]:
    silent = bool(rows) and not any(row.by_request for row in rows)
    return (
        *((_BUILT_IN,) if plan.prompts is BUILT_IN else ()),
        *((_ONE_PROMPT,) if len(plan.prompts.all) == 1 else ()),
        *((_UNREADABLE if unreadable else _TELLS_NOTHING,) if silent else ()),
    )
