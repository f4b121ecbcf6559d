"""How the cost of a step depends on its load.

Time is counted in plain steps of the target at the same batch. A step reads the weights once, and computes for every
token: `t(n) = 1 + n / knee`, up to a factor, for the n tokens that all requests have in it. A plain step has as many
tokens as requests, a verifying one has batch x (drafted + 1). To that comes what speculation adds to each step: the
drafter's time, and work that a plain step does not have.
"""

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """Ways to draft, by what their cost depends on."""

    HEAD = "head"
    """A layer or a few heads of the target: for each drafted token, and once more for a step with a draft."""
    DRAFT_MODEL = "draft_model"
    """A smaller model: for each drafted token."""
    BLOCK = "block"
    """A model that drafts a block in one pass: for each draft, however long."""
    LOOKUP = "lookup"
    """No model, a search on the CPU: for every step, also those that find nothing, because scheduling waits for it."""


METHODS: dict[str, Kind] = {
    **dict.fromkeys(("eagle", "eagle3", "medusa", "mtp"), Kind.HEAD),
    "draft_model": Kind.DRAFT_MODEL,
    **dict.fromkeys(("dspark", "dflash"), Kind.BLOCK),
    **dict.fromkeys(("ngram", "ngram_gpu", "suffix"), Kind.LOOKUP),
}
"""Methods whose way to draft is known."""


@dataclass(frozen=True, kw_only=True)
class Load:
    """A mean decode step of an engine."""

    batch: float
    """Requests that share it."""
    drafted: float
    """Tokens drafted for a request in it, on average over steps with and without a draft."""
    coverage: float = 1.0
    """Share of decode steps that have a draft."""

    @property
    def verified(self) -> float:
        """Tokens that the target computes in it, n."""
        return self.batch * (self.drafted + 1)

    def units(self, kind: Kind) -> float:
        """How often the overhead of that way to draft occurs in it."""
        return {
            Kind.HEAD: self.drafted + self.coverage,
            Kind.DRAFT_MODEL: self.drafted,
            Kind.BLOCK: self.coverage,
            Kind.LOOKUP: 1.0,
        }[kind]


def inflation(load: Load, knee: float) -> float:
    """Time of the target in such a step over that in a plain one, v; `knee` in tokens: where t is twice its least."""
    return (knee + load.verified) / (knee + load.batch)


def step_cost(load: Load, kind: Kind, overhead: float, knee: float) -> float:
    """Cost of such a step, in plain steps; `overhead` in plain steps, each time it occurs."""
    return inflation(load, knee) + overhead * load.units(kind)
