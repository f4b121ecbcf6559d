"""How many tokens to draft: the expected speedup of every k, the best one, and what one more might bring."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from draftboard import theory
from draftboard.errors import DraftboardError
from draftboard.plan.bounds import within
from draftboard.plan.formula import Formula
from draftboard.plan.terms import Term, assumptions
from draftboard.settings import Settings
from draftboard.signals.economics import BREAK_EVEN, expected_speedup
from draftboard.theory import LONGEST_DRAFT

_LEVIATHAN = "Leviathan, Kalman, Matias 2023, arXiv 2211.17192"

SPEEDUP_FORMULAS = (
    Formula("survival with one alpha", "p_i = alpha^(i+1), i from 0", "each token accepted alike, independently"),
    Formula(
        "tokens a step", "T(k) = 1 + sum of p_i, i < k  [= (1 - alpha^(k+1)) / (1 - alpha)]", f"{_LEVIATHAN}, eq. 1"
    ),
    Formula("accepted drafted tokens a step", "T(k) - 1: the bonus token is not a drafted one", "vLLM's counters"),
    Formula("step cost, break-even length", "C(k) = k * c + v", f"{_LEVIATHAN}, thm. 3.8; v is 1 there"),
    Formula("expected speedup", "S(k) = T(k) / C(k)", f"{_LEVIATHAN}, thm. 3.8; v is 1 there"),
)


@dataclass(frozen=True)
class Length:
    """What drafts of k tokens are expected to do."""

    k: int
    survival: float
    """Share of drafts whose k-th token is accepted, 0 to 1."""
    tokens_per_step: float
    """The bonus token is counted: 1 to k + 1."""
    accepted: float
    """Drafted tokens accepted a step: the bonus token is not counted."""
    step_cost: float
    """In plain steps; the mean acceptance length at which k breaks even is the same number."""
    speedup: float
    """Times plain decoding."""
    gain: float
    """Speedup over that of k - 1; of k = 1, over not speculating."""
    needed_survival: float
    """Survival over which this position makes the speedup higher."""
    break_even_acceptance: float
    """Accepted over drafted tokens at which k breaks even. May exceed 1: then no drafter pays."""
    break_even_alpha: float | None
    """Alpha at which k breaks even; None when even a perfect drafter would not pay."""
    extrapolated: bool = False
    """True when its survival was never measured."""


@dataclass(frozen=True)
class DraftLengthPlan:
    """The best draft length, as far as alpha or survival, c and v are right."""

    name: ClassVar[str] = "k"
    formulas: ClassVar[tuple[Formula, ...]] = (
        *SPEEDUP_FORMULAS,
        Formula("gain of k", "S(k) - S(k-1), with S(0) = 1 for no speculation", "definition"),
        Formula(
            "position k pays",
            "its survival p_(k-1) > c * S(k-1); of the first, p_0 > c + v - 1",
            "S(k) > S(k-1), solved for p_(k-1)",
        ),
        Formula(
            "next position, extrapolated", "p_K ~ p_(K-1) * h_(K-1), h_i = p_i / p_(i-1)", "a guess from one position"
        ),
        Formula("break-even acceptance", "A = c + (v - 1) / k", "S(k) = 1, solved for A = (T(k) - 1) / k"),
        Formula("break-even alpha", "alpha at which T(k) = k * c + v, by bisection", "S(k) = 1, solved for alpha"),
    )

    alpha: float | None
    """Chance that one drafted token is accepted, when that was given instead of survival by position."""
    cost_ratio: Term
    verify_inflation: Term
    lengths: tuple[Length, ...]
    """k = 1 and up."""
    best: Length | None
    """The smallest k of the highest speedup; None when no k beats plain decoding."""
    following: Length | None
    """One more than the longest measured, extrapolated; None when alpha was given or the longest allowed is reached."""
    verdict: str
    notes: tuple[str, ...]


def draft_length_from_alpha(
    settings: Settings, alpha: float, cost: Term, inflation: Term, longest: int
) -> DraftLengthPlan:
    """Plan from one chance of acceptance for all positions, k = 1 to `longest`.

    Raises:
        DraftboardError: alpha or `longest` out of range.
    """
    survival = survival_of(alpha, longest)
    return _plan(settings, survival, alpha=alpha, terms=(cost, inflation), following=None)


def draft_length_from_survival(
    settings: Settings, survival: Sequence[float], cost: Term, inflation: Term, longest: int = LONGEST_DRAFT
) -> DraftLengthPlan:
    """Plan from measured survival by position; the position after the last is extrapolated, and said to be.

    Raises:
        DraftboardError: no such survival is possible, or `longest` is out of range.
    """
    planned = first_positions(survival, longest)
    following = theory.extrapolated_survival(survival) if len(survival) < longest else None
    return _plan(settings, planned, alpha=None, terms=(cost, inflation), following=following)


def survival_of(alpha: float, longest: int) -> tuple[float, ...]:
    """Survival by position when every drafted token is accepted with chance alpha.

    Raises:
        DraftboardError: alpha or `longest` out of range.
    """
    within("max k", longest, 1, LONGEST_DRAFT)
    return theory.geometric_survival(within("alpha", alpha, 0, 1), longest)


def first_positions(survival: Sequence[float], longest: int) -> tuple[float, ...]:
    """Survival of drafts that end after `longest` tokens.

    Raises:
        DraftboardError: no such survival is possible, or `longest` is out of range.
    """
    require_possible(survival)
    return tuple(survival[: int(within("max k", longest, 1, LONGEST_DRAFT))])


def require_possible(survival: Sequence[float]) -> None:
    """Raise DraftboardError unless a drafter of at most LONGEST_DRAFT tokens could show this survival."""
    if not 1 <= len(survival) <= LONGEST_DRAFT:
        raise DraftboardError(f"survival names {len(survival)} positions: name 1 to {LONGEST_DRAFT}")
    try:
        theory.require_survival(survival)
    except ValueError as error:
        raise DraftboardError(
            f"survival: {error}; give per-position shares of drafts, each at most the one before"
        ) from None


def _plan(
    settings: Settings,
    survival: Sequence[float],
    *,
    alpha: float | None,
    terms: tuple[Term, Term],
    following: float | None,
) -> DraftLengthPlan:
    cost, inflation = terms
    measured = _lengths(survival, cost.value, inflation.value)
    best_k, best_speedup = theory.best_k(survival, cost.value, inflation.value)
    best = measured[best_k - 1] if best_speedup > BREAK_EVEN else None
    more = None
    if following is not None:
        more = _lengths((*survival, following), cost.value, inflation.value, measured=len(survival))[-1]
    return DraftLengthPlan(
        alpha=alpha,
        cost_ratio=cost,
        verify_inflation=inflation,
        lengths=measured,
        best=best,
        following=more,
        verdict=_verdict(settings, best),
        notes=(
            *_advice(best, measured, more),
            *_of_load(inflation.value),
            *assumptions(cost_ratio=cost, verify_inflation=inflation),
        ),
    )


def _lengths(
    survival: Sequence[float], cost: float, inflation: float, measured: int = LONGEST_DRAFT
) -> tuple[Length, ...]:
    """Every k; those over `measured` are extrapolated."""
    lengths = []
    tokens, speedups = theory.tokens_per_step_at(survival), theory.speedup_at(survival, cost, inflation)
    for k, share in enumerate(survival, 1):
        before = speedups[k - 2] if k > 1 else BREAK_EVEN
        over_none = cost + inflation - 1
        lengths.append(
            Length(
                k=k,
                survival=share,
                tokens_per_step=tokens[k - 1],
                accepted=tokens[k - 1] - 1,
                step_cost=theory.step_cost(k, cost, inflation),
                speedup=speedups[k - 1],
                gain=speedups[k - 1] - before,
                needed_survival=theory.break_even_survival(cost, before) if k > 1 else over_none,
                break_even_acceptance=theory.break_even_acceptance(k, cost, inflation),
                break_even_alpha=_break_even_alpha(k, cost, inflation),
                extrapolated=k > measured,
            )
        )
    return tuple(lengths)


def _break_even_alpha(k: int, cost: float, inflation: float) -> float | None:
    try:
        return theory.break_even_alpha(k, cost, inflation)
    except ValueError:
        return None


def _verdict(settings: Settings, best: Length | None) -> str:
    if best is None:
        return "Leave speculation off: no k that was looked at is expected to be faster than plain decoding."
    says = expected_speedup.step_of(best.speedup, settings).says
    return f"k = {best.k}: expected speedup {best.speedup:.2f} ({says})."


def _advice(best: Length | None, measured: tuple[Length, ...], more: Length | None) -> tuple[str, ...]:
    """What the table alone does not say."""
    longest = len(measured)
    told = ["Expected of speculative steps alone: only a baseline under the same load measures the real speedup."]
    if more is not None:
        test = f"p = {more.survival:.3f} against c * S({longest}) = {more.needed_survival:.3f}"
        faster = more.speedup > (BREAK_EVEN if best is None else best.speedup)
        turn = "may be faster still" if faster else "is not expected to be faster"
        told.append(f"k = {more.k} {turn} (S = {more.speedup:.2f}, extrapolated, never measured: {test}).")
    elif best is measured[-1]:
        told.append(f"The best k is the longest that was looked at: a longer draft than {longest} may be better still.")
    return tuple(told)


def _of_load(inflation: float) -> tuple[str, ...]:
    if inflation <= 1:
        return ()
    return (
        "v is taken to be the same at every k, which under load flatters long drafts: `plan schedule` shares it out.",
    )
