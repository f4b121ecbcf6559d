"""Robust regression on windows, with statsmodels' 95 % intervals.

The mean step of a candidate takes `t * (1 - q + q * (v + L * c))`, where t is the baseline's step at that load, q the
share of steps with a draft and L the mean draft. What disturbs a step is proportional to it, so logarithms are fitted.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, pstdev
from typing import Any

from draftboard.calibrate.windows import Cell, Window
from draftboard.errors import DraftboardError
from draftboard.extras import optional_module
from draftboard.intervals import Estimate

_WHY = "calibrate requires", "calibrate"  # What needs the package, and the extra that has it.
_TURNS, _SETTLED = 50, 1e-4  # Linearisations, and the change of parameters that ends them: far under the noise.
_NO_SCATTER = 1e-9  # Residuals below this are rounding.
_SPREAD = 0.1  # Doublings: the spread of a cell's batches from which the length of its steps follows them.
_COVERED = 0.05  # Share of steps with a draft, under which a window says nothing of the cost of drafts.
_VARIED = 0.5  # Tokens: the range of mean drafts at one load from which c and v are separated.
_KNOWN = 0.1  # Share of a step by which the cost of a mean draft may be uncertain. HEUR

_Regression = Callable[[Sequence[float], Sequence[Sequence[float]]], Any]


@dataclass(frozen=True)
class Means:
    """What each variant did at each load, without a model of costs."""

    plain_seconds: Mapping[int, Estimate]
    step_cost: Mapping[Cell, Estimate]
    speedup: Mapping[Cell, Estimate]
    tokens_per_step: Mapping[Cell, Estimate]


@dataclass(frozen=True)
class Costs:
    """What a step with a draft costs, by load."""

    lengths: Mapping[int, float]  # Mean draft L.
    sums: Mapping[int, Estimate]  # v + L * c.
    c: Estimate | None = None  # None where it cannot be separated from v.
    why: str = ""  # Why c is None.
    inflation: Mapping[int, Estimate] | None = None  # v, where c is known.


def require_statsmodels() -> None:
    """See before anything is measured whether it can be fitted."""
    optional_module("statsmodels.robust.robust_linear_model", *_WHY)


def means(windows: Sequence[Window]) -> Means:
    """Means of every variant at every load; each of these cells needs several windows."""
    loads, cells = sorted({one.load for one in windows}), cells_of(windows)
    slopes, start = _slopes(windows), len(loads)
    table = [
        [*_chosen(loads, one.load), *_chosen(cells, one.cell), *slope]
        for one, slope in zip(windows, slopes, strict=True)
    ]
    seconds = [math.log(one.step_seconds) for one in windows]
    times = _Fitted.of(seconds, table)
    yields = _Fitted.of([math.log(one.tokens_per_step) - s for one, s in zip(windows, seconds, strict=True)], table)
    drafting = [one for one in windows if not one.is_baseline]
    tokens = _Fitted.of([one.tokens_per_step for one in drafting], [_chosen(cells, one.cell) for one in drafting])
    return Means(
        {load: times.factor(column) for column, load in enumerate(loads)},
        {cell: times.factor(column) for column, cell in enumerate(cells, start)},
        {cell: yields.factor(column) for column, cell in enumerate(cells, start)},
        {cell: tokens.estimate({column: 1.0}) for column, cell in enumerate(cells)},
    )


def costs(windows: Sequence[Window]) -> Costs:
    """Costs of steps with a draft: their sum at each load, and c and v where the mean draft varied at one of them."""
    model = _Model(windows)
    if not model.lengths:
        return Costs({}, {}, why="nothing was drafted")
    together = model.solved(model.start())
    alone = Costs(model.lengths, {load: together.estimate({at: 1.0}) for load, at in model.columns.items()})
    if model.range < _VARIED:
        return replace(alone, why=f"at no load did the mean draft vary by more than {model.range:.2f} tokens")
    apart = model.solved([*together.parameters, 0.0])
    c, longest = apart.estimate({model.of_c: 1.0}), max(model.lengths.values())
    if (c.high - c.low) / 2 * longest > _KNOWN * min(one.value for one in alone.sums.values()):
        estimated = f"c = {c.value:.3f} (95 %: {c.low:.3f} to {c.high:.3f})"
        return replace(alone, why=f"the mean draft varied too little for the scatter of step times: {estimated}")
    columns = model.columns.items()
    return Costs(
        model.lengths,
        {load: apart.estimate({at: 1.0}) for load, at in columns},
        c,
        inflation={load: apart.estimate({at: 1.0, model.of_c: -model.lengths[load]}) for load, at in columns},
    )


def cells_of(windows: Sequence[Window]) -> list[Cell]:
    """Loads and candidates that there are windows of."""
    return sorted({one.cell for one in windows if not one.is_baseline})


def _chosen(of: Sequence[object], wanted: object) -> list[float]:
    return [float(one == wanted) for one in of]


def _slopes(windows: Sequence[Window]) -> list[list[float]]:
    """A column for each window's batch against its group's, in doublings; none where batches hardly vary in a cell.

    Groups of history span a factor of two, and variants need not have the same mean within it.
    """
    groups: dict[int, list[float]] = {}
    cells: dict[Cell, list[float]] = {}
    for one in windows:
        groups.setdefault(one.load, []).append(math.log2(one.batch))
        cells.setdefault(one.cell, []).append(math.log2(one.batch))
    if max(map(pstdev, cells.values())) < _SPREAD:
        return [[] for _ in windows]
    return [[math.log2(one.batch) - fmean(groups[one.load])] for one in windows]


@dataclass(frozen=True)
class _Fitted:
    """Parameters, and the regression that their intervals are of."""

    parameters: Sequence[float]
    result: Any  # statsmodels' own

    @classmethod
    def of(cls, values: Sequence[float], table: Sequence[Sequence[float]]) -> "_Fitted":
        """Of a linear model."""
        result = _robust(values, table)
        return cls(result.params.tolist(), result)

    def estimate(self, weights: Mapping[int, float]) -> Estimate:
        """A weighted sum of parameters, by column."""
        value = sum(self.parameters[column] * weight for column, weight in weights.items())
        row = [weights.get(column, 0.0) for column in range(len(self.parameters))]
        test = self.result.t_test(row, use_t=True)
        low, high = (float(bound) - float(test.effect[0]) for bound in test.conf_int()[0])
        return Estimate(value, value + low, value + high)

    def factor(self, column: int) -> Estimate:
        """A parameter that is a logarithm, as what it is the logarithm of."""
        logarithm = self.estimate({column: 1.0})
        return Estimate(math.exp(logarithm.value), math.exp(logarithm.low), math.exp(logarithm.high))


class _Model:
    """The steps of every window by t, v + L * c and c: linearised, fitted, and linearised again."""

    def __init__(self, windows: Sequence[Window]) -> None:
        self._windows, self._slopes = windows, _slopes(windows)
        self._loads = sorted({one.load for one in windows})
        drafts: dict[int, list[float]] = {}
        for one in windows:
            if not one.is_baseline and one.coverage >= _COVERED:
                drafts.setdefault(one.load, []).append(one.draft_length)
        self.lengths = {load: fmean(lengths) for load, lengths in sorted(drafts.items())}
        self.range = max((max(lengths) - min(lengths) for lengths in drafts.values()), default=0.0)
        self.columns = {load: column for column, load in enumerate(self.lengths, len(self._loads))}
        self.of_c = len(self._loads) + len(self.columns) + len(self._slopes[0])

    def solved(self, start: Sequence[float]) -> _Fitted:
        """Gauss and Newton's method: of least squares, then of robust regression; with c where the start has it."""
        near = self._approached(start, _least_squares)
        return self._approached(near.parameters, _robust)

    def _approached(self, start: Sequence[float], regression: _Regression) -> _Fitted:
        parameters = list(start)
        for _ in range(_TURNS):
            expected, table = self._linear(parameters)
            seconds = (math.log(one.step_seconds) for one in self._windows)
            result = regression(
                [given - expectation for given, expectation in zip(seconds, expected, strict=True)], table
            )
            step = result.params.tolist()
            while min(self._costs(_moved(parameters, step))) <= 0:
                step = [part / 2 for part in step]
            parameters = _moved(parameters, step)
            if max(map(abs, step)) < _SETTLED:
                return _Fitted(parameters, result)
        raise DraftboardError("step costs cannot be fitted: the windows contradict each other; measure again")

    def start(self) -> list[float]:
        """Means of each variant, as if the mean draft never varied."""
        plain = [self._mean(load, drafting=False) for load in self._loads]
        sums = []
        for load in self.columns:
            covered = fmean(one.coverage for one in self._windows if one.load == load and not one.is_baseline)
            ratio = math.exp(self._mean(load, drafting=True) - plain[self._loads.index(load)])
            sums.append(max(_COVERED, 1 + (ratio - 1) / covered))
        return [*plain, *sums, *(0.0 for _ in self._slopes[0])]

    def _mean(self, load: int, *, drafting: bool) -> float:
        own = (one for one in self._windows if one.load == load and one.is_baseline != drafting)
        return fmean(math.log(one.step_seconds) for one in own)

    def _costs(self, parameters: Sequence[float]) -> list[float]:
        """Of the mean step of each window, in plain steps."""
        c = parameters[self.of_c] if len(parameters) > self.of_c else 0.0
        return [
            1 + one.coverage * (parameters[self.columns[one.load]] + self._longer(one) * c - 1)
            if self._drafts(one)
            else 1.0
            for one in self._windows
        ]

    def _drafts(self, one: Window) -> bool:
        return not one.is_baseline and one.load in self.columns

    def _longer(self, one: Window) -> float:
        """A window's mean draft less that of its load: v + L * c is a sum that does not need to know c."""
        return one.draft_length - self.lengths[one.load] if one.drafts else 0.0

    def _linear(self, parameters: Sequence[float]) -> tuple[list[float], list[list[float]]]:
        """The expected logarithm of each window's mean step, and its derivatives by the parameters."""
        expected, table = [], []
        slopes = range(len(self._loads) + len(self.columns), self.of_c)
        for one, slope, cost in zip(self._windows, self._slopes, self._costs(parameters), strict=True):
            drafted = one.coverage / cost if self._drafts(one) else 0.0
            row = [*_chosen(self._loads, one.load), *_chosen(list(self.columns), one.load), *slope]
            for column in self.columns.values():
                row[column] *= drafted
            if len(parameters) > self.of_c:
                row.append(drafted * self._longer(one) if drafted else 0.0)
            table.append(row)
            shift = sum(parameters[column] * row[column] for column in slopes)
            expected.append(parameters[self._loads.index(one.load)] + shift + math.log(cost))
        return expected, table


def _moved(parameters: Sequence[float], step: Sequence[float]) -> list[float]:
    return [old + new for old, new in zip(parameters, step, strict=True)]


def _least_squares(values: Sequence[float], table: Sequence[Sequence[float]]) -> Any:  # noqa: ANN401
    linear = optional_module("statsmodels.regression.linear_model", *_WHY)
    return linear.OLS(values, table).fit()


def _robust(values: Sequence[float], table: Sequence[Sequence[float]]) -> Any:  # noqa: ANN401
    """Huber's estimator, to which a window that something disturbed counts little."""
    plain = _least_squares(values, table)
    if max(map(abs, plain.resid)) < _NO_SCATTER:  # the robust scale would be 0, by which residuals are divided
        return plain
    robust, scale = (optional_module(f"statsmodels.robust.{name}", *_WHY) for name in ("robust_linear_model", "scale"))
    # Huber's second proposal: of few windows the median of residuals is too rough a scale for intervals.
    return robust.RLM(values, table).fit(scale_est=scale.HuberScale(), conv="coefs", tol=_SETTLED)
