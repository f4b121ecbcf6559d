"""The best draft length: by the expected speedup of every k, and by batch size, as vLLM schedules it."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import groupby, pairwise
from operator import itemgetter

from draftboard import evidence
from draftboard.errors import DraftboardError
from draftboard.output import Block, Described, Heading, Sentence, Table, Text, Verbatim, columns
from draftboard.plan import assumed, theory
from draftboard.plan.basis import FORMULAS, Curve, Formula, Plan, Term, survival_of, within
from draftboard.settings import Settings
from draftboard.settings.fields import LONGEST_DRAFT
from draftboard.signals.economics import expected_speedup
from draftboard.signals.verdicts import ASSUMED
from draftboard.status import Status

_OFF = "Leave speculation off: no k up to the longest planned is expected to be as fast as plain decoding."
_LARGEST_BATCH, _MOST_POINTS = 16_384, 64
_Points = Sequence[tuple[int, float]]  # batch sizes in rising order, with v measured at each


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


@dataclass(frozen=True)
class Range(Described):
    """Batch sizes that share a draft length; both bounds belong to it."""

    first: int
    last: int
    k: int  # 0: plain decoding
    speedup_least: float  # expected at this k; 1 where k is 0
    speedup_most: float
    inflation_least: float  # as measured, at the longest draft
    inflation_most: float


@dataclass(frozen=True)
class SpeculativeConfig(Described):
    """Two keys of vLLM's --speculative-config, under vLLM's names."""

    num_speculative_tokens: int  # the longest draft of all: vLLM cuts every K to it, and sizes its buffers by it
    num_speculative_tokens_per_batch_size: tuple[tuple[int, int, int], ...]  # first batch size, last batch size, K


@dataclass(frozen=True, kw_only=True)
class SchedulePlan(Plan):
    """The best draft length at every batch size up to the largest measured."""

    plan: str = "schedule"
    formulas: tuple[Formula, ...] = FORMULAS["speedup"] + FORMULAS["schedule"]
    cost_ratio: Term
    inflation: Curve
    measured_at: int  # the longest draft planned, at which the inflation was measured
    ranges: tuple[Range, ...]
    speculative_config: SpeculativeConfig | None  # None when speculation pays at no batch size

    def blocks(self) -> tuple[Block, ...]:
        """K by batch size, and the keys for vLLM on one line."""
        headings = columns("Batch size", numbers=("K", f"v at K = {self.measured_at}", "Expected speedup"))
        title = Heading(f"K by batch size: c = {self.cost_ratio.value:g}")
        rows = []
        for each in self.ranges:
            spans = ((each.inflation_least, each.inflation_most), (each.speedup_least, each.speedup_most))
            texts = ("-".join(dict.fromkeys((f"{least:.2f}", f"{most:.2f}"))) for least, most in spans)
            rows.append((f"{each.first} to {each.last}", str(each.k), *texts))
        if self.speculative_config is None:
            return (title, Table(headings, tuple(rows)))
        where = Sentence("Put these keys into --speculative-config, beside method and model:")
        return (title, Table(headings, tuple(rows)), where, Verbatim(json.dumps(asdict(self.speculative_config))))


def plan_schedule(settings: Settings, survival: Sequence[float], cost: Term, curve: Curve) -> SchedulePlan:
    """Plan from survival by position, c and v; v is that of a draft as long as `survival`, shorter ones have less."""
    _require_curve(curve.points)
    ranges, at = _ranges(survival, cost.value, curve.points, settings.thresholds.gain), len(survival)
    longest, last = max(each.k for each in ranges), ranges[-1]
    entries = tuple((each.first, each.last, each.k) for each in ranges)
    notes = [f"v is taken as measured at K = {at}; of a shorter draft, by its share of the verified tokens."]
    verdict = "Leave speculation off: at no batch size is it expected to be as fast as plain decoding."
    if longest:
        off = ", ".join(f"{each.first} to {each.last}" for each in ranges if not each.k)
        verdict = "Speculation is expected to pay at every batch size that was given."
        verdict = f"Plain decoding (K = 0) is expected to be faster at batch sizes {off}." if off else verdict
        notes += [
            f"Beyond {last.last} vLLM keeps K = {last.k}: measure up to your --max-num-seqs.",
            "vLLM counts every request of a step, prefills too, so a prefill that joins can cross a bound.",
            "vLLM has tested schedules with eagle, eagle3 and dflash: with another method, try it first.",
            "vLLM drops the schedule under data parallelism, and uses num_speculative_tokens throughout.",
            "vLLM issue 49548 reports a collapse of throughput where the batch swings about a bound: load-test there.",
        ]
    return SchedulePlan(
        verdict=verdict,
        notes=(*notes, *_of_curve(curve, at), *cost.note("cost ratio")),
        cost_ratio=cost,
        inflation=curve,
        measured_at=at,
        ranges=ranges,
        speculative_config=SpeculativeConfig(longest, entries) if longest else None,
    )


def _of_curve(curve: Curve, at: int) -> tuple[str, ...]:
    """A note on the source of the settings' curve."""
    if curve.source == "given":
        return ()
    basis = "is assumed" if curve.assumed else "was calibrated"
    return (f"v by batch size {basis} ({curve.source}): right for K = {at} if it was measured with drafts so long.",)


def _require_curve(curve: _Points) -> None:
    if not 1 <= len(curve) <= _MOST_POINTS:
        raise DraftboardError(f"inflation has {len(curve)} batch sizes: give 1 to {_MOST_POINTS}")
    for size, inflation in curve:
        within("batch size", size, 1, _LARGEST_BATCH)
        within(f"inflation at batch size {size}", inflation, 0.01, 1000)
    for (before, _), (after, _) in pairwise(curve):
        if after <= before:
            raise DraftboardError(f"inflation: batch size {after} follows {before}; give each once, in rising order")


def _inflation_at(curve: _Points, size: int) -> float:
    """Linear interpolation between the measured sizes; before the first, constant."""
    if size <= curve[0][0]:
        return curve[0][1]
    (low, v_low), (high, v_high) = next(pair for pair in pairwise(curve) if size <= pair[1][0])
    return v_low + (v_high - v_low) * (size - low) / (high - low)


def _ranges(survival: Sequence[float], cost: float, curve: _Points, gain: float) -> tuple[Range, ...]:
    """Ranges of batch sizes with the same K; every size is in exactly one range."""
    each = []
    for size in range(1, curve[-1][0] + 1):
        inflation = _inflation_at(curve, size)
        shared = theory.cost_per_drafted_token(len(survival), cost, inflation)
        k, speedup = theory.best_k(survival, shared, gain=gain)
        each.append((size, inflation, k, speedup))
    ranges = []
    for k, members in groupby(each, key=itemgetter(2)):
        sizes, inflations, _, speedups = zip(*members, strict=True)
        ranges.append(Range(sizes[0], sizes[-1], k, min(speedups), max(speedups), min(inflations), max(inflations)))
    return tuple(ranges)
