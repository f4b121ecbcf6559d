"""What a completion says of itself: its tokens, and where vLLM is told to, its own drafts. Its text is not kept."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

_Count = Annotated[int, Field(ge=0, le=10_000_000)]
_Counts = Annotated[tuple[_Count, ...], Field(max_length=1_000_000)]
_Steps = Annotated[_Counts, BeforeValidator(lambda told: () if told is None else told)]
"""vLLM's `summary` says null where `detailed` lists."""


class Drafts(BaseModel):
    """One request's drafts, as `metrics.speculative_decoding` counts them; ratios are made of the counts."""

    model_config = ConfigDict(frozen=True)

    acceptance_histogram: Annotated[_Counts, Field(min_length=1)]
    """Entry j: drafts with exactly j accepted tokens."""
    num_spec_steps: _Count
    num_accepted_draft_tokens: _Count
    num_draft_tokens: _Count
    per_step_accepted: _Steps = ()
    """Of `detailed`: accepted tokens of each draft, in order."""
    per_step_drafted: _Steps = ()

    @model_validator(mode="after")
    def _agree(self) -> Self:
        histogram = self.acceptance_histogram
        if (
            sum(histogram) != self.num_spec_steps
            or sum(j * drafts for j, drafts in enumerate(histogram)) != self.num_accepted_draft_tokens
            or self.num_accepted_draft_tokens > self.num_draft_tokens
            or (self.num_draft_tokens > 0) != (self.num_spec_steps > 0)
            or len(self.per_step_accepted) != len(self.per_step_drafted)
        ):
            raise ValueError("counts that contradict each other")
        return self

    @property
    def acceptance(self) -> float:
        """Accepted over drafted tokens. Only where something was drafted."""
        return self.num_accepted_draft_tokens / self.num_draft_tokens

    @property
    def acceptance_length(self) -> float:
        """1 + accepted tokens / drafts, the bonus token included. Only where something was drafted."""
        return 1 + self.num_accepted_draft_tokens / self.num_spec_steps

    @property
    def step_acceptance(self) -> list[float]:
        """The same of each draft that held a token."""
        steps = zip(self.per_step_accepted, self.per_step_drafted, strict=True)
        return [accepted / drafted for accepted, drafted in steps if drafted]


@dataclass(frozen=True)
class Completion:
    """An answer without its text."""

    tokens: int
    drafts: Drafts | None
    """None where the server does not tell, or in a form that this does not know."""
    unreadable: bool = False
    """Whether it is the latter."""


class _Usage(BaseModel):
    completion_tokens: _Count


class _Body(BaseModel):
    """Of all that is in a completion, what is looked at."""

    choices: Annotated[list[Any], Field(min_length=1)]
    usage: _Usage
    metrics: Any = None


def completion(content: bytes) -> Completion | None:
    """Read an answer; None where it is no completion."""
    try:
        body = _Body.model_validate_json(content)
    except ValidationError:
        return None
    told = body.metrics.get("speculative_decoding") if isinstance(body.metrics, dict) else None
    if told is None:
        return Completion(body.usage.completion_tokens, None)
    try:
        return Completion(body.usage.completion_tokens, Drafts.model_validate(told))
    except ValidationError:
        return Completion(body.usage.completion_tokens, None, unreadable=True)


def pooled_histogram(drafts: Sequence[Drafts]) -> tuple[int, ...]:
    """Drafts of several requests by accepted tokens."""
    return tuple(sum(column) for column in zip_longest(*(one.acceptance_histogram for one in drafts), fillvalue=0))
