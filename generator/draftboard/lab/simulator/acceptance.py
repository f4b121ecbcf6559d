"""How deep a draft is accepted: by position, for a kind of request."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from draftboard.files import Table
from draftboard.theory import LONGEST_DRAFT, conditional_acceptance, require_survival

Workload = Literal["chat", "code", "summarisation", "creative"]

_LEARNED = {"chat": 0.75, "code": 0.82, "summarisation": 0.78, "creative": 0.68}
"""Alpha of a trained drafter at temperature 0. HEUR."""
_LOOKUP = {"chat": 0.35, "code": 0.6, "summarisation": 0.75, "creative": 0.15}
"""Alpha of drafts copied from the text at temperature 0: as high as the text repeats itself. HEUR."""
_COOLING = ((0.0, 1.0), (0.4, 0.877), (0.8, 0.642), (1.0, 0.469), (2.0, 0.2))
"""Temperature, and the factor on the probability of acceptance: .81 .71 .52 .38 of .81, illustrative, then a guess."""


class Profile(Table):
    """The chance of a drafted token to be accepted: one of alpha, rates, workload. A hot request lowers it."""

    alpha: Annotated[float, Field(ge=0, le=1)] | None = None
    """The same at every position, given that all before were accepted."""
    rates: Annotated[
        tuple[Annotated[float, Field(ge=0, le=1)], ...], Field(strict=False, max_length=LONGEST_DRAFT)
    ] = ()
    """By position: share of drafts accepted at least so deep. Never rises."""
    workload: Workload | None = None
    """Alpha as is usual for such text and the server's method."""
    temperature: Annotated[float, Field(ge=0, le=2)] = 0.0

    @model_validator(mode="after")
    def _one_of_three(self) -> Self:
        if sum((self.alpha is not None, bool(self.rates), self.workload is not None)) != 1:
            raise ValueError("needs one of alpha, rates and workload")
        require_survival(self.rates)
        return self

    def survival(self, positions: int, *, lookup: bool) -> tuple[float, ...]:
        """By position: share of full-length drafts that are accepted at least so deep."""
        factor = _factor(self.temperature)
        survival, reached = [], 1.0
        for chance in self._chances(positions, lookup=lookup):
            reached *= chance * factor
            survival.append(reached)
        return tuple(survival)

    def _chances(self, positions: int, *, lookup: bool) -> tuple[float, ...]:
        """By position: chance to be accepted, given that all before were."""
        if self.rates:
            chances = conditional_acceptance(self.rates[:positions])
            return chances + (0.0,) * (positions - len(chances))
        alpha = self.alpha if self.workload is None else (_LOOKUP if lookup else _LEARNED)[self.workload]
        return (alpha or 0.0,) * positions


def _factor(temperature: float) -> float:
    """Linear between the temperatures that are known."""
    above = next(index for index, (known, _) in enumerate(_COOLING) if known >= temperature)
    if above == 0:
        return _COOLING[0][1]
    (low, at_low), (high, at_high) = _COOLING[above - 1], _COOLING[above]
    return at_low + (at_high - at_low) * (temperature - low) / (high - low)
