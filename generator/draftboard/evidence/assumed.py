"""The cost of a step as published measurements let one assume it, until it is measured."""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import product

from pydantic import TypeAdapter

from draftboard.evidence.fit import Ranges
from draftboard.evidence.law import METHODS, Kind, Load, step_cost
from draftboard.evidence.range import PLAIN_STEP, Range

LONG_PROMPT = 16_384
"""Tokens of a prompt, beyond which a step's time is that of attention more than that of the weights."""


@cache
def assumed_ranges() -> Ranges:
    """Those that `fit` made of all measurements: `make costs` writes them."""
    text = resources.files(__package__).joinpath("ranges.toml").read_text(encoding="utf-8")
    return TypeAdapter(Ranges).validate_python(tomllib.loads(text))


@dataclass(frozen=True)
class Costs:
    """One case of what published measurements let one assume: an end of each range."""

    kind: Kind
    overhead: float
    knee: float
    factor: float = 1.0

    def of(self, load: Load) -> float:
        """Cost of a mean decode step, in plain steps of the same batch."""
        return max(PLAIN_STEP, self.factor * step_cost(load, self.kind, self.overhead, self.knee))


@dataclass(frozen=True)
class Assumed:
    """What steps of a server may cost that nobody measured there."""

    cases: tuple[Costs, ...]
    """Every combination of ends: what holds in all of them holds between them."""
    wider: tuple[str, ...]
    """Why the cases differ more than published measurements of such a server do."""
    largest_batch: int

    def step_cost(self, load: Load) -> Range | None:
        """Of a mean decode step, in plain steps of the same batch; None in a batch larger than any measured one."""
        if load.batch > self.largest_batch:
            return None
        costs = [case.of(load) for case in self.cases]
        return Range(min(costs), max(costs))


def assumed(
    method: str, *, prompt_tokens: float | None = None, pipeline: bool = False, ranges: Ranges | None = None
) -> Assumed:
    """What steps with drafts of a method may cost.

    `prompt_tokens`: mean length of prompts; `pipeline`: whether stages of a pipeline share a step; `ranges`: by default
    those of all published measurements.
    """
    ranges = ranges or assumed_ranges()
    kinds = (METHODS[method],) if method in METHODS else tuple(Kind)
    unlike = pipeline or (prompt_tokens or 0) > LONG_PROMPT
    cases = tuple(
        Costs(kind, overhead, knee, factor)
        for kind in kinds
        for overhead, knee, factor in product(
            (ranges.overhead[kind].low, ranges.overhead[kind].high),
            (ranges.knee.low, ranges.knee.high),
            (1.0, ranges.unlike) if unlike else (1.0,),
        )
    )
    wider = tuple(_wider(method, prompt_tokens, pipeline=pipeline, ranges=ranges))
    return Assumed(cases, wider, ranges.largest_batch)


def _wider(method: str, prompt_tokens: float | None, *, pipeline: bool, ranges: Ranges) -> Iterator[str]:
    if method not in METHODS:
        yield f"the method {method} is unknown" if method else "the drafting method is unknown"
    elif not ranges.overhead[METHODS[method]].origins:
        yield f"no costs of {method} are published"
    if pipeline:
        yield "pipeline parallelism adds to each step with drafts"
    if (prompt_tokens or 0) > LONG_PROMPT:
        yield f"prompts of over {LONG_PROMPT:,} tokens make verifying slower"
