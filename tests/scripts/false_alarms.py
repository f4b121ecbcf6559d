"""How often alerts fire though nothing changes: months of steady traffic of two kinds of request, at many rates.

Run as a program it prints false alarms a month by alert and traffic, and writes the worst of each alert.
"""

import argparse
import itertools
import json
import os
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from draftboard.settings import Settings
from support.steady import STATISTICAL, Kind, Traffic, condition, counted, firing

DATA = Path(__file__).parents[1] / "data/false-alarms.json"
MONTH = 30 * 24 * 60
MONTHS = 3
_FAILED = 0.03  # A steady share of errors, under the limit.
_SLOW = 0.04
_MIXES = {
    "code and chat": (Kind(0.9), Kind(0.4, _SLOW)),
    "far apart": (Kind(0.95), Kind(0.1, _SLOW)),
    "barely pays": (Kind(0.38), Kind(0.08, _SLOW)),  # An expected speedup of 1.04.
    "copies and chat": (Kind(0.999, cut_off=True), Kind(0.8, _SLOW)),
}
_ANSWERS = {"short answers": (250, 1), "long answers": (12_000, 6)}
_ENGINES = {"one engine": 1, "four engines": 4}
RATES = (0.001, 0.003, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0)


@dataclass(frozen=True)
class Steady:
    """A model's traffic by its name, and the number that its random numbers follow from."""

    name: str
    traffic: Traffic
    number: int


def models(rates: tuple[float, ...] = RATES) -> Iterator[Steady]:
    """Every traffic at every rate, of the engines of a model together."""
    for number, (mix, answers, engines, rate) in enumerate(itertools.product(_MIXES, _ANSWERS, _ENGINES, rates)):
        tokens, minutes = _ANSWERS[answers]
        count = _ENGINES[engines]
        traffic = Traffic(rate / count, _MIXES[mix], count, errors=_FAILED, tokens=tokens, minutes=minutes)
        yield Steady(f"{mix}, {answers}, {engines}, {rate:g}/s", traffic, number)


def alarms(model: Steady, months: int, seed: int, settings: Settings | None = None) -> dict[str, float]:
    """False alarms a month of each alert on a model."""
    settings = settings or Settings()
    chance = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(model.number,)))
    first, *others = (counted(model.traffic, MONTH, chance) for _ in range(months))
    counts = first.joined(*others)
    return {
        alert.name: sum(len(firing(alert, held, settings)) for held in condition(alert, counts, settings)) / months
        for alert in STATISTICAL
    }


def worst(found: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """Of each alert, over all models."""
    return {alert.name: round(max(rates[alert.name] for rates in found.values()), 2) for alert in STATISTICAL}


def main() -> None:
    """Print the table, write the worst."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--months", type=int, default=MONTHS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=DATA)
    options = parser.parse_args()
    steady = list(models())
    found: dict[str, dict[str, float]] = {}
    with ProcessPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        results = pool.map(partial(alarms, months=options.months, seed=options.seed), steady)
        for number, (model, rates) in enumerate(zip(steady, results, strict=True), 1):
            found[model.name] = rates
            if sys.stderr.isatty():
                sys.stderr.write(f"\r\033[K{number} of {len(steady)}: {model.name}")
            for alert, rate in rates.items():
                if rate:
                    sys.stdout.write(f"{alert:28}{rate:7.2f}  {model.name}\n")
    if sys.stderr.isatty():
        sys.stderr.write("\r\033[K")
    summary = {"months": options.months, "alarms": worst(found)}
    options.out.write_text(json.dumps(summary, indent=2) + "\n")
    sys.stdout.write(json.dumps(summary["alarms"], indent=2) + "\n")


if __name__ == "__main__":
    main()
