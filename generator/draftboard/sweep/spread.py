"""How numbers are spread: exact values of a sample, not estimates from buckets."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Spread:
    """Of at least one value."""

    count: int
    mean: float
    std: float
    """Of the sample itself (divided by count)."""
    minimum: float
    p10: float
    p50: float
    p90: float
    p95: float
    maximum: float
    variation: float | None
    """Coefficient of variation: std / mean; None where the mean is 0."""


def spread(values: Sequence[float]) -> Spread | None:
    """None where there is no value. Percentiles lie between neighbours in proportion."""
    if not values:
        return None
    mean, std = statistics.fmean(values), statistics.pstdev(values)
    # One value has no neighbour, and is every percentile of itself.
    percentiles = statistics.quantiles(values if len(values) > 1 else [*values, *values], n=100, method="inclusive")
    return Spread(
        count=len(values),
        mean=mean,
        std=std,
        minimum=min(values),
        p10=percentiles[9],
        p50=percentiles[49],
        p90=percentiles[89],
        p95=percentiles[94],
        maximum=max(values),
        variation=std / mean if mean else None,
    )
