"""A histogram's quantiles, as Prometheus estimates them and as the signals read them."""

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import accumulate


@dataclass(frozen=True)
class Distribution:
    """Samples counted up to each upper bound, +Inf the last, and their sum."""

    cumulative: tuple[tuple[float, float], ...]
    """Upper bound and number of samples up to it, in the order of bounds."""
    total: float

    @classmethod
    def of(cls, buckets: Iterable[Mapping[str, float]], total: float) -> "Distribution":
        """Of several engines together, each by its label `le`; bounds that only some of them have are kept."""
        counts: dict[float, float] = {}
        for each in buckets:
            for le, count in each.items():
                counts[float(le)] = counts.get(float(le), 0.0) + count
        bounds = sorted(counts)
        # Sums of unlike bounds may fall, where a cumulative count cannot.
        rising = accumulate((counts[bound] for bound in bounds), max)
        return cls(tuple(zip(bounds, rising, strict=True)), total)

    @property
    def count(self) -> float:
        """Number of samples."""
        return self.cumulative[-1][1] if self.cumulative else 0.0

    @property
    def mean(self) -> float:
        """Sum over count: exact, whatever the bounds. Only where there are samples."""
        return self.total / self.count

    @property
    def resolution(self) -> float:
        """The first bound. Only where there are samples."""
        return self.cumulative[0][0]

    @property
    def unresolved(self) -> float:
        """Share of samples under the first bound, where no finer value is known. Only where there are samples."""
        return self.cumulative[0][1] / self.count

    def quantile(self, share: float) -> float:
        """Estimated within its bucket as `histogram_quantile` does; 0 where it lies under the first bound.

        Only where there are samples. What lies over the last finite bound reads as that bound.
        """
        bounds = [bound for bound, _ in self.cumulative]
        counts = [count for _, count in self.cumulative]
        rank = share * self.count
        index = bisect_left(counts, rank)
        if index == 0 or self.unresolved >= share:
            return 0.0
        if index == len(bounds) - 1:
            return bounds[-2]
        low, below = bounds[index - 1], counts[index - 1]
        return low + (bounds[index] - low) * (rank - below) / (counts[index] - below)
