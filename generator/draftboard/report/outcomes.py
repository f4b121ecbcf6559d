"""What speculation did for users in a window of the past, by the rules' verdict, corrected as a report corrects it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from draftboard.expr.counts import Counts
from draftboard.expr.vector import Labels, kept, value_of
from draftboard.reading import Numbers, Reader
from draftboard.report.bound import per
from draftboard.report.contradiction import contradictions
from draftboard.report.felt import SOONER, Felt
from draftboard.report.verdict import REFUTED, Case, interval_of
from draftboard.settings import Settings
from draftboard.signals import Level, Signal, traffic
from draftboard.signals.acceptance import tokens_per_step
from draftboard.signals.capacity import prompt_tokens
from draftboard.signals.costs import step_cost
from draftboard.signals.latency import end_to_end
from draftboard.signals.states import state
from draftboard.signals.users import measured_speedup, speedup_uncertainty
from draftboard.signals.verdicts import ASSUMED, MEASURED, VERDICT, verdict
from draftboard.status import Status

_READ = (
    *(verdict, state, traffic.drafts, traffic.generation_tokens, traffic.first_tokens, prompt_tokens),
    *(tokens_per_step, measured_speedup, speedup_uncertainty, step_cost, end_to_end.mean),
)
_NOT_MEASURED = "nobody measured what drafting costs"


class Outcome(StrEnum):
    """What speculation did for users."""

    HELPED = "helped"
    SLOWER = "slower"
    EVEN = "even"
    UNCLEAR = "unclear"
    WITHOUT = "without"


_BY_STATUS = {Status.GOOD: Outcome.HELPED, Status.WARN: Outcome.EVEN, Status.BAD: Outcome.SLOWER}


def read(settings: Settings) -> Mapping[str, Signal]:
    """The records that tell the outcome of a window, by name."""
    return {signal.name: signal for signal in _READ if signal.record_name(Level.MODEL, settings)}


@dataclass(frozen=True)
class Moment:
    """The records of all models at the end of a window."""

    settings: Settings
    found: Mapping[str, Mapping[Labels, float]]
    """By name of the signal and labels of the model."""

    @property
    def models(self) -> set[Labels]:
        """Models of which anything is known, whatever they did."""
        return {*self.found.get(state.name, ())}

    def tokens(self, model: Labels) -> float:
        """Generated in the window."""
        rate = self.found.get(traffic.generation_tokens.name, {}).get(model, 0.0)
        return rate * self.settings.rules.rate_window.seconds

    def outcome(self, model: Labels) -> tuple[Outcome, str]:
        """What speculation did for the users of a model, and why that is unclear."""
        numbers = self._reader.of(model)
        if not numbers.value(traffic.drafts):
            return Outcome.WITHOUT, ""
        chosen = VERDICT.of(numbers.value(verdict)) or VERDICT.choices["unknown"]
        if not chosen.basis:
            return Outcome.UNCLEAR, chosen.code.says
        if chosen.basis == ASSUMED:
            return Outcome.UNCLEAR, _NOT_MEASURED
        baselines = self._baselines(model)
        if contradictions(numbers, interval_of(Case(numbers)), baselines):
            return Outcome.UNCLEAR, REFUTED
        outcome = _BY_STATUS[chosen.code.status]
        if outcome is Outcome.HELPED and chosen.basis == MEASURED and _felt(numbers, baselines).withheld:
            return Outcome.UNCLEAR, SOONER.says
        return outcome, ""

    @cached_property
    def _reader(self) -> Reader:
        nothing = {name: dict[Labels, float]() for name in read(self.settings)}
        answers = {(name, Level.MODEL): rows for name, rows in {**nothing, **self.found}.items()}
        return Reader(Counts(self.settings, answers=answers), Level.MODEL)

    def _baselines(self, model: Labels) -> tuple[Numbers, ...]:
        names = self.settings.labels
        same = (*names.scope, names.model_name)
        alike = (other for other in self.models if kept(other, same) == kept(model, same))
        baseline = self.settings.methods.baseline
        return tuple(self._reader.of(one) for one in alike if value_of(one, names.spec_method) == baseline)


def _felt(numbers: Numbers, baselines: tuple[Numbers, ...]) -> Felt:
    """Whole answers beside those of the baselines together."""
    counts = [one.value(traffic.first_tokens) or 0.0 for one in baselines]
    times = [one.value(end_to_end.mean) or 0.0 for one in baselines]
    before = per(sum(time * count for time, count in zip(times, counts, strict=True)), sum(counts))
    return Felt(end_to_end=(before, numbers.value(end_to_end.mean)), first_token=(None, None))
