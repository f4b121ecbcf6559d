"""Which series a chart draws: the worst few at the end of what is shown, the same ones in every panel.

The set is fixed over a graph: lines neither come nor go while others overtake them.
"""

from dataclasses import dataclass, replace

from draftboard.durations import Duration
from draftboard.expr import promql
from draftboard.expr.counts import View
from draftboard.expr.labels import LabelReplace, up_to
from draftboard.expr.scope import Edition, Level, Scope
from draftboard.expr.tree import Expr, Function, Given, Seen, constant, expr, first_of, on, over_level
from draftboard.expr.vector import NOTHING, Vector
from draftboard.settings import Settings
from draftboard.signals import Signal
from draftboard.signals.decisions import STANDING, standing, state
from draftboard.signals.signal import Better, within
from draftboard.signals.traffic import drafts, generation_tokens

LINES, SLO = "lines", "slo"
"""Variables: how many models are drawn, and for which SLO."""
CHOSEN = f"${LINES}"
_LAST = -1e6  # Value of what has none, such as a server that is down.
_POSITIONS = 12  # Lines that a reader can follow; deeper positions are few and lie close together.


@dataclass(frozen=True)
class Ranking:
    """An order of models, engines or other series, of which the first are drawn."""

    value: Expr
    level: Level
    by: tuple[str, ...] = ()  # Labels beyond those of the level.
    lowest: bool = False  # Whether the lowest value comes first, rather than the highest.

    def first(self, number: str, scope: Scope) -> str:
        """The first of them, as many as `number` says."""
        # Among the arms that are chosen, also for what a service does in all of them.
        seen = replace(scope, level=self.level, every_arm=False).at_end()
        return promql.call("bottomk" if self.lowest else "topk", number, seen(self.value))

    def labels(self, settings: Settings) -> tuple[str, ...]:
        """Labels that identify what is ranked."""
        return (*self.level.labels(settings), *self.by)


@dataclass(frozen=True, eq=False)
class Drawn(Expr):
    """Those series of a signal that belong to the first of a ranking."""

    series: Expr
    by: tuple[str, ...]  # Their labels beyond those of the level.
    ranking: Ranking
    number: str = CHOSEN

    def promql(self, scope: Scope) -> str:
        own = {*scope.labels, *self.by}
        shared = ", ".join(label for label in self.ranking.labels(scope.settings) if label in own)
        first = self.ranking.first(self.number, scope)
        return promql.binary(self.series.promql(scope), "and", first, f"on ({shared})")

    def values(self, view: View) -> Vector | float:  # noqa: ARG002
        return NOTHING


@dataclass(frozen=True, eq=False)
class Failing(Expr):
    """The highest values above 0 of each moment: a failure is seen wherever it happens, and a healthy model is not."""

    series: Expr

    def promql(self, scope: Scope) -> str:
        return promql.call("topk", CHOSEN, (self.series > 0).promql(scope))

    def values(self, view: View) -> Vector | float:  # noqa: ARG002
        return NOTHING


@dataclass(frozen=True)
class Lines:
    """What the charts of one dashboard draw."""

    edition: Edition
    worst: Signal  # Ranks models: their standing, or what is bad where it is high.
    drafting: bool  # Whether only models that draft are drawn.
    offered: tuple[int, ...] = (6, 12)  # Numbers of lines to choose from, beside all.

    @property
    def first(self) -> str:
        """What comes first in the order of models."""
        return "busiest" if self.edition is Edition.RAW else "worst"

    @property
    def order(self) -> str:
        """What that means."""
        by = (drafts if self.drafting else generation_tokens) if self.edition is Edition.RAW else self.worst
        return f"{self.first} first, by {within(by.title)} at the end of the time shown"

    def of(self, signal: Signal, level: Level, worst: Signal | None = None) -> Drawn:
        """A signal of the first models; at other levels of what `worst` or the signal's own values rank first.

        Of SLOs it is the chosen one's.
        """
        series = Given(lambda s: _of_chosen_slo(signal, s)) if SLO in signal.by else signal
        return Drawn(series, signal.by, self._ranking(signal, level, worst))

    def of_one(self, signal: Signal, level: Level) -> Drawn:
        """All lines of the first model alone; of positions the first ones."""
        first = signal.where("position", up_to(_POSITIONS - 1)) if "position" in signal.by else signal
        return Drawn(first, signal.by, self._ranking(signal, level, None), "1")

    def _ranking(self, signal: Signal, level: Level, worst: Signal | None) -> Ranking:
        raw = self.edition is Edition.RAW
        if level in {Level.MODEL, Level.SERVICE}:
            if raw:
                return _busiest(drafts if self.drafting else generation_tokens, Level.MODEL)
            return _worst(self.worst, drafting=self.drafting)
        if level is Level.ENGINE and raw and not signal.by:
            return _busiest(generation_tokens, level)
        ranked = worst or signal
        by = tuple(label for label in ranked.by if label in signal.by)
        value = ranked if level is Level.HOST else _lately(ranked)  # A GPU has no record that is short to read.
        reduced = value if by == ranked.by else over_level("max", value, *by)
        lowest = ranked.better is Better.HIGHER
        if level is Level.ENGINE and not by and not raw:
            reduced = first_of(reduced, constant(-_LAST if lowest else _LAST, state))
        return Ranking(reduced, level, by, lowest=lowest)


def _busiest(work: Signal, level: Level) -> Ranking:
    return Ranking(_lately(work), level)


def _worst(signal: Signal, *, drafting: bool) -> Ranking:
    """By the signal; models that have no value of it come last."""
    if signal is not standing:
        return Ranking(first_of(_lately(signal), constant(_LAST, standing)), Level.MODEL)
    # Of equals the busiest comes first.
    work = drafts if drafting else generation_tokens
    there = standing < STANDING["off"].value if drafting else standing
    return Ranking(first_of(_lately(standing + expr(1).per(1 + work)), there + 1), Level.MODEL, lowest=True)


def _of_chosen_slo(signal: Signal, scope: Scope) -> Expr:
    if scope.edition.reads_records:
        return signal.where(SLO, f"${SLO}")
    # Raw series carry no such label: the expression writes it.
    chosen = LabelReplace(Function("vector", expr(1)), SLO, f"${SLO}", "", "")
    return signal.combined("and", chosen, on(lambda _: (SLO,)))


def _lately(value: Expr) -> Expr:
    """A value now; before, of what has gone since, so that its past is drawn, too."""

    def of(scope: Scope) -> Expr:
        if scope.edition is Edition.RAW:
            return Seen(value, lambda seen: seen.over(_remembered(seen.settings)))
        return first_of(value, value.ago(_remembered))

    return Given(of)


def _remembered(settings: Settings) -> Duration:
    """How long servers are remembered, but well within what is shown."""
    return settings.rules.remember.at_most(settings.dashboards.time_range // 2)
