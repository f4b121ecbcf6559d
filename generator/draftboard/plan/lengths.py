"""The best draft length, by the expected speedup of every k."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

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
class Ends(Described):
    """Figures of drafts of k tokens at the lowest and the highest of assumed costs."""

    step_cost: evidence.Range
    speedup: evidence.Range
    gain: evidence.Range
    needed_survival: evidence.Range
    break_even_acceptance: evidence.Range
    break_even_alpha: evidence.Range | None  # None where at one of them even a perfect drafter does not pay

    @classmethod
    def of(cls, k: int, tokens: Sequence[float], costs: Sequence[assumed.Costs]) -> Self:
        """Of the tokens that steps of 0 to k drafted tokens yield, and their costs in each case."""
        speedups = [[tokens[at] / cost for cost in costs[at]] for at in (k - 1, k)]
        longer = [now - before for before, now in zip(costs[k - 1], costs[k], strict=True)]
        alphas = [theory.break_even_alpha(k, 0, cost) for cost in costs[k]]
        known = [alpha for alpha in alphas if alpha is not None]
        return cls(
            _range(costs[k]),
            _range(speedups[1]),
            _range([now - before for before, now in zip(*speedups, strict=True)]),
            _range([more * before for more, before in zip(longer, speedups[0], strict=True)]),
            _range([(cost - 1) / k for cost in costs[k]]),
            _range(known) if len(known) == len(alphas) else None,
        )


def _range(each: Sequence[float]) -> evidence.Range:
    return evidence.Range(min(each), max(each))


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
    ends: Ends | None = None  # where c or v is assumed; the numbers are then at c and v of the settings alone

    @property
    def range(self) -> evidence.Range | None:
        """Of the speedup, where costs are assumed."""
        return self.ends.speedup if self.ends else None

    @property
    def at_least(self) -> float:
        """The speedup, or the low end of its range."""
        return self.range.low if self.range else self.speedup

    def worded(self, figure: str, spec: str) -> str:
        """A figure by its name: its range, or the number."""
        known, ends = getattr(self, figure), getattr(self.ends, figure) if self.ends else None
        if ends is None:
            return "never" if known is None or self.ends else f"{known:{spec}}"
        low, high = f"{ends.low:{spec}}", f"{ends.high:{spec}}"
        return low if low == high else f"{low} to {high}"


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
            digits = 2 if each.ends else 3
            figures = (each.worded(figure, f".{digits}f") for figure in ("step_cost", "speedup"))
            tokens, gain = f"{each.tokens_per_step:.3f}", each.worded("gain", f"+.{digits}f")
            speedups.append((str(each.k), mark, tokens, *figures, gain))
            shares = (each.worded(figure, ".1%") for figure in ("needed_survival", "break_even_acceptance"))
            alpha = each.worded("break_even_alpha", ".3f")
            needs.append((str(each.k), f"{each.accepted:.3f}", f"{each.survival:.1%}", *shares, alpha))
        of_speedup = ("Tokens a step", "Step cost", "Speedup", "Gain over k-1")
        of_need = ("Accepted", "Survival", "Needed to pay", "Break-even A", "Break-even alpha")
        costs = f"c = {self.cost_ratio.value:g}, v = {self.verify_inflation.value:g}"
        if self.lengths[0].ends:
            costs = "assumed costs, from the lowest to the highest"
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
    costs = assumed.step_costs(len(shares), cost, inflation, method, batch)
    lengths = tuple(
        Length(
            *(k, share, tokens[k], tokens[k] - 1, theory.step_cost(k, c, v)),
            *(speedups[k], speedups[k] - speedups[k - 1]),
            # S(k) > S(k-1), solved for p_(k-1); not merely p > c, which drafts too far.
            needed_survival=c * speedups[k - 1] if k > 1 else c + (v - 1),
            break_even_acceptance=theory.cost_per_drafted_token(k, c, v),
            break_even_alpha=theory.break_even_alpha(k, c, v),
            extrapolated=k > len(planned),
            ends=Ends.of(k, tokens, costs) if costs else None,
        )
        for k, share in enumerate(shares, 1)
    )
    gain, ranges = settings.thresholds.gain, [each.range for each in lengths[: len(planned)] if each.range]
    k = assumed.best(ranges, gain) if ranges else theory.best_k(planned, c, v, gain)[0]
    best, more = lengths[k - 1] if k else None, lengths[-1] if extrapolates else None
    verdict = _OFF if best is None else f"k = {best.k}: {_says(best, settings)}."
    notes = _notes(best, more, len(planned), gain)
    if ranges and best:
        notes += (assumed.rests_on(ranges, gain),)
    else:
        notes += (*cost.note("cost ratio"), *inflation.note("verify inflation"))
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
        needed = more.worded("needed_survival", ".3f")
        test = f"p = {more.survival:.3f} against {'' if more.ends else f'c * S({longest}) = '}{needed}"
        faster = more.at_least > (best.at_least * (1 + gain) if best else 1)
        turn = "may be faster still" if faster else "is not expected to be faster"
        return (
            note,
            f"k = {more.k} {turn} (S = {more.range or f'{more.speedup:.2f}'}, extrapolated, never measured: {test}).",
        )
    if best is not None and best.k == longest:
        return (note, f"The best k is the longest planned: a draft longer than {longest} may be better still.")
    return (note,)
