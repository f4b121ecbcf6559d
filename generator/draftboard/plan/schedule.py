"""The best draft length by batch size, as vLLM schedules it, and by context, in the form that is proposed for it."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby, pairwise
from operator import itemgetter

from draftboard.errors import DraftboardError
from draftboard.output import Block, Described, Heading, Sentence, Table, Verbatim, columns
from draftboard.plan import theory
from draftboard.plan.basis import FORMULAS, Curve, Formula, Plan, Term, within
from draftboard.settings import Settings

_LARGEST_BATCH, _LONGEST_CONTEXT, _MOST_POINTS, _MOST_CONTEXTS = 16_384, 100_000_000, 64, 16
_Points = Sequence[tuple[int, float]]  # batch sizes in rising order, with v measured at each


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
class AtContext(Described):
    """The best draft lengths of requests with so many tokens; both bounds belong to it."""

    first: int
    last: int
    inflation: Curve
    ranges: tuple[Range, ...]


@dataclass(frozen=True)
class SpeculativeConfig(Described):
    """Two keys of vLLM's --speculative-config, under vLLM's names."""

    num_speculative_tokens: int  # the longest draft of all: vLLM cuts every K to it, and sizes its buffers by it
    num_speculative_tokens_per_batch_size: tuple[tuple[int, ...], ...]
    """First batch size, last batch size, K; as proposed, before K the first and the last context."""


@dataclass(frozen=True, kw_only=True)
class SchedulePlan(Plan):
    """The best draft length at every batch size up to the largest measured."""

    plan: str = "schedule"
    formulas: tuple[Formula, ...] = FORMULAS["speedup"] + FORMULAS["schedule"]
    cost_ratio: Term
    inflation: Curve  # of several contexts, the shortest
    measured_at: int  # the longest draft planned, at which the inflation was measured
    ranges: tuple[Range, ...]  # of several contexts, with the shortest of their draft lengths at each batch size
    speculative_config: SpeculativeConfig | None  # None when speculation pays at no batch size
    contexts: tuple[AtContext, ...] = ()  # the shortest first; empty where one inflation was given for all
    proposed_config: SpeculativeConfig | None = None  # K by batch and context; no release of vLLM takes it

    def blocks(self) -> tuple[Block, ...]:
        """K by batch size, and the keys for vLLM on one line."""
        title = Heading(f"K by batch size: c = {self.cost_ratio.value:g}")
        table = self._table((("", self.ranges),))
        if self.contexts:
            title = Heading(f"K by context and batch size: c = {self.cost_ratio.value:g}")
            table = self._table(tuple((f"{each.first:,} to {each.last:,}", each.ranges) for each in self.contexts))
        blocks: tuple[Block, ...] = (title, table)
        if self.speculative_config:
            shortest = ": at each batch size the shortest draft of all contexts." if self.contexts else ":"
            where = f"Put these keys into --speculative-config, beside method and model{shortest}"
            blocks += (Sentence(where), _line(self.speculative_config))
        if self.proposed_config:
            where = "By context, as vLLM's pull request 48944 proposes it. No release takes it up to 0.33:"
            blocks += (Sentence(where), _line(self.proposed_config))
        return blocks

    def _table(self, parts: Sequence[tuple[str, Sequence[Range]]]) -> Table:
        numbers = ("K", f"v at K = {self.measured_at}", "Expected speedup")
        rows = []
        for context, each in ((context, each) for context, ranges in parts for each in ranges):
            spans = ((each.inflation_least, each.inflation_most), (each.speedup_least, each.speedup_most))
            texts = ("-".join(dict.fromkeys((f"{least:.2f}", f"{most:.2f}"))) for least, most in spans)
            rows.append((*((context,) if context else ()), f"{each.first} to {each.last}", str(each.k), *texts))
        heads = ("Context", "Batch size") if self.contexts else ("Batch size",)
        return Table(columns(*heads, numbers=numbers), tuple(rows))


def _line(config: SpeculativeConfig) -> Verbatim:
    return Verbatim(json.dumps(asdict(config)))


def plan_schedule(settings: Settings, survival: Sequence[float], cost: Term, *curves: Curve) -> SchedulePlan:
    """Plan from survival by position, c and v; v is that of a draft as long as `survival`, shorter ones have less.

    Several curves are of several contexts, the shortest first.
    """
    _require_contexts(curves)
    at, gain = len(survival), settings.thresholds.gain
    largest = min(curve.points[-1][0] for curve in curves)
    tables = [tuple(_best(survival, cost.value, curve.points, gain, largest)) for curve in curves]
    ranges = _ranges(_shortest(tables))
    contexts = _contexts(curves, tables) if curves[0].context else ()
    config, last = _config((), ranges), ranges[-1]
    notes = [f"v is taken as measured at K = {at}; of a shorter draft, by its share of the verified tokens."]
    verdict = "Leave speculation off: at no batch size is it expected to be as fast as plain decoding."
    proposed = _proposed(contexts)
    if contexts:
        notes += ["Survival is taken as equal at all contexts: measure it at each."]
    if longest := config.num_speculative_tokens:
        off = ", ".join(f"{each.first} to {each.last}" for each in ranges if not each.k)
        verdict = "Speculation is expected to pay at every batch size that was given."
        somewhere = " at some context" if contexts else ""
        verdict = (
            f"Plain decoding (K = 0) is expected to be faster at batch sizes {off}{somewhere}." if off else verdict
        )
        notes += [
            f"Beyond {last.last} vLLM keeps K = {last.k}: measure up to your --max-num-seqs.",
            "vLLM counts every request of a step, prefills too, so a prefill that joins can cross a bound.",
            "vLLM has tested schedules with eagle, eagle3 and dflash: with another method, try it first.",
            "vLLM drops the schedule under data parallelism, and uses num_speculative_tokens throughout.",
            "vLLM issue 49548 reports a collapse of throughput where the batch swings about a bound: load-test there.",
        ]
    elif proposed:
        verdict = "Speculation is expected to pay by context only: at every batch size some are faster without."
    return SchedulePlan(
        verdict=verdict,
        notes=(*notes, *_of_curve(curves[0], at), *cost.note("cost ratio")),
        cost_ratio=cost,
        inflation=curves[0],
        measured_at=at,
        ranges=ranges,
        speculative_config=config if longest else None,
        contexts=contexts,
        proposed_config=proposed,
    )


def _of_curve(curve: Curve, at: int) -> tuple[str, ...]:
    """A note on the source of the settings' curve."""
    if curve.source == "given":
        return ()
    basis = "is assumed" if curve.assumed else "was calibrated"
    return (f"v by batch size {basis} ({curve.source}): right for K = {at} if it was measured with drafts so long.",)


def _require_contexts(curves: Sequence[Curve]) -> None:
    for curve in curves:
        _require_curve(curve.points)
    if len(curves) == 1 and curves[0].context is None:
        return
    if len(curves) > _MOST_CONTEXTS or None in (lengths := [curve.context for curve in curves]):
        raise DraftboardError(f"inflation: give one curve, or up to {_MOST_CONTEXTS}, each as CONTEXT:SIZE=V,...")
    for length in filter(None, lengths):
        within("context", length, 1, _LONGEST_CONTEXT)
    for before, after in pairwise(filter(None, lengths)):
        if after <= before:
            raise DraftboardError(f"inflation: context {after} follows {before}; give each once, in rising order")


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


@dataclass(frozen=True)
class _Best:
    """At one batch size."""

    inflation: float
    k: int
    speedups: tuple[float, ...]  # of every k


def _best(survival: Sequence[float], cost: float, curve: _Points, gain: float, largest: int) -> Iterator[_Best]:
    """At each batch size up to the largest that all contexts have."""
    for size in range(1, largest + 1):
        inflation = _inflation_at(curve, size)
        shared = theory.cost_per_drafted_token(len(survival), cost, inflation)
        k, _ = theory.best_k(survival, shared, gain=gain)
        yield _Best(inflation, k, theory.speedup_at(survival, shared))


_Choice = tuple[int, Sequence[_Best]]
"""A K, and what it has at each context."""


def _shortest(tables: Sequence[Sequence[_Best]]) -> Iterator[_Choice]:
    """At each batch size: a longer draft than the best may lose, a shorter one gains less."""
    return ((min(each.k for each in same), same) for same in zip(*tables, strict=True))


def _ranges(choices: Iterator[_Choice]) -> tuple[Range, ...]:
    """Ranges of batch sizes with the same K; every size is in exactly one range."""
    ranges = []
    for k, members in groupby(enumerate(choices, 1), key=lambda member: member[1][0]):
        sizes, chosen = zip(*members, strict=True)
        each = [one for _, contexts in chosen for one in contexts]
        speedups, inflations = [one.speedups[k] for one in each], [one.inflation for one in each]
        ranges.append(Range(sizes[0], sizes[-1], k, min(speedups), max(speedups), min(inflations), max(inflations)))
    return tuple(ranges)


def _contexts(curves: Sequence[Curve], tables: Sequence[Sequence[_Best]]) -> tuple[AtContext, ...]:
    lasts = [curve.context or 0 for curve in curves]
    return tuple(
        AtContext(before + 1, last, curve, _ranges((each.k, (each,)) for each in table))
        for before, last, curve, table in zip((0, *lasts), lasts, curves, tables, strict=False)
    )


def _config(context: tuple[int, ...], ranges: Sequence[Range]) -> SpeculativeConfig:
    entries = tuple((each.first, each.last, *context, each.k) for each in ranges)
    return SpeculativeConfig(max(map(itemgetter(-1), entries)), entries)


def _proposed(contexts: Sequence[AtContext]) -> SpeculativeConfig | None:
    """All contexts in one; None where no draft pays at any."""
    parts = [_config((each.first, each.last), each.ranges) for each in contexts]
    longest = max((part.num_speculative_tokens for part in parts), default=0)
    entries = (entry for part in parts for entry in part.num_speculative_tokens_per_batch_size)
    return SpeculativeConfig(longest, tuple(entries)) if longest else None
