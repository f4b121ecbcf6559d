"""Quantiles of a histogram where there is no Prometheus to estimate them."""

import pytest

from draftboard.report.histogram import Distribution

TIMES = Distribution.of([{"0.1": 50.0, "0.2": 90.0, "+Inf": 100.0}], 14.0)


def test_a_quantile_is_estimated_within_its_bucket() -> None:
    assert TIMES.quantile(0.7) == pytest.approx(0.15)
    assert (TIMES.count, TIMES.mean) == (100, 0.14)


def test_under_the_first_bound_it_is_below_resolution() -> None:
    assert (TIMES.quantile(0.5), TIMES.unresolved, TIMES.resolution) == (0.0, 0.5, 0.1)


def test_over_the_last_bound_it_is_that_bound() -> None:
    assert TIMES.quantile(0.99) == 0.2


def test_engines_of_unlike_bounds_are_merged_as_a_sum_by_le_does() -> None:
    merged = Distribution.of([{"1.0": 8.0, "+Inf": 10.0}, {"1": 2.0, "2": 4.0, "+Inf": 10.0}], 1.0)
    assert merged.cumulative == ((1.0, 10.0), (2.0, 10.0), (float("inf"), 20.0))
