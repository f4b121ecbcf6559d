"""Do the intervals of `draftboard calibrate` hold the truth as often as they say? Run by `make intervals`."""

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from math import sqrt
from statistics import NormalDist

from draftboard.calibrate.fit import costs, means
from draftboard.calibrate.result import Estimate
from support.costed import ACCEPTED, C, plain_seconds, v, windows

KS, LOADS, ROUNDS = (3, 5), (1, 8), 6
NOMINAL = 0.95
CHANCE = 0.001
"""That any one of right intervals is found to be wrong."""


def intervals(seed: int) -> Iterator[tuple[str, Estimate, float]]:
    """Each interval of a run by name, with the truth."""
    measured = windows(seed, ks=KS, loads=LOADS, rounds=ROUNDS)
    fitted, told, length = costs(measured), means(measured), sum(KS) / len(KS)
    if fitted.c:
        yield "c", fitted.c, C
    for load in LOADS:
        yield f"v + L c at {load}", fitted.sums[load], v(load) + length * C
        yield f"plain step at {load}", told.plain_seconds[load], plain_seconds(load)
        if fitted.inflation:
            yield f"v at {load}", fitted.inflation[load], v(load)
        for k in KS:
            cost, tokens = v(load) + k * C, 1 + ACCEPTED * k
            yield f"step cost at {load}, K = {k}", told.step_cost[load, f"K = {k}"], cost
            yield f"speedup at {load}, K = {k}", told.speedup[load, f"K = {k}"], tokens / cost


def main() -> None:
    """Print how often each interval holds the truth; end with status 1 where that is not 95 %, but for chance."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1000)
    seeds, held, told = parser.parse_args().seeds, Counter[str](), Counter[str]()
    for seed in range(seeds):
        for name, one, truth in intervals(seed):
            told[name] += 1
            held[name] += one.low <= truth <= one.high
    wrong = []
    deviations = NormalDist().inv_cdf(1 - CHANCE / len(told) / 2)
    for name, count in sorted(told.items()):
        share, room = held[name] / count, deviations * sqrt(NOMINAL * (1 - NOMINAL) / count)
        wrong += [] if abs(share - NOMINAL) <= room else [name]
        sys.stdout.write(f"{name:26}{share:6.1%} of {count} (by chance {NOMINAL:.0%} +- {room:.1%})\n")
    if wrong:
        sys.exit(f"not {NOMINAL:.0%}: {', '.join(wrong)}")


if __name__ == "__main__":
    main()
