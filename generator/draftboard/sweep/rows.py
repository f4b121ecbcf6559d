"""One temperature: what the server counted, what the client measured, and what the responses report."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from draftboard.catalogue import Metric, serving, speculation
from draftboard.reading import Growth, Page, Since, Tally, growth
from draftboard.report import Origin, Reading, Verdict, judged, warnings
from draftboard.settings import Settings
from draftboard.signals.acceptance import acceptance
from draftboard.status import Status
from draftboard.sweep.client import Batch, Outcome, explained
from draftboard.sweep.plan import Plan
from draftboard.sweep.result import Foreign, PerRequest, Row, Spread, Tagged

RULES_OF_THUMB = {
    Status.BAD: "disable",
    Status.WARN: "near break-even",
    Status.GOOD: "likely benefit",
    Status.BEST: "likely benefit",
    Status.ODD: "likely benefit, unless it is a repetition loop",
}
"""What acceptance alone suggests, by its band in the settings. HEUR."""


@dataclass(frozen=True)
class Rows:
    """Makes the rows of a sweep."""

    plan: Plan
    model: str
    settings: Settings

    def row(self, temperature: float, before: Page, after: Page, batch: Batch) -> Row:
        """What happened between two pages, while a batch was sent."""
        grown, outcomes = growth(before, after), batch.outcomes
        report = Reading([after], grown, self.settings, self.plan.method).report(Origin.SCRAPES)
        # vLLM counts adapters and further names under the first name that it serves.
        server = next((model for model in report.models if model.model == self.model), report.models[0])
        foreign = self._foreign(before, after, grown, batch)
        tags = {outcome.tag for outcome in outcomes} if any(prompt.tag for prompt in self.plan.prompts.all) else ()
        failures = Counter(outcome.failure for outcome in outcomes if outcome.completion is None)
        notes = [f"{count} of {len(outcomes)} requests failed: {explained(why)}" for why, count in failures.items()]
        notes += [*_foreign_notes(foreign), *warnings(server)]
        if server.model != self.model and len(report.models) > 1:
            notes.append(f"the server has several models, none named {self.model}: these numbers are of {server.model}")
        thumb = None
        if server.speculation and server.verdict.says is not None:
            thumb = RULES_OF_THUMB[acceptance.step_of(server.speculation.acceptance, self.settings).status]
        return Row(
            temperature=temperature,
            requests=self.plan.requests,
            answered=len(batch.answers),
            failures=dict(sorted(failures.items())),
            given_up=batch.begun - len(outcomes),
            tokens=batch.tokens,
            seconds=batch.seconds,
            tokens_per_second=batch.tokens / batch.seconds if batch.seconds else None,
            time_per_token=batch.time_per_token,
            server=server,
            rule_of_thumb=thumb,
            by_request=self.drafts(batch)[0],
            by_tag=tuple(self._tagged(tag, outcomes) for tag in sorted(tags)),
            foreign=foreign,
            notes=(*notes, *report.notes),
        )

    def drafts(self, batch: Batch) -> tuple[PerRequest | None, Verdict | None]:
        """Drafts as the responses report them, judged as if a server had counted them alone; None where none does."""
        reported = [answer.drafts for answer in batch.answers if answer.drafts]
        if not reported:
            return None, None
        drafting = [drafts for drafts in reported if drafts.num_draft_tokens]
        histogram = tuple(map(sum, zip_longest(*(drafts.acceptance_histogram for drafts in reported), fillvalue=0)))
        counted: dict[tuple[str, tuple[tuple[str, str], ...]], float] = {
            (serving.GENERATION_TOKENS.name, ()): batch.tokens,
            (speculation.DRAFTS.name, ()): sum(histogram),
            (speculation.DRAFT_TOKENS.name, ()): sum(drafts.num_draft_tokens for drafts in drafting),
            (speculation.ACCEPTED_TOKENS.name, ()): sum(drafts.num_accepted_draft_tokens for drafts in drafting),
        }
        for j in range(1, len(histogram)):
            counted[speculation.ACCEPTED_TOKENS_PER_POS.name, (("position", str(j - 1)),)] = sum(histogram[j:])
        found = judged(Tally("", self.model, "", counted, {}), None, self.plan.method, self.settings)
        each = [(one.num_accepted_draft_tokens, one.num_draft_tokens, one.num_spec_steps) for one in drafting]
        steps = [step for one in drafting for step in zip(one.per_step_accepted, one.per_step_drafted, strict=True)]
        of_requests = PerRequest(
            requests=len(reported),
            undrafted=len(reported) - len(drafting),
            sample=found.sample,
            histogram=histogram,
            acceptance=Spread.of([accepted / drafted for accepted, drafted, _ in each]),
            acceptance_length=Spread.of([1 + accepted / drafts for accepted, _, drafts in each]),
            step_acceptance=Spread.of([accepted / drafted for accepted, drafted in steps if drafted]),
        )
        return of_requests, found.verdict

    def _tagged(self, tag: str, outcomes: Sequence[Outcome]) -> Tagged:
        own = Batch([outcome for outcome in outcomes if outcome.tag == tag])
        (drafts, verdict), requests, answered = self.drafts(own), len(own.outcomes), len(own.answers)
        times = own.time_per_token
        return Tagged(
            tag=tag, requests=requests, answered=answered, time_per_token=times, drafts=drafts, verdict=verdict
        )

    def _foreign(self, before: Page, after: Page, grown: Growth, batch: Batch) -> Foreign | None:
        """What the server counted beyond our responses; None where its counters do not tell."""
        generated, finished = total(grown, serving.GENERATION_TOKENS), total(grown, serving.REQUESTS_FINISHED)
        if generated is None or any(tally.since is Since.RESTART for tally in grown.tallies):
            return None
        lost, tokens = batch.begun - len(batch.answers), generated - batch.tokens
        if tokens > 0:
            # A request without a response may have generated up to max_tokens, and may be running still.
            tokens = max(tokens - lost * self.plan.max_tokens, 0.0)
        requests = None if finished is None else max(finished - batch.begun, 0.0)
        running = running_on(before) + (0.0 if lost else running_on(after))
        tolerance, counted, drafts = self.settings.thresholds.foreign, total(grown, speculation.DRAFTS), None
        reported = [answer.drafts.num_spec_steps for answer in batch.answers if answer.drafts]
        if counted is not None and reported and len(reported) == batch.begun:
            drafts = max(counted - sum(reported), 0.0)
        many = tokens > tolerance * generated or (drafts or 0.0) > tolerance * (counted or 0.0) + batch.begun
        return Foreign(
            generated=generated,
            unexplained_tokens=tokens,
            unexplained_requests=requests,
            unexplained_drafts=drafts,
            running=running,
            tolerance=tolerance,
            found=bool(requests or running) or many,
        )


def total(grown: Growth, metric: Metric) -> float | None:
    """Growth of a counter over all engines; None where it is not exposed."""
    found = [growth for tally in grown.tallies if (growth := tally.total(metric)) is not None]
    return sum(found) if found else None


def running_on(page: Page) -> float:
    """Requests running or waiting on a server."""
    return sum(sum(page.of(metric).values()) for metric in (serving.REQUESTS_RUNNING, serving.REQUESTS_WAITING))


def _foreign_notes(found: Foreign | None) -> Iterator[str]:
    if found and found.unexplained_tokens < -found.tolerance * found.generated:
        yield (
            f"the server counted {-found.unexplained_tokens:,.0f} tokens fewer than it returned: is this a load "
            "balancer? Use the address of a single server"
        )
    elif found and found.found:
        counts = (found.unexplained_requests, found.unexplained_tokens, found.unexplained_drafts)
        named = zip(counts, ("requests", "tokens", "drafts"), strict=True)
        parts = [f"{count:,.0f} {what}" for count, what in named if count and count > 0]
        parts += [f"{found.running:,.0f} running requests"] if found.running else []
        yield (
            f"foreign traffic: {', '.join(parts)} besides ours (tolerance: {found.tolerance:.0%} of tokens); these "
            "numbers are not of this temperature alone"
        )
