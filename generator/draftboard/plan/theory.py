"""The mathematics of planning, on plain numbers.

Symbols: k drafted tokens a step; alpha, the probability that the target model accepts one drafted token; survival p_i,
the share of drafts accepted at least i + 1 deep; c, the time of drafting one token over one plain target step; v, the
time of a verify step over a plain one (1 while memory-bound); S, the speedup. Sources: formulas.toml.
"""

from collections.abc import Sequence
from itertools import accumulate, pairwise

_TOLERANCE = 1e-9
_BISECTIONS = 60


def is_survival(survival: Sequence[float]) -> bool:
    """Whether the shares lie in 0..1 and never rise with position: a token counts only after all before it."""
    falls = all(after <= before + _TOLERANCE for before, after in pairwise(survival))
    return falls and all(-_TOLERANCE <= share <= 1 + _TOLERANCE for share in survival)


def geometric_survival(alpha: float, k: int) -> tuple[float, ...]:
    """p_i = alpha^(i+1): every token is accepted with the same probability, independently."""
    return tuple(alpha ** (position + 1) for position in range(k))


def extrapolated_survival(survival: Sequence[float]) -> float:
    """The position after the last measured one, if it is accepted as often as the last: p_K ~ p_(K-1)^2 / p_(K-2)."""
    before, last = (1.0, *survival)[-2:]
    return last * last / before if before > 0 else 0.0


def tokens_per_step_at(survival: Sequence[float]) -> tuple[float, ...]:
    """T(k) for k = 0..K: the bonus token and the survival of every position below k."""
    return tuple(accumulate(survival, initial=1.0))


def expected_tokens(alpha: float, k: int) -> float:
    """T(k) = (1 - alpha^(k+1)) / (1 - alpha), the bonus token included; k + 1 for a perfect drafter."""
    return tokens_per_step_at(geometric_survival(alpha, k))[-1]


def step_cost(k: int, cost: float, inflation: float = 1.0) -> float:
    """C(k) = k * c + v: time of a speculative step in plain steps, and the tokens a step at which it breaks even."""
    return k * cost + inflation


def cost_per_drafted_token(k: int, cost: float, inflation: float = 1.0) -> float:
    """(C(k) - 1) / k = c + (v - 1) / k: the acceptance (accepted over drafted tokens) at which S(k) = 1.

    It also is the c of shorter drafts under load: a verify step reads k + 1 tokens a request, so v, measured at K, is
    shared out by k: v(k) = 1 + (v - 1) * k / K. The true curve lies below this line, which never flatters short drafts.
    """
    return cost + (inflation - 1) / k


def speedup_at(survival: Sequence[float], cost: float, inflation: float = 1.0) -> tuple[float, ...]:
    """S(k) = T(k) / C(k) for k = 0..K; S(0) = 1 is plain decoding."""
    tokens = tokens_per_step_at(survival)
    return (1.0, *(tokens[k] / step_cost(k, cost, inflation) for k in range(1, len(tokens))))


def best_k(survival: Sequence[float], cost: float, inflation: float = 1.0, gain: float = 0.0) -> tuple[int, float]:
    """The smallest k within `gain` of the highest speedup, and its speedup; 0 and 1 where none is as fast as plain."""
    at_each = speedup_at(survival, cost, inflation)
    enough = (1 - gain) * max(at_each)
    candidates = ((k, speedup) for k, speedup in enumerate(at_each) if k and speedup >= max(enough, 1.0))
    return next(candidates, (0, 1.0))


def break_even_alpha(k: int, cost: float, inflation: float = 1.0) -> float | None:
    """Alpha at which S(k) = 1, by bisection; None where even a perfect drafter does not pay."""
    needed = step_cost(k, cost, inflation)
    if needed > k + 1:
        return None
    low, high = 0.0, 1.0
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if expected_tokens(middle, k) < needed else (low, middle)
    return high
