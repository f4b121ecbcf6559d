"""How deep a draft is accepted: by position, for a kind of request."""

from itertools import accumulate, pairwise
from operator import mul
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from draftboard.files import Table
from draftboard.settings.fields import LONGEST_DRAFT

Share = Annotated[float, Field(ge=0, le=1)]
Shares = Annotated[tuple[Share, ...], Field(strict=False, max_length=LONGEST_DRAFT)]
Workload = Literal["chat", "code", "summarisation", "creative"]

_LEARNED = {"chat": 0.75, "code": 0.82, "summarisation": 0.78, "creative": 0.68}
"""Alpha of a trained drafter at temperature 0. HEUR."""
_LOOKUP = {"chat": 0.35, "code": 0.6, "summarisation": 0.75, "creative": 0.15}
"""Alpha of drafts copied from the text at temperature 0: as high as the text repeats itself. HEUR."""
_COOLING = ((0.0, 1.0), (0.4, 0.877), (0.8, 0.642), (1.0, 0.469), (2.0, 0.2))
"""Temperature, and the factor on the probability of acceptance: .81 .71 .52 .38 of .81, illustrative, then a guess."""


class Profile(Table):
    """The probability that a drafted token is accepted: one of alpha, rates and workload, lowered by temperature."""

    alpha: Share | None = None  # the same at every position, given that all before were accepted
    rates: Shares = ()  # by position: share of drafts accepted at least so deep; never rises
    workload: Workload | None = None  # alpha that is usual for such text and the server's method
    temperature: Annotated[float, Field(ge=0, le=2)] = 0.0

    @model_validator(mode="after")
    def _one_of_three(self) -> Self:
        if sum((self.alpha is not None, bool(self.rates), self.workload is not None)) != 1:
            raise ValueError("needs one of alpha, rates and workload")
        if any(after > before for before, after in pairwise(self.rates)):
            raise ValueError("survival rises with position, which prefix acceptance excludes")
        return self

    def survival(self, positions: int, *, lookup: bool) -> tuple[float, ...]:
        """By position: share of full-length drafts that are accepted at least so deep."""
        usual = _LOOKUP if lookup else _LEARNED
        alpha = usual[self.workload] if self.workload else self.alpha or 0.0
        # Given that all before were accepted; nothing is known behind a position that none reaches.
        known = tuple(share / before for before, share in pairwise((1.0, *self.rates[:positions])) if before)
        (low, at_low), (high, at_high) = next(pair for pair in pairwise(_COOLING) if self.temperature <= pair[1][0])
        factor = at_low + (at_high - at_low) * (self.temperature - low) / (high - low)
        chances = (*known, *(alpha,) * (positions - len(known)))
        return tuple(accumulate((chance * factor for chance in chances), mul))
