"""The cost of a step as published measurements let one assume it, as far as the server's own steps do not tell it."""

import math
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from itertools import product
from typing import Self

from pydantic import TypeAdapter

from draftboard.evidence.curve import Curve
from draftboard.evidence.fit import Ranges, Spread
from draftboard.evidence.law import METHODS, Kind, Load, step_cost
from draftboard.evidence.range import PLAIN_STEP, Range

_POINTS, _NEAR = 6, 1.05  # Between the ends of a range; how far a case may be from what was measured.
LONG_PROMPT = 16_384
"""Tokens of a prompt, beyond which a step's time is that of attention more than that of the weights."""


@cache
def assumed_ranges() -> Ranges:
    """Those that `fit` made of all measurements: `make costs` writes them."""
    text = resources.files(__package__).joinpath("ranges.toml").read_text(encoding="utf-8")
    return TypeAdapter(Ranges).validate_python(tomllib.loads(text))


@dataclass(frozen=True)
class Own:
    """What a server's own steps tell of their cost."""

    now: Load
    """Of its mean decode step."""
    curves: tuple[Curve, ...] = ()
    """Time of a step by the tokens that it verifies, and as it may be."""
    step_cost: Range | None = None
    """Measured: a mean decode step, in steps of the same batch without a draft."""


@dataclass(frozen=True)
class Costs:
    """One case of what is known: an end of each range, and one curve where there is any."""

    kind: Kind
    overhead: float
    knee: float
    factor: float = 1.0
    curve: Curve | None = None
    now: Load | None = None
    """The load of the curve's steps, which contain the drafter's time."""

    def of(self, load: Load) -> float:
        """Cost of a mean decode step, in plain steps of the same batch."""
        if self.curve is None or self.now is None:
            return max(PLAIN_STEP, self.factor * step_cost(load, self.kind, self.overhead, self.knee))
        drafting = self.overhead * self.now.units(self.kind)
        ratio = self.curve.seconds(load.verified, self.knee) / self.curve.seconds(load.batch, self.knee)
        # Of both times, each with a drafter's: the target alone takes less than either.
        target = max(PLAIN_STEP, ratio * (1 + drafting) - drafting)
        return max(PLAIN_STEP, self.factor * (target + self.overhead * load.units(self.kind)))

    def measured(self, now: Load, cost: float) -> Self:
        """This case, made to cost that much at a load."""
        return replace(self, factor=self.factor * cost / self.of(now))


@dataclass(frozen=True)
class Assumed:
    """What steps of a server may cost that nobody measured there."""

    cases: tuple[Costs, ...]
    """Every combination of ends: what holds in all of them holds between them."""
    wider: tuple[str, ...]
    """Why the cases differ more than published measurements of such a server do."""
    largest_batch: float
    measured: bool = False
    """Whether a step's cost is, so that cases differ in what makes it up, not in how much it is."""

    def step_cost(self, load: Load) -> Range | None:
        """Of a mean decode step, in plain steps of the same batch; None in a batch larger than any measured one."""
        if load.batch > self.largest_batch:
            return None
        costs = [case.of(load) for case in self.cases]
        return Range(min(costs), max(costs))


def assumed(
    method: str,
    *,
    prompt_tokens: float | None = None,
    pipeline: bool = False,
    own: Own | None = None,
    ranges: Ranges | None = None,
) -> Assumed:
    """What steps with drafts of a method may cost.

    `prompt_tokens`: mean length of prompts; `pipeline`: whether stages of a pipeline share a step; `own`: what the
    server's own steps tell; `ranges`: by default those of all published measurements.
    """
    ranges = ranges or assumed_ranges()
    kinds = (METHODS[method],) if method in METHODS else tuple(Kind)
    # Its own steps know how long prompts are, and of how many stages.
    unlike = not own and (pipeline or (prompt_tokens or 0) > LONG_PROMPT)
    cases = tuple(
        Costs(kind, overhead, knee, factor, curve, own.now if own else None)
        for kind in kinds
        for overhead, knee, factor, curve in product(
            _between(ranges.overhead[kind], own),
            (ranges.knee.low, ranges.knee.high) if own and own.curves else _between(ranges.knee, own),
            (1.0, ranges.unlike) if unlike else (1.0,),
            (own.curves if own else ()) or (None,),
        )
    )
    wider = tuple(_wider(method, prompt_tokens if unlike else None, pipeline=pipeline and unlike, ranges=ranges))
    return Assumed(_measured(cases, own), wider, math.inf if own else ranges.largest_batch, bool(own and own.step_cost))


def _between(spread: Spread, own: Own | None) -> tuple[float, ...]:
    """The ends; of what a measurement chooses among, points between them, too."""
    if not own or not own.step_cost:
        return spread.low, spread.high
    return tuple(spread.low * (spread.high / spread.low) ** (point / _POINTS) for point in range(_POINTS + 1))


def _measured(cases: tuple[Costs, ...], own: Own | None) -> tuple[Costs, ...]:
    """Those that a measured cost of a step leaves, made to cost just that."""
    if not own or not own.step_cost:
        return cases
    found = []
    for one in cases:
        # A search for drafts lengthens steps that find none, too.
        search = 1 + one.overhead if one.kind is Kind.LOOKUP else 1.0
        low, high = own.step_cost.low * search, own.step_cost.high * search
        found.append(
            (low / _NEAR <= one.of(own.now) <= high * _NEAR, [one.measured(own.now, end) for end in (low, high)])
        )
    near = any(fits for fits, _ in found)
    return tuple(case for fits, ends in found if fits or not near for case in ends)


def _wider(method: str, prompt_tokens: float | None, *, pipeline: bool, ranges: Ranges) -> Iterator[str]:
    if method not in METHODS:
        yield f"the method {method} is unknown" if method else "the drafting method is unknown"
    elif not ranges.overhead[METHODS[method]].origins:
        yield f"no costs of {method} are published"
    if pipeline:
        yield "pipeline parallelism adds to each step with drafts"
    if (prompt_tokens or 0) > LONG_PROMPT:
        yield f"prompts of over {LONG_PROMPT:,} tokens make verifying slower"
