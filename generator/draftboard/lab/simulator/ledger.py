"""What was counted: the values of all series of one owner, in one row."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from draftboard.catalogue import Histogram, Kind, Metric, Summary
from draftboard.lab.simulator.shape import Child

_OPEN = {"status", "position"}
"""Labels with many values of which the catalogue lists none."""


class Ledger:
    """Counts from 0, as a process that has just started."""

    def __init__(self, children: tuple[Child, ...]) -> None:
        self.children = children
        self.values: NDArray[np.float64] = np.zeros(children[-1].end)
        self._at = {(child.metric.name, *_own_values(child)): child for child in children}
        self._bounds = {
            child.metric.name: np.array([float(column.le) for column in child.columns if column.le])
            for child in children
            if isinstance(child.metric, Histogram)
        }

    def add(self, metric: Metric, amount: float, *own: str) -> None:
        """Count so much more in the child with these values of its own labels."""
        self.values[self._at[metric.name, *own].start] += amount

    def add_each(self, metric: Metric, amounts: Iterable[float]) -> None:
        """Count in every child of the metric, in their order."""
        for child, amount in zip((c for c in self.children if c.metric is metric), amounts, strict=True):
            self.values[child.start] += amount

    def put(self, metric: Metric, value: float, *own: str) -> None:
        """Set a gauge."""
        self.values[self._at[metric.name, *own].start] = value

    def values_of(self, metric: Metric) -> NDArray[np.float64]:
        """The first value of each of its children."""
        return np.array([self.values[child.start] for child in self.children if child.metric is metric])

    def observe(self, metric: Summary, samples: ArrayLike, times: ArrayLike | None = None) -> None:
        """Put samples into a histogram or summary, each so many times, or once."""
        sample = np.asarray(samples, float)
        weight = np.ones(len(sample)) if times is None else np.asarray(times, float)
        child = self._at[metric.name,]
        row = self.values[child.start : child.end]
        if metric.kind is Kind.HISTOGRAM:
            bounds = self._bounds[metric.name]
            found = np.bincount(np.searchsorted(bounds, sample), weight, minlength=len(bounds))
            row[:-2] += np.cumsum(found)
        row[-2] += weight.sum()
        row[-1] += sample @ weight


def _own_values(child: Child) -> tuple[str, ...]:
    """Of the labels that tell children of one metric apart."""
    metric = child.metric
    return tuple(child.labels[label] for label in metric.own_labels if label in metric.values or label in _OPEN)
