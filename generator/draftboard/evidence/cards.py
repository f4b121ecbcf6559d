"""Peak figures of cards: `cards.toml`."""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources

from pydantic import TypeAdapter


@dataclass(frozen=True, kw_only=True)
class Card:
    """What its maker says that it reaches."""

    name: str
    operations: float
    """A second, in BF16 without sparsity."""
    bytes: float
    """A second, of its memory."""
    source: str

    @property
    def ridge(self) -> float:
        """Operations for each byte, below which memory bounds it and above which arithmetic does."""
        return self.operations / self.bytes


@cache
def cards() -> tuple[Card, ...]:
    """All that are known."""
    text = resources.files(__package__).joinpath("cards.toml").read_text(encoding="utf-8")
    return TypeAdapter(tuple[Card, ...]).validate_python(tomllib.loads(text)["card"])
