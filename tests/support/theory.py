"""The mathematics of speculative decoding on plain numbers.

Symbols: K drafted tokens a step; alpha, the probability that the target model accepts one drafted token; c, the time
of drafting one token over one plain target step; v, the time of a verify step over a plain one (1 while memory-bound).
Speedup and expected tokens follow Leviathan, Kalman and Matias, "Fast Inference from Transformers via Speculative
Decoding" (2023), arXiv 2211.17192; counters mean what vLLM's V1 engine means by them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Counted:
    """What vLLM's four counters grew by, as they were read: whether they agree with each other is another question."""

    drafts: float
    """Drafts verified: more than none."""
    draft_tokens: float
    accepted_tokens: float
    accepted_per_position: tuple[float, ...]

    @property
    def acceptance(self) -> float:
        """A: accepted over drafted tokens, 0 to 1. Not alpha: it falls as K grows."""
        return self.accepted_tokens / self.draft_tokens if self.draft_tokens else 0.0

    @property
    def acceptance_length(self) -> float:
        """Mean acceptance length, 1 to K + 1 tokens: the bonus token is included, as vLLM does."""
        return 1 + self.accepted_tokens / self.drafts

    @property
    def draft_efficiency(self) -> float:
        """(Drafts + accepted tokens) / (drafts + drafted tokens): V0's efficiency, of what is counted today."""
        return (self.drafts + self.accepted_tokens) / (self.drafts + self.draft_tokens)

    @property
    def draft_length(self) -> float:
        """Mean tokens actually drafted, which only fixed-length drafters keep at K."""
        return self.draft_tokens / self.drafts

    @property
    def survival(self) -> tuple[float, ...]:
        """By position i: share of drafts accepted at least i + 1 deep."""
        return tuple(accepted / self.drafts for accepted in self.accepted_per_position)

    @property
    def alpha_hat(self) -> float:
        """Maximum-likelihood alpha for drafts of fixed length: accepted over accepted plus rejections seen.

        A draft shows one rejection unless it was accepted to the end, so shorter drafts read a little low.
        """
        complete = self.accepted_per_position[-1] if self.accepted_per_position else 0.0
        seen = self.accepted_tokens + self.drafts - complete
        return self.accepted_tokens / seen if seen > 0 else 0.0


@dataclass(frozen=True)
class Counts(Counted):
    """The same, where they do agree."""

    def __post_init__(self) -> None:
        """Raise ValueError when no vLLM could have counted this."""
        if self.drafts <= 0:
            raise ValueError("no drafts: nothing was speculated, so nothing can be said")
        if self.accepted_tokens > self.draft_tokens:
            raise ValueError("more tokens accepted than drafted")
        if abs(sum(self.accepted_per_position) - self.accepted_tokens) > _TOLERANCE * max(1.0, self.accepted_tokens):
            raise ValueError("accepted tokens by position do not add up to all accepted tokens")
        require_survival(self.survival)


def require_survival(survival: Sequence[float]) -> None:
    """Raise ValueError unless shares lie in 0..1 and never rise with position: the counters guarantee both."""
    if not all(-_TOLERANCE <= share <= 1 + _TOLERANCE for share in survival):
        raise ValueError("a share of drafts outside 0..1")
    if any(after > before + _TOLERANCE for before, after in pairwise(survival)):
        raise ValueError("survival rises with position, which prefix acceptance excludes")


def conditional_acceptance(survival: Sequence[float]) -> tuple[float, ...]:
    """By position: probability that it is accepted, given that all before it were. Ends where nothing arrives."""
    shares, reached = [], 1.0
    for share in survival:
        if reached <= 0:
            break
        shares.append(share / reached)
        reached = share
    return tuple(shares)


def accepted_length_shares(survival: Sequence[float]) -> tuple[float, ...]:
    """Share of drafts with exactly j accepted tokens, j = 0..K; sums to 1."""
    return tuple(before - after for before, after in pairwise([1.0, *survival, 0.0]))


def extrapolated_survival(survival: Sequence[float]) -> float:
    """The position after the last measured: p_K ~ p_(K-1) * h_(K-1), were it accepted as often as the one before it.

    A guess from one position, not a measurement: nothing beyond K was ever drafted.
    """
    before, last = (1.0, *survival)[-2:]
    return last * last / before if before > 0 else 0.0


def tokens_per_step_at(survival: Sequence[float]) -> tuple[float, ...]:
    """Tokens a step that drafts of length k = 1..K yield: 1 + survival of the positions below k."""
    return tuple(1 + total for total in accumulate(survival))


def geometric_survival(alpha: float, drafted: int) -> tuple[float, ...]:
    """Survival when every token is accepted with the same probability, independently."""
    return tuple(alpha ** (position + 1) for position in range(drafted))


def expected_tokens(alpha: float, drafted: int) -> float:
    """E(K) = (1 - alpha^(K+1)) / (1 - alpha), bonus included; K + 1 for a perfect drafter (Leviathan, eq. 1)."""
    return 1 + sum(geometric_survival(alpha, drafted))


def speedup(tokens_per_step: float, drafted: float, cost: float, inflation: float = 1.0) -> float:
    """S = tokens per step / (K * c + v): plain step times that a speculative step replaces (Leviathan, thm. 3.8)."""
    return tokens_per_step / step_cost(drafted, cost, inflation)


def step_cost(drafted: float, cost: float, inflation: float = 1.0) -> float:
    """Time of a speculative step over a plain one; also the mean acceptance length at which it breaks even."""
    return drafted * cost + inflation


def speedup_at(
    survival: Sequence[float], cost: float, inflation: float = 1.0, draft_length: float = math.inf
) -> tuple[float, ...]:
    """Expected speedup with drafts of up to k = 1..K tokens; a step drafts no more than the mean draft length."""
    tokens = tokens_per_step_at(survival)
    return tuple(speedup(tokens[k - 1], min(k, draft_length), cost, inflation) for k in range(1, len(tokens) + 1))


def best_k(
    survival: Sequence[float], cost: float, inflation: float = 1.0, draft_length: float = math.inf
) -> tuple[int, float]:
    """The k of the highest expected speedup, the smallest on ties, and that speedup.

    Only lengths that were drafted are known: the best may lie beyond K when it equals K.
    """
    at_each = speedup_at(survival, cost, inflation, draft_length)
    best = max(at_each)
    return at_each.index(best) + 1, best


def of_load(tokens_per_step: float, coverage: float, length: float, speedup_of_drafts: float) -> float:
    """Speedup over all decode steps, of which the share `coverage` carries a draft of the mean acceptance length given.

    As many tokens come from drafts, in steps that take their yield over their speedup; the other steps take one each.
    """
    return tokens_per_step / (coverage * length / speedup_of_drafts + max(1 - coverage, 0.0))


def smallest_near_best(speedups: Sequence[float], gain: float) -> int:
    """The smallest k = 1.. whose speedup is within `gain` of the highest."""
    return next(k for k, speedup in enumerate(speedups, 1) if speedup >= (1 - gain) * max(speedups))


def break_even_acceptance(drafted: int, cost: float, inflation: float = 1.0) -> float:
    """The ratio A of the counters at which drafts of K tokens cost what they save: c + (v - 1) / K; c while v is 1."""
    return cost + (inflation - 1) / drafted


def saving(speedup: float) -> float:
    """1 - 1 / S: share of the cost of a token that a measured speedup saves on the same GPUs; negative under 1."""
    return 1 - 1 / speedup


def break_even_alpha(drafted: int, cost: float, inflation: float = 1.0) -> float:
    """The alpha at which speculation of K tokens costs what it saves, by bisection; expected tokens rise with alpha.

    Raises:
        ValueError: even a perfect drafter would not pay.
    """
    target = step_cost(drafted, cost, inflation)
    if target > drafted + 1:
        raise ValueError(
            f"no drafter pays: a step costs {target:g} plain steps and yields at most {drafted + 1} tokens"
        )
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if expected_tokens(middle, drafted) < target else (low, middle)
    return high
