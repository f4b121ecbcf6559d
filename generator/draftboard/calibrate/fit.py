"""Robust regression on windows (statsmodels), with 95 % intervals.

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
_KNOWN = 0.1  # Share of a step by which the cost of a mean draft may be uncertain. Heuristic.

_Regression = Callable[[Sequence[float], Sequence[Sequence[float]]], Any]


@dataclass(frozen=True)
class Means:
    """Means of each variant at each load, without a cost model."""

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
    """Raise DraftboardError where the packages of the fit are missing, before anything is measured."""
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
    together = model.solved(model.start)
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
    """Loads and candidates with windows."""
    return sorted({one.cell for one in windows if not one.is_baseline})


def _chosen(of: Sequence[object], wanted: object) -> list[float]:
    return [float(one == wanted) for one in of]


def _slopes(windows: Sequence[Window]) -> list[list[float]]:
    """Log2 of each window's batch relative to its group's, as a column; none where batches hardly vary in a cell.

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
        """Fit a linear model."""
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
        """The exponential of a parameter."""
        logarithm = self.estimate({column: 1.0})
        return Estimate(math.exp(logarithm.value), math.exp(logarithm.low), math.exp(logarithm.high))


class _Model:
    """The steps of every window by t, v + L * c, slope and c: linearised, fitted, and linearised again."""

    def __init__(self, windows: Sequence[Window]) -> None:
        array = optional_module("numpy", *_WHY).array
        loads = sorted({one.load for one in windows})
        drafts: dict[int, list[float]] = {}
        for one in windows:
            if not one.is_baseline and one.coverage >= _COVERED:
                drafts.setdefault(one.load, []).append(one.draft_length)
        self.lengths = {load: fmean(lengths) for load, lengths in sorted(drafts.items())}
        self.range = max((max(lengths) - min(lengths) for lengths in drafts.values()), default=0.0)
        self.columns = {load: column for column, load in enumerate(self.lengths, len(loads))}
        covered = [0.0 if one.is_baseline else one.coverage for one in windows]
        # A window's mean draft less that of its load: v + L * c is a sum that does not need to know c.
        longer = [one.draft_length - self.lengths.get(one.load, 0.0) if one.drafts else 0.0 for one in windows]
        self._seconds = array([math.log(one.step_seconds) for one in windows])
        self._plain = array([_chosen(loads, one.load) for one in windows])
        drafting = [_chosen(list(self.lengths), one.load) for one in windows]
        self._drafting = array([[q * own for own in row] for q, row in zip(covered, drafting, strict=True)])
        self._longer = array([[q * sum(row) * more] for q, row, more in zip(covered, drafting, longer, strict=True)])
        self._slopes = array(_slopes(windows))
        self.of_c = len(loads) + len(self.columns) + self._slopes.shape[1]

    @property
    def start(self) -> list[float]:
        """Initial parameters: all steps alike, and no c."""
        return [0.0] * len(self._plain[0]) + [1.0] * len(self.columns) + [0.0] * self._slopes.shape[1]

    def solved(self, start: Sequence[float]) -> _Fitted:
        """Gauss-Newton, with least squares and then robust regression; fits c where `start` has it."""
        return self._approached(self._approached(start, _least_squares).parameters, _robust)

    def _approached(self, start: Sequence[float], regression: _Regression) -> _Fitted:
        numpy = optional_module("numpy", *_WHY)
        parameters = numpy.array(start)
        more = [self._longer] if len(parameters) > self.of_c else []
        for _ in range(_TURNS):
            costs = self._costs(parameters)
            drafting = [self._drafting / costs, self._slopes, *(own / costs for own in more)]
            table = numpy.hstack([self._plain, *drafting])
            fixed = parameters.copy()
            fixed[list(self.columns.values())] = 0.0
            fixed[self.of_c :] = 0.0
            expected = table @ fixed + numpy.log(costs[:, 0])
            result = regression(self._seconds - expected, table)
            step = result.params
            while self._costs(parameters + step).min() <= 0:
                step = step / 2
            parameters = parameters + step
            if abs(step).max() < _SETTLED:
                return _Fitted(parameters.tolist(), result)
        raise DraftboardError("step costs cannot be fitted: the windows contradict each other; measure again")

    def _costs(self, parameters: Any) -> Any:  # noqa: ANN401  (numpy's arrays)
        """Cost of the mean step of each window, in plain steps, as a column."""
        sums = parameters[list(self.columns.values())]
        costs = 1 + self._drafting @ (sums - 1)[:, None]
        return costs + self._longer * parameters[self.of_c] if len(parameters) > self.of_c else costs


def _least_squares(values: Sequence[float], table: Sequence[Sequence[float]]) -> Any:  # noqa: ANN401
    linear = optional_module("statsmodels.regression.linear_model", *_WHY)
    return linear.OLS(values, table).fit()


def _robust(values: Sequence[float], table: Sequence[Sequence[float]]) -> Any:  # noqa: ANN401
    """Huber's estimator: outliers have little weight.

    Least squares where most windows are met exactly: the robust scale would be 0, by which residuals are divided.
    """
    plain = _least_squares(values, table)
    if max(map(abs, plain.resid)) < _NO_SCATTER:
        return plain
    robust, scale = (optional_module(f"statsmodels.robust.{name}", *_WHY) for name in ("robust_linear_model", "scale"))
    # Huber's second proposal: of few windows the median of residuals is too rough a scale for intervals.
    model = robust.RLM(values, table)
    try:
        with optional_module("numpy", *_WHY).errstate(divide="raise", invalid="raise"):
            result = model.fit(scale_est=scale.HuberScale(), conv="coefs", tol=_SETTLED)
    except FloatingPointError:
        return plain
    return result if result.scale > _NO_SCATTER else plain
