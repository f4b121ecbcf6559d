"""Runs a sweep: warm-up, page, requests, page, for one temperature after the other."""

import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import zip_longest

from draftboard.catalogue import latency, serving, speculation
from draftboard.errors import DraftboardError
from draftboard.intervals import LEAST, PARTS, Ratio
from draftboard.output import Progress, no_progress
from draftboard.reading import Page, Tally, lifetime
from draftboard.report import ModelReport, Origin, Reading, Verdict, judged, of_pages, ratios, warnings
from draftboard.settings import Settings
from draftboard.signals.acceptance import acceptance, acceptance_length
from draftboard.status import Status
from draftboard.sweep.client import Api, Batch, explained, require_answers
from draftboard.sweep.plan import BUILT_IN, Plan
from draftboard.sweep.result import Intervals, PerRequest, Production, Row, Spread, Sweep, Tagged
from draftboard.sweep.watch import foreign, foreign_notes, page_of, settled_page, total

_DEFAULTS = Settings()
_NOT_REPORTED = (
    "no response reports its drafts in a form that this release knows: start vLLM (0.29 and newer) with "
    "--per-request-spec-decode-metrics summary"
)
_ONE_PROMPT = "a single prompt does not represent a workload: use --prompts with a file of your own"
_BUILT_IN = "built-in prompts do not represent your traffic: use --prompts with a file of your own"
_FEW = f"they require {LEAST} answers at a temperature"
RULES_OF_THUMB = {
    Status.BAD: "disable",
    Status.WARN: "near break-even",
    Status.GOOD: "likely benefit",
    Status.BEST: "likely benefit",
    Status.ODD: "likely benefit, unless it is a repetition loop",
}
"""What acceptance alone suggests, by its range in the settings. Heuristic."""


def sweep(
    plan: Plan,
    settings: Settings = _DEFAULTS,
    *,
    progress: Progress = no_progress,
    sleep: Callable[[float], None] = time.sleep,
) -> Sweep:
    """Sweep a server's temperatures. An interruption, or a server that stops responding, ends it with partial results.

    `progress` receives a description, the requests done and their number; `sleep` waits for the server's counters.

    Raises:
        DraftboardError: the server does not answer, does not speculate, or completes nothing.
    """
    api = Api(plan, sleep)
    page = page_of(api)
    grown = lifetime(page)
    if total(grown, speculation.DRAFTS) is None or page.v0:
        model = Reading([page], grown, settings, "", origin=Origin.LIFETIME).report().models[0]
        raise DraftboardError(f"{page.source}: nothing to sweep: {model.state}: {model.verdict.reasons[0]}")
    run = _Run(plan, plan.model or grown.tallies[0].model, settings, api, progress)
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
    notes = {
        _BUILT_IN: plan.prompts is BUILT_IN,
        _ONE_PROMPT: len(plan.prompts.all) == 1,
        _NOT_REPORTED: bool(run.done) and not any(row.by_request for row in run.done),
        f"no 95 % intervals: {_FEW}": any(row.intervals.time_per_token is None for row in run.done),
    }
    return Sweep(
        server=api.name,
        model=run.model,
        prompts=len(plan.prompts.all),
        prompts_source=plan.prompts.source,
        concurrency=plan.concurrency,
        max_tokens=plan.max_tokens,
        warm_up=plan.warm_up,
        rows=tuple(run.done),
        production=None if wanted is None else _at_production(wanted, run.done),
        interrupted=interrupted,
        failure=failure,
        notes=tuple(note for note, applies in notes.items() if applies),
    )


@dataclass
class _Run:
    plan: Plan
    model: str
    settings: Settings
    api: Api
    progress: Progress
    done: list[Row] = field(default_factory=list)
    ended: int = 0  # Requests.
    answered: bool = False  # Whether there was a completion.

    def at(self, temperature: float) -> None:
        """Add the row of a temperature; if interrupted, of the requests sent so far."""
        plan, start, warm_up, batch = self.plan, page_of(self.api), Batch([]), Batch([])
        self._send(f"warming up for temperature {temperature:g}", temperature, plan.warm_up, warm_up)
        before, interrupted, pages = settled_page(self.api, start, warm_up), None, list[Page]()
        try:
            self._send(f"temperature {temperature:g}", temperature, plan.requests, batch, pages)
        except KeyboardInterrupt as error:
            interrupted = error
        if batch.outcomes or not interrupted:
            pages = [before, *pages, settled_page(self.api, before, batch)]
            self.done.append(self._row(temperature, pages, batch))
        if interrupted:
            raise interrupted

    def _send(
        self, what: str, temperature: float, requests: int, batch: Batch, pages: list[Page] | None = None
    ) -> None:
        """Send a batch; `pages` receives a page after each part, if there are enough requests for parts."""
        steps = len(self.plan.temperatures) * (self.plan.warm_up + self.plan.requests)
        part = math.ceil(requests / PARTS) if pages is not None and requests >= LEAST else requests

        def ended() -> None:
            self.ended += 1
            self.progress(what, self.ended, steps)
            done = len(batch.outcomes)
            if pages is not None and done < requests and done % part == 0:
                with suppress(DraftboardError):  # a longer part follows
                    pages.append(page_of(self.api))

        self.progress(what, self.ended, steps)
        self.api.complete(self.plan.prompts_of(requests), self.model, temperature, batch, ended)
        self.answered |= bool(batch.answers)
        if not self.answered:
            require_answers(batch, self.api, self.model)

    def _row(self, temperature: float, pages: Sequence[Page], batch: Batch) -> Row:
        plan, outcomes = self.plan, batch.outcomes
        report = of_pages(pages, self.settings, plan.method)
        # vLLM counts adapters and further names under the first name that it serves.
        server = next((model for model in report.models if model.model == self.model), report.models[0])
        others = foreign(plan, self.settings, pages[0], pages[-1], batch)
        tags = {outcome.tag for outcome in outcomes} if any(prompt.tag for prompt in plan.prompts.all) else ()
        failures = Counter(outcome.failure for outcome in outcomes if outcome.completion is None)
        often = failures.most_common()
        notes = [f"{count} of {len(outcomes)} requests failed: {explained(why)}" for why, count in often]
        notes += [*foreign_notes(others), *warnings(server)]
        if server.model != self.model and len(report.models) > 1:
            notes.append(f"the server has several models, none named {self.model}: these numbers are of {server.model}")
        thumb = None
        share = server.speculation.acceptance if server.speculation else None
        if share is not None and server.verdict.says is not None:
            thumb = RULES_OF_THUMB[acceptance.step_of(share, self.settings).status]
        return Row(
            temperature=temperature,
            requests=plan.requests,
            answered=len(batch.answers),
            failures=dict(sorted(failures.items())),
            given_up=batch.begun - len(outcomes),
            tokens=batch.tokens,
            seconds=batch.seconds,
            tokens_per_second=batch.tokens / batch.seconds if batch.seconds else None,
            time_per_token=Spread.of(batch.times_per_token),
            intervals=_intervals(server, batch.times_per_token),
            server=server,
            rule_of_thumb=thumb,
            by_request=by_request(batch, plan.method, self.settings)[0],
            by_tag=tuple(self._tagged(tag, batch) for tag in sorted(tags)),
            foreign=others,
            notes=(*notes, *report.notes),
        )

    def _tagged(self, tag: str, batch: Batch) -> Tagged:
        own = Batch([outcome for outcome in batch.outcomes if outcome.tag == tag])
        drafts, verdict = by_request(own, self.plan.method, self.settings)
        return Tagged(tag, len(own.outcomes), len(own.answers), Spread.of(own.times_per_token), drafts, verdict)


def _intervals(server: ModelReport, times: Sequence[float]) -> Intervals:
    of_server = ratios(server.parts)
    mean = Ratio.of([(time, 1.0) for time in times])
    known = {"acceptance": of_server.get(acceptance.name), "acceptance_length": of_server.get(acceptance_length.name)}
    return Intervals(
        **{name: one.estimate if one else None for name, one in (known | {"time_per_token": mean}).items()}
    )


def by_request(batch: Batch, method: str, settings: Settings) -> tuple[PerRequest | None, Verdict | None]:
    """Drafts as the responses report them, judged like a server's counters; None where no response reports them."""
    reported = [answer.drafts for answer in batch.answers if answer.drafts]
    if not reported:
        return None, None
    drafting = [drafts for drafts in reported if drafts.num_draft_tokens]
    histogram = tuple(map(sum, zip_longest(*(drafts.acceptance_histogram for drafts in reported), fillvalue=0)))
    each = [(one.num_accepted_draft_tokens, one.num_draft_tokens, one.num_spec_steps) for one in drafting]
    tokens = sum(answer.tokens for answer in batch.answers if answer.drafts)
    drafts, accepted = sum(histogram), sum(one.num_accepted_draft_tokens for one in drafting)
    # Beyond the first token of each, what no draft yields is of plain steps; a stop cuts off tokens, never steps.
    plain = max(tokens - len(reported) - drafts - accepted, 0)
    counted: dict[tuple[str, tuple[tuple[str, str], ...]], float] = {
        (serving.GENERATION_TOKENS.name, ()): tokens,
        (latency.TIME_TO_FIRST_TOKEN.count.name, ()): len(reported),
        (latency.STEP_LATENCY.count.name, ()): drafts + plain,
        (speculation.DRAFTS.name, ()): drafts,
        (speculation.DRAFT_TOKENS.name, ()): sum(drafted for _, drafted, _ in each),
        (speculation.ACCEPTED_TOKENS.name, ()): accepted,
    }
    for j in range(1, len(histogram)):
        counted[speculation.ACCEPTED_TOKENS_PER_POS.name, (("position", str(j - 1)),)] = sum(histogram[j:])
    model = judged(Tally("", "", "", counted, {}), None, method, settings)
    pairs = (zip(one.per_step_accepted or (), one.per_step_drafted or (), strict=True) for one in drafting)
    of_requests = PerRequest(
        requests=len(reported),
        undrafted=len(reported) - len(drafting),
        sample=model.sample,
        histogram=histogram,
        acceptance=Spread.of([accepted / drafted for accepted, drafted, _ in each]),
        acceptance_length=Spread.of([1 + accepted / drafts for accepted, _, drafts in each]),
        step_acceptance=Spread.of([accepted / drafted for steps in pairs for accepted, drafted in steps if drafted]),
    )
    return of_requests, model.verdict


def _at_production(temperature: float, rows: Sequence[Row]) -> Production | None:
    """The verdict at the nearest temperature (the higher of two), and why production may differ."""
    answered = [row for row in rows if row.answered]
    if not answered:
        return None
    # Rounded: 0.4 and 0.8 are equally far from 0.6, though their differences are not.
    distances = {(round(abs(row.temperature - temperature), 6), -row.temperature): row for row in answered}
    nearest = distances[min(distances)]
    at, verdict = nearest.temperature, nearest.server.verdict
    warnings = {
        f"{temperature:g} was not swept, {at:g} is the nearest: add it to --temperatures": at != temperature,
        f"temperature 0 is greedy decoding, which says nothing about {temperature:g}": at == 0 < temperature,
        "this is optimistic: as temperature rises, a drafter predicts the sampled token less often": at < temperature,
    }
    reasons = tuple(warning for warning, applies in warnings.items() if applies)
    return Production(temperature, at, verdict, nearest.rule_of_thumb, reasons)
