"""How many tokens to draft: the expected speedup of every k, the best one, and what one more might bring."""

from collections.abc import Sequence
from dataclasses import dataclass

from draftboard.output import Block, Described, Heading, Table, Text, columns
from draftboard.plan import theory
from draftboard.plan.basis import Formula, Plan, Term, survival_of
from draftboard.settings import Settings
from draftboard.settings.fields import LONGEST_DRAFT
from draftboard.signals.economics import expected_speedup
from draftboard.status import Status

_LEVIATHAN = "Leviathan, Kalman, Matias 2023, arXiv 2211.17192"
_TOKENS = "T(k) = 1 + sum of p_i, i < k  [= (1 - alpha^(k+1)) / (1 - alpha)]"
_PAYS = "its survival p_(k-1) > c * S(k-1); of the first, p_0 > c + v - 1"
_NEXT = "p_K ~ p_(K-1) * h_(K-1), h_i = p_i / p_(i-1)"
SPEEDUP_FORMULAS = (
    Formula("survival with one alpha", "p_i = alpha^(i+1), i from 0", "each token accepted alike, independently"),
    Formula("tokens a step", _TOKENS, f"{_LEVIATHAN}, eq. 1"),
    Formula("accepted drafted tokens a step", "T(k) - 1: the bonus token is not a drafted one", "vLLM's counters"),
    Formula("step cost, break-even length", "C(k) = k * c + v", f"{_LEVIATHAN}, thm. 3.8; v is 1 there"),
    Formula("expected speedup", "S(k) = T(k) / C(k)", f"{_LEVIATHAN}, thm. 3.8; v is 1 there"),
)
_FORMULAS = (
    *SPEEDUP_FORMULAS,
    Formula("gain of k", "S(k) - S(k-1), with S(0) = 1 for no speculation", "definition"),
    Formula("position k pays", _PAYS, "S(k) > S(k-1), solved for p_(k-1)"),
    Formula("next position, extrapolated", _NEXT, "an estimate from one position"),
    Formula("break-even acceptance", "A = c + (v - 1) / k", "S(k) = 1, solved for A = (T(k) - 1) / k"),
    Formula("break-even alpha", "alpha at which T(k) = k * c + v, by bisection", "S(k) = 1, solved for alpha"),
)


@dataclass(frozen=True)
class Length(Described):
    """What drafts of k tokens are expected to do."""

    k: int
    survival: float
    """Share of drafts whose k-th token is accepted."""
    tokens_per_step: float
    """The bonus token is included."""
    accepted: float
    """Drafted tokens accepted a step."""
    step_cost: float
    """In plain steps; equals the mean acceptance length at which k breaks even."""
    speedup: float
    gain: float
    """Speedup less that of k - 1; of k = 1, less 1."""
    needed_survival: float
    """Survival above which this position raises the speedup."""
    break_even_acceptance: float
    """Accepted over drafted tokens; above 1 no drafter pays."""
    break_even_alpha: float | None
    """None where even a perfect drafter does not pay."""
    extrapolated: bool
    """True when its survival was never measured."""


@dataclass(frozen=True, kw_only=True)
class DraftLengthPlan(Plan):
    """The best draft length, as far as acceptance, c and v are right."""

    plan: str = "k"
    formulas: tuple[Formula, ...] = _FORMULAS
    alpha: float | None
    """None where survival by position was given instead."""
    cost_ratio: Term
    verify_inflation: Term
    lengths: tuple[Length, ...]
    """k = 1 and up."""
    best: Length | None
    """The smallest k of the highest speedup; None when no k beats plain decoding."""
    following: Length | None
    """One more than the longest measured, extrapolated; None with alpha, or at the longest allowed."""

    def blocks(self) -> tuple[Block, ...]:
        """Speedup of every k, and the acceptance it needs."""
        speedups, needs = [], []
        for each in (*self.lengths, *((self.following,) if self.following else ())):
            mark = Text("extrapolated", Status.QUIET) if each.extrapolated else "best" if each == self.best else ""
            figures = (each.tokens_per_step, each.step_cost, each.speedup)
            speedups.append((str(each.k), mark, *(f"{figure:.3f}" for figure in figures), f"{each.gain:+.3f}"))
            shares = (each.survival, each.needed_survival, each.break_even_acceptance)
            alpha = "never" if each.break_even_alpha is None else f"{each.break_even_alpha:.3f}"
            needs.append((str(each.k), f"{each.accepted:.3f}", *(f"{share:.1%}" for share in shares), alpha))
        of_speedup = ("Tokens a step", "Step cost", "Speedup", "Gain over k-1")
        of_need = ("Accepted", "Survival", "Needed to pay", "Break-even A", "Break-even alpha")
        costs = f"c = {self.cost_ratio.value:g}, v = {self.verify_inflation.value:g}"
        return (
            Heading(f"Expected of drafts of k tokens: {costs}"),
            Table(columns("k", "", numbers=of_speedup), tuple(speedups)),
            Heading("Accepted drafted tokens a step, survival of position k, and break-even"),
            Table(columns("k", numbers=of_need), tuple(needs)),
        )


def plan_draft_length(
    settings: Settings,
    cost: Term,
    inflation: Term,
    *,
    alpha: float | None = None,
    survival: Sequence[float] | None = None,
    longest: int | None = None,
) -> DraftLengthPlan:
    """Plan from one alpha for all positions, or from measured survival; then the next position is extrapolated.

    `longest` is the longest draft planned: by default the settings', or one more than `survival` has positions.

    Raises:
        DraftboardError: a number out of range, or not exactly one of alpha and survival.
    """
    if longest is None:
        longest = settings.max_draft_tokens if survival is None else LONGEST_DRAFT
    planned = survival_of(alpha, survival, longest)
    extrapolates = survival is not None and len(planned) < longest
    following = (theory.extrapolated_survival(planned),) if extrapolates else ()
    lengths = _lengths((*planned, *following), cost.value, inflation.value, measured=len(planned))
    k, _ = theory.best_k(planned, cost.value, inflation.value)
    best, more = lengths[k - 1] if k else None, lengths[-1] if extrapolates else None
    verdict = "Leave speculation off: no k up to the longest planned is expected to be faster than plain decoding."
    if best is not None:
        says = expected_speedup.step_of(best.speedup, settings).says
        verdict = f"k = {best.k}: expected speedup {best.speedup:.2f} ({says})."
    notes = (*_notes(best, more, len(planned)), *cost.note("cost ratio"), *inflation.note("verify inflation"))
    if inflation.value > 1:
        notes += ("v is the same at every k here, which favours long drafts under load: see `plan schedule`.",)
    return DraftLengthPlan(
        verdict=verdict,
        notes=notes,
        alpha=alpha,
        cost_ratio=cost,
        verify_inflation=inflation,
        lengths=lengths[: len(planned)],
        best=best,
        following=more,
    )


def _lengths(survival: Sequence[float], cost: float, inflation: float, *, measured: int) -> tuple[Length, ...]:
    """Every k; those above `measured` are extrapolated."""
    tokens, speedups = theory.tokens_per_step_at(survival), theory.speedup_at(survival, cost, inflation)
    return tuple(
        Length(
            k=k,
            survival=share,
            tokens_per_step=tokens[k],
            accepted=tokens[k] - 1,
            step_cost=theory.step_cost(k, cost, inflation),
            speedup=speedups[k],
            gain=speedups[k] - speedups[k - 1],
            needed_survival=theory.break_even_survival(k, speedups[k - 1], cost, inflation),
            break_even_acceptance=theory.cost_per_drafted_token(k, cost, inflation),
            break_even_alpha=theory.break_even_alpha(k, cost, inflation),
            extrapolated=k > measured,
        )
        for k, share in enumerate(survival, 1)
    )


def _notes(best: Length | None, more: Length | None, longest: int) -> tuple[str, ...]:
    note = "Expected of speculative steps alone: only a baseline under the same load measures the real speedup."
    if more is not None:
        test = f"p = {more.survival:.3f} against c * S({longest}) = {more.needed_survival:.3f}"
        turn = "may be faster still" if more.speedup > (best.speedup if best else 1) else "is not expected to be faster"
        return (note, f"k = {more.k} {turn} (S = {more.speedup:.2f}, extrapolated, never measured: {test}).")
    if best is not None and best.k == longest:
        return (note, f"The best k is the longest planned: a draft longer than {longest} may be better still.")
    return (note,)
