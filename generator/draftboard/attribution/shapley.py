"""Parts of a change that add up to it, whatever the figure is computed from.

What a factor adds depends on which others have changed before it. Its part is the mean over all orders (Shapley 1953;
in energy statistics the "complete decomposition", Sun, Energy Policy 26 (1998), 85). So parts are exact and
symmetric, 0 for a factor that did not change, and opposite in sign if before and after change places.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import combinations
from math import comb, fsum


def parts_of(figure: Callable[[Collection[str]], float], factors: Sequence[str]) -> Mapping[str, float]:
    """What each factor adds on the way from the value before to the value after.

    Args:
        figure: Its value where these factors are as after, and the others as before. It is called for all subsets.
        factors: At most some ten.
    """
    count = len(factors)
    sets = [frozenset(chosen) for size in range(count + 1) for chosen in combinations(factors, size)]
    value = {chosen: figure(chosen) for chosen in sets}

    def part(factor: str) -> float:
        without = (chosen for chosen in sets if factor not in chosen)
        return fsum((value[one | {factor}] - value[one]) / (count * comb(count - 1, len(one))) for one in without)

    return {factor: part(factor) for factor in factors}
