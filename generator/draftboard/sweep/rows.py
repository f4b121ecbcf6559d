"""One temperature: what the server counted, what the client saw, and what the responses say of themselves."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from draftboard.reading.growth import Growth
from draftboard.reading.page import Page
from draftboard.report import ModelReport, Origin, Reading, Sample, warnings
from draftboard.report.judge import judge
from draftboard.report.totals import Totals
from draftboard.settings import Settings
from draftboard.signals.acceptance import acceptance
from draftboard.status import Status
from draftboard.sweep.answers import Drafts, pooled_histogram
from draftboard.sweep.client import Batch, Outcome, explained
from draftboard.sweep.foreign import foreign, in_words
from draftboard.sweep.objects import PerRequest, Row, Tagged
from draftboard.sweep.plan import Plan
from draftboard.sweep.spread import Spread, spread

RULES_OF_THUMB = {
    Status.BAD: "disable",
    Status.WARN: "near break-even",
    Status.GOOD: "likely benefit",
    Status.BEST: "likely benefit",
    Status.ODD: "likely benefit, unless it is a repetition loop",
}
"""What acceptance alone is said to mean, by its band in the settings. HEUR."""


@dataclass(frozen=True)
class Rows:
    """Makes the rows of a sweep."""

    plan: Plan
    model: str
    settings: Settings

    def row(self, temperature: float, before: Page, after: Page, grown: Growth, batch: Batch) -> Row:
        """What happened between two pages, while a batch was sent."""
        server, notes = self._server(after, grown)
        outcomes = batch.outcomes
        failures = Counter(outcome.failure for outcome in outcomes if outcome.completion is None)
        tokens = _tokens(outcomes)
        found = foreign(before, grown, batch, self.plan.max_tokens, self.settings)
        told = in_words(found) if found else None
        return Row(
            temperature=temperature,
            requests=self.plan.requests,
            answered=len(outcomes) - failures.total(),
            failures=dict(sorted(failures.items())),
            given_up=batch.given_up,
            tokens=tokens,
            seconds=batch.seconds,
            tokens_per_second=tokens / batch.seconds if batch.seconds else None,
            time_per_token=_time_per_token(outcomes),
            server=server,
            rule_of_thumb=rule_of_thumb(server, self.settings),
            by_request=per_request(outcomes, self.settings),
            by_tag=self._by_tag(outcomes),
            foreign=found,
            notes=(
                *(f"{count} of {len(outcomes)} requests failed: {explained(why)}" for why, count in failures.items()),
                *((told,) if told else ()),
                *notes,
            ),
        )

    def _server(self, after: Page, grown: Growth) -> tuple[ModelReport, tuple[str, ...]]:
        """The swept model's report: vLLM counts adapters and further names under the first one that it serves."""
        report = Reading([after], grown, self.settings, self.plan.method).report(Origin.SCRAPES)
        named = [model for model in report.models if model.model == self.model]
        found = (named or list(report.models))[0]
        others: tuple[str, ...] = ()
        if not named and len(report.models) > 1:
            others = (
                f"the server tells of several models, none named {self.model}: these are {found.model}'s numbers",
            )
        return found, (*warnings(found), *others, *report.notes)

    def _by_tag(self, outcomes: Sequence[Outcome]) -> tuple[Tagged, ...]:
        tags = sorted({prompt.tag for prompt in self.plan.prompts.all})
        if tags == [""]:
            return ()
        of_tags = {tag: [outcome for outcome in outcomes if outcome.tag == tag] for tag in tags}
        return tuple(self._tagged(tag, of_tag) for tag, of_tag in of_tags.items() if of_tag)

    def _tagged(self, tag: str, outcomes: Sequence[Outcome]) -> Tagged:
        drafts = per_request(outcomes, self.settings)
        verdict = None
        if drafts:
            verdict = judge(_totals(outcomes, drafts), None, self.plan.method, self.settings).verdict
        return Tagged(
            tag=tag,
            requests=len(outcomes),
            answered=sum(outcome.completion is not None for outcome in outcomes),
            time_per_token=_time_per_token(outcomes),
            drafts=drafts,
            verdict=verdict,
        )


def rule_of_thumb(server: ModelReport, settings: Settings) -> str | None:
    """What acceptance alone is said to mean; None where there are too few drafts."""
    if server.speculation is None or server.verdict.says is None:
        return None
    return RULES_OF_THUMB[acceptance.step_of(server.speculation.acceptance, settings).status]


def per_request(outcomes: Sequence[Outcome], settings: Settings) -> PerRequest | None:
    """What responses say of their own drafts; None where none says anything."""
    told = [outcome.completion.drafts for outcome in outcomes if outcome.completion and outcome.completion.drafts]
    if not told:
        return None
    drafting = [drafts for drafts in told if drafts.num_draft_tokens]
    return PerRequest(
        requests=len(told),
        undrafted=len(told) - len(drafting),
        sample=_sample(drafting, settings),
        histogram=pooled_histogram(told),
        acceptance=spread([drafts.acceptance for drafts in drafting]),
        acceptance_length=spread([drafts.acceptance_length for drafts in drafting]),
        step_acceptance=spread([share for drafts in drafting for share in drafts.step_acceptance]),
    )


def _sample(drafting: Sequence[Drafts], settings: Settings) -> Sample | None:
    if not drafting:
        return None
    histogram = pooled_histogram(drafting)
    return Sample(
        drafts=sum(histogram),
        draft_tokens=sum(drafts.num_draft_tokens for drafts in drafting),
        accepted_tokens=sum(drafts.num_accepted_draft_tokens for drafts in drafting),
        accepted_per_position=tuple(float(sum(histogram[j:])) for j in range(1, len(histogram))),
        least=settings.traffic.drafts_to_judge,
    )


def _totals(outcomes: Sequence[Outcome], drafts: PerRequest) -> Totals:
    """A tag's requests as counters would have counted them."""
    sample, tokens = drafts.sample, float(_tokens(outcomes))
    if sample is None:
        return Totals(drafts=0.0, generation_tokens=tokens)
    return Totals(
        drafts=sample.drafts,
        draft_tokens=sample.draft_tokens,
        accepted_tokens=sample.accepted_tokens,
        accepted_by_position=dict(enumerate(sample.accepted_per_position)),
        configured_k=float(len(sample.accepted_per_position)),
        generation_tokens=tokens,
    )


def _tokens(outcomes: Sequence[Outcome]) -> int:
    return sum(outcome.completion.tokens for outcome in outcomes if outcome.completion)


def _time_per_token(outcomes: Sequence[Outcome]) -> Spread | None:
    answered = [(outcome.seconds, outcome.completion.tokens) for outcome in outcomes if outcome.completion]
    return spread([seconds / tokens for seconds, tokens in answered if tokens])
