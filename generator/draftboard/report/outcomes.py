"""What speculation did for users in a window of the past, by the rules' verdict."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from draftboard.expr.vector import Labels
from draftboard.report.felt import SOONER
from draftboard.settings import Settings
from draftboard.signals import Level, Signal, traffic
from draftboard.signals.states import state
from draftboard.signals.verdicts import ASSUMED, VERDICT, verdict
from draftboard.status import Status

_READ = (verdict, state, traffic.drafts, traffic.generation_tokens)
_NOT_MEASURED = "nobody measured what drafting costs"


class Outcome(StrEnum):
    """What speculation did for users."""

    HELPED = "helped"
    SLOWER = "slower"
    EVEN = "even"
    UNCLEAR = "unclear"
    WITHOUT = "without"


_BY_STATUS = {Status.GOOD: Outcome.HELPED, Status.WARN: Outcome.EVEN, Status.DUE: Outcome.SLOWER}


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

    def _value(self, signal: Signal, model: Labels) -> float | None:
        return self.found.get(signal.name, {}).get(model)

    def tokens(self, model: Labels) -> float:
        """Generated in the window."""
        return (self._value(traffic.generation_tokens, model) or 0.0) * self.settings.rules.rate_window.seconds

    def outcome(self, model: Labels) -> tuple[Outcome, str]:
        """What speculation did for the users of a model, and why that is unclear."""
        if not self._value(traffic.drafts, model):
            return Outcome.WITHOUT, ""
        chosen = VERDICT.of(self._value(verdict, model)) or VERDICT.choices["unknown"]
        if not chosen.basis:
            return Outcome.UNCLEAR, chosen.code.says
        if chosen.basis == ASSUMED:
            return Outcome.UNCLEAR, _NOT_MEASURED
        if chosen is VERDICT.choices["sooner"]:
            return Outcome.UNCLEAR, SOONER.says
        return _BY_STATUS[chosen.code.status], ""
