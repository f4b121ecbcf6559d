"""Servers of which everything is known, drawn at random, and where the report's advice leads there.

A target's step takes `sqrt(1 + (n / knee)^2)`, unlike the law that is assumed. Text comes in easy and hard stretches.
A share of it can be drafted at all; the drafter runs in each step in which any request of the batch has a draft.
"""

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from draftboard.evidence import (
    Change,
    Curve,
    Depth,
    Drafting,
    LengthAdvice,
    Load,
    Own,
    Range,
    Ruling,
    Steps,
    TooLittle,
    assumed,
    curves,
    length_advice,
    ruling,
)
from draftboard.lab.simulator.scenario import Bursts
from support import bursty

LONGEST = 12
CLASSES = {"1 to 4": (1, 2, 4), "8 to 16": (8, 16), "32 to 128": (32, 64, 128)}
_DAY, _CHANGES, _LEAST_GAIN = 288, 16, 1.02


@dataclass(frozen=True)
class World:
    """A server with EAGLE heads."""

    text: Bursts
    batch: int
    drafted: float  # Share of tokens that come from steps with a draft.
    cost: float  # In plain steps: of drafting a token, and once more of a step that drafts, as published of heads.
    knee: float
    seed: int

    def seconds(self, verified: float) -> float:
        """Of the target, in any unit."""
        return math.sqrt(1 + (verified / self.knee) ** 2)

    @cached_property
    def survival(self) -> dict[int, tuple[float, ...]]:
        """Acceptance by position, for each K."""
        return {k: bursty.survival(self.text, k) for k in range(1, LONGEST + 1)}

    def length(self, k: int) -> float:
        return 1 + sum(self.survival[k])

    def coverage(self, k: int) -> float:
        drafting = self.drafted / self.length(k)
        return min(1.0, drafting / (drafting + 1 - self.drafted))

    def tokens_per_step(self, k: int) -> float:
        return 1 / (self.drafted / self.length(k) + 1 - self.drafted)

    def step(self, k: int, batch: float) -> float:
        """Time of a mean step."""
        share = self.coverage(k)
        drafter = self.cost * (k + 1) * (1 - (1 - share) ** batch) * self.seconds(batch)
        return float(self.seconds(batch * (1 + share * k)) + drafter)

    def step_cost(self, k: int) -> float:
        return self.step(k, self.batch) / self.seconds(self.batch)

    def speedup(self, k: int) -> float:
        return self.tokens_per_step(k) / self.step_cost(k) if k else 1.0

    @cached_property
    def best(self) -> float:
        return max(map(self.speedup, range(LONGEST + 1)))


def worlds(count: int) -> Iterator[World]:
    """Alike many of each class of batches."""
    classes = list(CLASSES.values())
    for seed in range(count):
        chance = random.Random(seed)
        yield World(
            text=Bursts(
                easy=chance.uniform(0.75, 0.97),
                hard=chance.uniform(0.05, 0.5),
                easy_share=chance.uniform(0.3, 0.8),
                stretch_tokens=chance.choice([5, 20, 60]),
            ),
            batch=chance.choice(classes[seed % len(classes)]),
            drafted=chance.choice([1.0, 1.0, chance.uniform(0.5, 1)]),
            cost=math.exp(chance.uniform(math.log(0.05), math.log(0.4))),
            knee=2 ** chance.uniform(5, 9),
            seed=seed,
        )


@dataclass(frozen=True)
class Told:
    """What one report says."""

    k: int
    speedup: Range
    advice: LengthAdvice | None


def told(world: World, k: int, *, measured: bool) -> Told:
    """With K so long; `measured`: beside a baseline."""
    share = world.coverage(k)
    survival = world.survival[k]
    load = Load(batch=world.batch, drafted=share * k, coverage=share)
    chance = random.Random(world.seed * 100 + k)
    noise = math.exp(chance.gauss(0, 0.02))
    cost = world.step_cost(k) * noise
    own = Own(load, _curves(world, k, chance), Range(cost / 1.04, cost * 1.04) if measured else None)
    costs = assumed("eagle3", own=own if own.curves or measured else None)
    depths = [Depth(at, at, 1 + sum(survival[:at])) for at in range(1, k + 1)]
    following = survival[-1] * (survival[-1] / survival[-2] if k > 1 else survival[-1])
    drafting = Drafting(
        method="eagle3",
        batch=world.batch,
        coverage=share,
        tokens_per_step=world.tokens_per_step(k),
        depths=depths,
        longer=Depth(k + 1, k + 1, depths[-1].tokens + following) if k < LONGEST else None,
    )
    return Told(k, drafting.speedups(depths[-1], costs), length_advice(drafting, costs, _LEAST_GAIN))


def _curves(world: World, k: int, chance: random.Random) -> tuple[Curve, ...]:
    """Of a day whose load rises and falls about that of the report."""
    steps, noise = list[Steps](), 0.0
    for scrape in range(_DAY):
        swing = math.sin(2 * math.pi * scrape / _DAY) + chance.uniform(-0.5, 0.5)
        batch = max(1.0, world.batch * 2 ** (1.3 * swing - 0.8)) if world.batch > 1 else 1.0
        noise = 0.8 * noise + 0.6 * chance.gauss(0, 0.05)
        slow = 1 + (chance.random() < 0.1) * chance.uniform(0, 2)
        seconds = world.step(k, batch) * math.exp(noise) * slow
        steps.append(Steps(batch * (1 + world.coverage(k) * k), seconds))
    try:
        return curves(steps)
    except TooLittle:
        return ()


@dataclass(frozen=True)
class Walk:
    """Where advice led."""

    world: World
    reports: tuple[Told, ...]
    k: int  # 0: plain decoding.
    measured: bool

    @property
    def reached(self) -> float:
        return self.world.speedup(self.k) / self.world.best


def followed(world: World, start: int) -> Walk:
    """Do as told, until no change is advised; where K depends on costs, run the baseline that the report asks for."""
    k, measured, reports = start, False, list[Told]()
    while len(reports) < _CHANGES:
        reports.append(told(world, k, measured=measured))
        advice, unclear = reports[-1].advice, ruling(reports[-1].speedup) is Ruling.UNCLEAR
        if not measured and (advice is None or (unclear and advice.change is Change.KEEP)):
            measured = True
        elif advice is None or advice.change is Change.KEEP:
            break
        elif advice.change is Change.OFF:
            k = 0
            break
        else:
            k = advice.k
    return Walk(world, tuple(reports), k, measured)
