"""The cost of a step as published measurements let one assume it, until it is measured."""

import tomllib
from dataclasses import dataclass
from importlib import resources

from pydantic import TypeAdapter

from draftboard.evidence.fit import Ranges
from draftboard.evidence.law import METHODS, Kind, Load, step_cost
from draftboard.evidence.range import PLAIN_STEP, Range
from draftboard.output import Described

LONG_PROMPT = 16_384
"""Tokens of a prompt, beyond which a step's time is that of attention more than that of the weights."""

RANGES = TypeAdapter(Ranges).validate_python(
    tomllib.loads(resources.files(__package__).joinpath("ranges.toml").read_text(encoding="utf-8"))
)
"""Those that `fit` made of all measurements: `make costs` writes them."""


@dataclass(frozen=True)
class Assumed(Described):
    """What a step may cost that nobody measured on this server."""

    step_cost: Range
    """Of a mean decode step, in plain steps of the same batch."""
    wider: tuple[str, ...] = ()
    """Why the range is wider than published measurements of such a server are."""


def assumed_cost(
    method: str, load: Load, *, prompt_tokens: float | None = None, pipeline: bool = False, ranges: Ranges = RANGES
) -> Assumed | None:
    """What a mean decode step may cost; None at a batch that is larger than any measured one.

    `prompt_tokens`: mean length of prompts; `pipeline`: whether stages of a pipeline share a step.
    """
    if load.batch > ranges.largest_batch:
        return None
    kinds = (METHODS[method],) if method in METHODS else tuple(Kind)
    low = min(step_cost(load, kind, ranges.overhead[kind].low, ranges.knee.high) for kind in kinds)
    high = max(step_cost(load, kind, ranges.overhead[kind].high, ranges.knee.low) for kind in kinds)
    wider = tuple(_wider(method, prompt_tokens, pipeline=pipeline, ranges=ranges))
    if pipeline or (prompt_tokens or 0) > LONG_PROMPT:
        high *= ranges.unlike
    return Assumed(Range(low, high).at_least(PLAIN_STEP), wider)


def _wider(method: str, prompt_tokens: float | None, *, pipeline: bool, ranges: Ranges) -> list[str]:
    found = []
    if method not in METHODS:
        found.append(f"the method {method} is unknown" if method else "the drafting method is unknown")
    elif not ranges.overhead[METHODS[method]].origins:
        found.append(f"nobody has published what {method} costs")
    if pipeline:
        found.append("pipeline parallelism adds to each step with drafts")
    if (prompt_tokens or 0) > LONG_PROMPT:
        found.append(f"prompts of over {LONG_PROMPT:,} tokens make verifying slower")
    return found
