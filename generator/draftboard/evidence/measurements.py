"""Published measurements: `measurements.toml`, which explains its fields."""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Literal

from pydantic import ConfigDict, TypeAdapter

from draftboard.evidence.law import Load

Unlike = Literal["", "pipeline", "prompts"]


@dataclass(frozen=True, kw_only=True)
class Source:
    """Who measured what on which machine."""

    origin: str
    """Rows of one origin are alike: they are left out together."""
    source: str
    engine: Literal["vllm", "sglang"]
    card: str = ""
    """Empty where it is not said."""
    model: str
    method: str
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Measurement(Source):
    """A server with speculation against the same server without it."""

    drafted: int
    batch: int
    length: float
    speedup: float
    coverage: float = 1.0
    unlike: Unlike = ""

    @property
    def load(self) -> Load:
        """Of a mean decode step."""
        return Load(batch=self.batch, drafted=self.coverage * self.drafted, coverage=self.coverage)

    @property
    def tokens_per_step(self) -> float:
        """That a decode step yields, with a draft or without."""
        return self.coverage * self.length + 1 - self.coverage

    @property
    def step_cost(self) -> float:
        """Of a mean decode step, in plain steps."""
        return self.tokens_per_step / self.speedup


@dataclass(frozen=True, kw_only=True)
class Growth(Source):
    """Costs of a step at several batches, over that at the first of them."""

    drafted: int
    batches: tuple[int, ...]
    relative: tuple[float, ...]

    @property
    def loads(self) -> tuple[Load, ...]:
        """One for each batch."""
        return tuple(Load(batch=batch, drafted=self.drafted) for batch in self.batches)


@dataclass(frozen=True, kw_only=True)
class Drafting(Source):
    """Time of the drafter alone, in plain steps of the target: of a token, or of a draft that is a block."""

    cost: float


@dataclass(frozen=True, kw_only=True)
class Measurements:
    """All that is published and fits; the names of the fields are those of the tables in the file."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    measurement: tuple[Measurement, ...]
    growth: tuple[Growth, ...]
    drafting: tuple[Drafting, ...]

    @property
    def origins(self) -> tuple[str, ...]:
        """Each once, in order of appearance."""
        return tuple(dict.fromkeys(one.origin for one in (*self.measurement, *self.growth, *self.drafting)))

    def without(self, origin: str) -> "Measurements":
        """All others than those of one origin."""
        return Measurements(
            measurement=tuple(one for one in self.measurement if one.origin != origin),
            growth=tuple(one for one in self.growth if one.origin != origin),
            drafting=tuple(one for one in self.drafting if one.origin != origin),
        )


@cache
def published() -> Measurements:
    """All of them."""
    text = resources.files(__package__).joinpath("measurements.toml").read_text(encoding="utf-8")
    return TypeAdapter(Measurements).validate_python(tomllib.loads(text))
