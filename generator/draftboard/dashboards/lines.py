"""Which series a graph draws: the worst few at the end of the time range, the same ones in every panel.

The set is fixed over a graph: lines neither come nor go while others overtake them.
"""

from dataclasses import dataclass, replace

from draftboard.dashboards.labels import label_join, label_replace
from draftboard.expr import promql
from draftboard.expr.nodes import Expr, UpTo, first_of
from draftboard.expr.reads import exists
from draftboard.expr.scope import Edition, Level, Scope
from draftboard.expr.to_promql import TooLongError, promql_of
from draftboard.quantity import Setting, smallest
from draftboard.signals import Signal, next_steps
from draftboard.signals.acceptance import acceptance_length
from draftboard.signals.health import HEALTH, health
from draftboard.signals.signal import Better, within
from draftboard.signals.states import state
from draftboard.signals.traffic import drafts, generation_tokens

RANK = "Health"
"""Label that holds the rank at the end of the time range; with a capital, so that Prometheus sorts by it."""
NAME = "Name"
"""Label that holds the name of a model's row."""
BASIS = "basis"
"""Label that says whether a value was measured, or is expected at least."""
LONGEST_SERIES = 2_000
"""Characters of a chart's query, without what its panel adds."""
LINES, SLO = "lines", "slo"
"""Variables: how many models are drawn, and for which SLO."""
_COUNT = f"${LINES}"
_LAST = -1e6  # Rank of series without a value, such as those of a server that is down.
_LEAST = {"k": "1", "percentile": "10"}
"""The least value of a label, where it is not 0."""
_LONGEST_LENGTH = 1_000.0
"""Tokens that no step yields: health decides, whatever the length."""
_POSITIONS = 12  # Lines that a reader can follow; deeper positions are few and lie close together.


@dataclass(frozen=True)
class _Ranking:
    """An order of models, engines or other series."""

    value: str  # PromQL of the values to rank, at the end of the time range.
    labels: tuple[str, ...]  # They identify a ranked series.
    lowest: bool = False  # Whether the lowest value comes first, rather than the highest.


@dataclass(frozen=True)
class Lines:
    """Which series the graphs of one dashboard draw."""

    edition: Edition
    worst: Signal  # Ranks models.
    drafting: bool  # Whether only models that draft are drawn.
    offered: tuple[int, ...]  # Numbers of lines to choose from, beside all.

    @property
    def first(self) -> str:
        """Which models come first."""
        return "busiest" if self.edition is Edition.RAW else "worst"

    @property
    def order(self) -> str:
        """The order in words."""
        by = self._work if self.edition is Edition.RAW else self.worst
        return f"{self.first} first, by {within(by.title)} at the end of the time shown"

    def of(self, signal: Signal, scope: Scope, worst: Signal | None = None) -> str:
        """A signal of the first models; at other levels of what `worst` or the signal's own values rank first.

        Of SLOs only the selected one is drawn.
        """
        series = _of_selected_slo(signal, scope) if SLO in signal.by else promql_of(signal, scope)
        if scope.level is Level.MODEL and self._by_health:
            return _in_order(series, scope, _COUNT, self._ranking_of_models(scope.at_end()).value)
        return self._first(_COUNT, series, signal, scope, worst)

    def now(self, signal: Signal, scope: Scope) -> str:
        """Latest values of a signal by its own label, of those models that the graphs of the page draw.

        A model without a value has one that is no number: a chart that leaves it out would give its colour to another.
        """
        if not self._by_health:
            return self.of(signal, scope)
        every = replace(scope, every_variant=True)  # The ranking knows the selected ones.
        (label,) = signal.by
        none = label_replace(promql.binary("NaN", "*", promql_of(health, every)), label, _LEAST.get(label, "0"), "", "")
        values, rank, matching = promql_of(signal, every), promql_of(self._rank, scope), f"ignoring ({label}, {RANK})"

        def ordered(none: str) -> str:
            series = promql.binary(values, "or", none, f"ignoring ({label})")
            return _in_order(series, scope, _COUNT, rank, matching)

        # Where no model has a value, the chart says so; a query too long to read twice draws its axes.
        some = ordered(promql.binary(none, "and", values, "on ()"))
        return some if len(some) < LONGEST_SERIES else ordered(none)

    def of_either(self, measured: Signal, expected: Signal, scope: Scope) -> str:
        """What was measured of the first models lately; of those without a measurement, what is expected at least."""
        chosen, match = _latest(measured, scope.at_end()), f"on ({', '.join(scope.labels)})"
        either = (
            label_replace(promql.binary(promql_of(one, scope), how, chosen, match), BASIS, f"({words})", "", "")
            for one, how, words in ((measured, "and", "measured"), (expected, "unless", "at least"))
        )
        ranks = self._ranking_of_models(scope.at_end()).value
        return _in_order(promql.first_of(*either), scope, _COUNT, ranks)

    def of_one(self, signal: Signal, scope: Scope) -> str:
        """All lines of the first model alone; of positions the first ones."""
        shown = signal.where("position", UpTo(_POSITIONS - 1)) if "position" in signal.by else signal
        return self._first("1", promql_of(shown, scope), signal, scope)

    def _first(self, count: str, series: str, signal: Signal, scope: Scope, worst: Signal | None = None) -> str:
        ranking = self._ranking(signal, scope, worst or signal)
        carried = {*scope.labels, *signal.by}
        matching = ", ".join(label for label in ranking.labels if label in carried)
        first = promql.call("bottomk" if ranking.lowest else "topk", count, ranking.value)
        return promql.binary(series, "and", first, f"on ({matching})")

    def _ranking(self, signal: Signal, scope: Scope, worst: Signal) -> _Ranking:
        level, raw = scope.level, self.edition is Edition.RAW
        # What a service does in all its variants is ranked among the selected ones.
        end = replace(scope, level=Level.MODEL if level is Level.SERVICE else level, every_variant=False).at_end()
        if end.level is Level.MODEL:
            return self._ranking_of_models(end)
        if level is Level.ENGINE and raw and not signal.by:
            return _Ranking(_latest(generation_tokens, end), end.labels)
        by = tuple(label for label in worst.by if label in signal.by)
        values = [_latest_by(worst, by, end)] if exists(worst, end) else []
        lowest = worst.better is Better.HIGHER
        if level is Level.ENGINE and not by and not raw:
            values.append(promql.constant(promql.number(-_LAST if lowest else _LAST), promql_of(state, end)))
        return _Ranking(promql.first_of(*values), (*end.labels, *by), lowest)

    def _ranking_of_models(self, end: Scope) -> _Ranking:
        if self.edition is Edition.RAW:
            return _Ranking(_latest(self._work, end), end.labels)
        if self._by_health:
            return _Ranking(_latest(self._rank, end), end.labels, lowest=True)
        values = [_latest(self.worst, end)] if exists(self.worst, end) else []
        return _Ranking(
            promql.first_of(*values, promql.constant(promql.number(_LAST), promql_of(health, end))), end.labels
        )

    @property
    def _by_health(self) -> bool:
        return self.edition is not Edition.RAW and self.worst is health

    @property
    def _rank(self) -> Expr:
        """The lower, the sooner. Without drafts, models that are off have none where those that draft are drawn."""
        rank = next_steps.rank
        return first_of(rank & drafts, rank < HEALTH["off"].value) if self.drafting else rank

    @property
    def _work(self) -> Signal:
        return drafts if self.drafting else generation_tokens


def worst_first(series: str, scope: Scope, most: int, *, named: bool = False) -> str:
    """Series of models, the worst first, at most so many; if wanted with a name that is as short as it may be."""
    return _in_order(series, scope, str(most), promql_of(next_steps.rank, scope.at_end()), named=named)


def _in_order(series: str, scope: Scope, count: str, rank: str, matching: str = "", *, named: bool = False) -> str:
    """Series of the models with the lowest ranks, in this order: Prometheus sorts by the label that holds it first."""
    ranks = promql.binary("10", "+", promql.call("bottomk", count, rank))  # Of two digits, which sort as text.
    by_rank = promql.call("count_values without () ", f'"{RANK}"', ranks)
    matching = matching or f"on ({', '.join(scope.labels)})"
    labels = (RANK, NAME) if named else (RANK,)
    return promql.binary(
        series, "*", _named(by_rank, scope) if named else by_rank, f"{matching} group_left ({', '.join(labels)})"
    )


def _named(series: str, scope: Scope) -> str:
    """With a name: that of the model where no other series has it, else also what tells them apart, variants last.

    Where there is no room, Grafana cuts names on the left.
    """
    of = scope.settings.labels
    model, variant = of.model_name, [label for label in of.variant_labels[:2] if label in scope.labels]
    others = [label for label in reversed(scope.labels) if label not in {model, *of.variant_labels}]
    short = label_replace(series, NAME, "$1", model, "(?:.*/)?(.+)")
    alone = promql.binary(promql.aggregate("count", (model,), series), "==", "1")
    both = promql.binary(short, "and", alone, f"on ({model})")
    return promql.first_of(
        both, label_join(short, NAME, " ", *others, NAME, *variant), matching=f"on ({', '.join(scope.labels)})"
    )


def worst_engines(scope: Scope, most: int) -> str:
    """At most so many engines: those of the worst health, and of equals those of the lowest acceptance length.

    Empty where no record has their health: nothing short enough to read ranks them.
    """
    try:
        well, length = promql_of(health, scope), promql_of(acceptance_length, scope)
    except TooLongError:
        return ""
    shorter = promql.binary(length, "/", promql.number(_LONGEST_LENGTH))
    return promql.call("bottomk", str(most), promql.first_of(promql.binary(well, "+", shorter), well))


def above_zero(signal: Signal, scope: Scope) -> str:
    """The highest values above 0 of each moment: a failure is seen wherever it happens, and a healthy model is not."""
    return promql.call("topk", _COUNT, promql_of(signal > 0, scope))


def _of_selected_slo(signal: Signal, scope: Scope) -> str:
    if scope.edition.reads_records:
        return promql_of(signal.where(SLO, f"${SLO}"), scope)
    # Raw series carry no such label: the expression writes it.
    selected = label_replace("vector(1)", SLO, f"${SLO}", "", "")
    return promql.binary(promql_of(signal, scope), "and", selected, f"on ({SLO})")


def _latest_by(signal: Signal, by: tuple[str, ...], scope: Scope) -> str:
    """The latest value of a signal, or the highest one by those labels of its own."""
    # A GPU has no record that is short to read.
    value = promql_of(signal, scope) if scope.level is Level.HOST else _latest(signal, scope)
    return value if by == signal.by else promql.aggregate("max", (*scope.labels, *by), value)


_REMEMBERED = smallest(Setting("rules.remember"), Setting("dashboards.time_range") // 2)
"""As long as servers are remembered, but well within the time range."""


def _latest(value: Expr, scope: Scope) -> str:
    """A value now or, of what has gone since, its last one, so that its past is drawn, too."""
    if scope.edition is Edition.RAW:
        return promql_of(value, scope.over(_REMEMBERED))
    return promql.first_of(promql_of(value, scope), promql_of(value, scope.ago(_REMEMBERED)))
