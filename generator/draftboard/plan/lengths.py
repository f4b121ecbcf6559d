"""The best draft length, by the expected speedup of every k."""

from collections.abc import Sequence
from dataclasses import dataclass

from draftboard import evidence
from draftboard.output import Block, Described, Heading, Table, Text, columns
from draftboard.plan import assumed, theory
from draftboard.plan.basis import FORMULAS, Formula, Plan, Term, survival_of
from draftboard.settings import Settings
from draftboard.settings.fields import LONGEST_DRAFT
from draftboard.signals.economics import expected_speedup
from draftboard.signals.verdicts import ASSUMED
from draftboard.status import Status

_OFF = "Leave speculation off: no k up to the longest planned is expected to be as fast as plain decoding."


@dataclass(frozen=True)
class Length(Described):
    """Expectations of drafts of k tokens."""

    k: int
    survival: float  # share of drafts whose k-th token is accepted
    tokens_per_step: float  # the bonus token is included
    accepted: float  # drafted tokens accepted a step
    step_cost: float  # in plain steps; equals the mean acceptance length at which k breaks even
    speedup: float
    gain: float  # speedup less that of k - 1; of k = 1, less 1
    needed_survival: float  # survival above which this position raises the speedup
    break_even_acceptance: float  # accepted over drafted tokens; above 1 no drafter pays
    break_even_alpha: float | None  # None where even a perfect drafter does not pay
    extrapolated: bool  # true when its survival was never measured
    range: evidence.Range | None = None  # of the speedup, where c or v is assumed; the other figures are at c and v

    @property
    def at_least(self) -> float:
        """The speedup, or the low end of its range."""
        return self.range.low if self.range else self.speedup

    @property
    def speedup_in_words(self) -> str:
        """The range, or the number."""
        return str(self.range) if self.range else f"{self.speedup:.3f}"


@dataclass(frozen=True, kw_only=True)
class DraftLengthPlan(Plan):
    """The best draft length, as far as acceptance, c and v are right."""

    plan: str = "k"
    formulas: tuple[Formula, ...] = FORMULAS["speedup"] + FORMULAS["k"]
    alpha: float | None  # None where survival by position was given instead
    cost_ratio: Term
    verify_inflation: Term
    lengths: tuple[Length, ...]  # k = 1 and up
    best: Length | None  # the smallest k within thresholds.gain of the highest speedup, at least; None: none pays
    following: Length | None  # one more than the longest measured, extrapolated; None with alpha, or at the limit

    def blocks(self) -> tuple[Block, ...]:
        """Speedup of every k, and the acceptance it needs."""
        speedups, needs = [], []
        for each in (*self.lengths, *((self.following,) if self.following else ())):
            mark = Text("extrapolated", Status.QUIET) if each.extrapolated else "best" if each == self.best else ""
            figures = (f"{each.tokens_per_step:.3f}", f"{each.step_cost:.3f}", each.speedup_in_words)
            speedups.append((str(each.k), mark, *figures, f"{each.gain:+.3f}"))
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
    method: str = "",
    batch: float = 1.0,
) -> DraftLengthPlan:
    """Plan drafts of up to `longest` tokens, by default the settings', or one more than `survival` has positions.

    Where c or v is assumed, a speedup is a range: of the method at that batch, by published measurements.
    """
    if longest is None:
        longest = settings.max_draft_tokens if survival is None else LONGEST_DRAFT
    planned, c, v = survival_of(alpha, survival, longest), cost.value, inflation.value
    extrapolates = survival is not None and len(planned) < longest
    shares = (*planned, *((theory.extrapolated_survival(planned),) if extrapolates else ()))
    tokens, speedups = theory.tokens_per_step_at(shares), theory.speedup_at(shares, c, v)
    ranges = assumed.ranges(tokens, cost, inflation, method, batch)
    lengths = tuple(
        Length(
            *(k, share, tokens[k], tokens[k] - 1, theory.step_cost(k, c, v)),
            *(speedups[k], speedups[k] - speedups[k - 1]),
            # S(k) > S(k-1), solved for p_(k-1); not merely p > c, which drafts too far.
            needed_survival=c * speedups[k - 1] if k > 1 else c + (v - 1),
            break_even_acceptance=theory.cost_per_drafted_token(k, c, v),
            break_even_alpha=theory.break_even_alpha(k, c, v),
            extrapolated=k > len(planned),
            range=ranges[k - 1] if ranges else None,
        )
        for k, share in enumerate(shares, 1)
    )
    gain = settings.thresholds.gain
    k = assumed.best(ranges[: len(planned)], gain) if ranges else theory.best_k(planned, c, v, gain)[0]
    best, more = lengths[k - 1] if k else None, lengths[-1] if extrapolates else None
    verdict = _OFF if best is None else f"k = {best.k}: {_says(best, settings)}."
    notes = (*_notes(best, more, len(planned), gain), *cost.note("cost ratio"), *inflation.note("verify inflation"))
    notes += (assumed.rests_on(ranges[: len(planned)], gain),) if ranges and best else ()
    if best and best.range and evidence.ruling(best.range) is evidence.Ruling.UNCLEAR:
        notes += (f"It depends on what a step costs: {evidence.SETTLES}.",)
    if v > 1:
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


def _says(best: Length, settings: Settings) -> str:
    if best.range is None:
        return f"expected speedup {best.speedup:.2f} ({expected_speedup.step_of(best.speedup, settings).says})"
    return evidence.headline(evidence.ruling(best.range, settings.thresholds.pays_clearly), best.range, ASSUMED)


def _notes(best: Length | None, more: Length | None, longest: int, gain: float) -> tuple[str, ...]:
    note = "Expected of speculative steps alone: only a baseline under the same load measures the real speedup."
    if more is not None:
        test = f"p = {more.survival:.3f} against c * S({longest}) = {more.needed_survival:.3f}"
        faster = more.at_least > (best.at_least * (1 + gain) if best else 1)
        turn = "may be faster still" if faster else "is not expected to be faster"
        return (
            note,
            f"k = {more.k} {turn} (S = {more.range or f'{more.speedup:.2f}'}, extrapolated, never measured: {test}).",
        )
    if best is not None and best.k == longest:
        return (note, f"The best k is the longest planned: a draft longer than {longest} may be better still.")
    return (note,)
