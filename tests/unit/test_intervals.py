"""Intervals of ratios of sums: that they hold the truth, and where there is none."""

import random
import sys
from statistics import median, stdev

import pytest

from draftboard.intervals import LEAST, Ratio, unavailable

RUNS = 60
PARTS, REQUESTS = 20, 6
BASELINE, TRUTH = 0.04, 1.2


def arm(chance: random.Random, mean: float, parts: int = PARTS) -> list[tuple[float, float]]:
    """Parts of requests whose times scatter by half, in numbers that vary, too."""
    counts = [chance.randint(1, 2 * REQUESTS - 1) for _ in range(parts)]
    return [(sum(mean * chance.gammavariate(4, 0.25) for _ in range(count)), float(count)) for count in counts]


def ratio(parts: list[tuple[float, float]]) -> Ratio:
    found = Ratio.of(parts)
    assert found
    return found


@pytest.mark.parametrize("parts", [LEAST, PARTS])
def test_intervals_hold_the_truth(parts: int) -> None:
    speedup = mean = drop = 0
    values, widths = list[float](), list[float]()
    for seed in range(RUNS):
        chance = random.Random(seed)
        before, after = ratio(arm(chance, BASELINE, parts)), ratio(arm(chance, BASELINE / TRUTH, parts))
        gain, change = before.over(after), before.less(after)
        speedup += gain.low <= TRUTH <= gain.high
        values.append(gain.value)
        widths.append(gain.high - gain.low)
        mean += before.estimate.low <= BASELINE <= before.estimate.high
        drop += change.low <= BASELINE - BASELINE / TRUTH <= change.high
    assert min(speedup, mean, drop) >= 52, "57 on average; under 52 of 60 come once in a hundred"
    assert 3.5 < median(widths) / stdev(values) < 7, "3.9 standard deviations hold 95 %, where those are known"


def drifting(chance: random.Random, mean: float) -> list[tuple[float, float]]:
    """Parts whose disturbances pass on to the next by half, as slowly changing traffic's do."""
    parts, disturbance = list[tuple[float, float]](), chance.gauss(0, 1)
    for _ in range(PARTS):
        disturbance = disturbance / 2 + chance.gauss(0, 0.75**0.5)
        parts.append((mean * (1 + disturbance / 50), 1.0))
    return parts


def test_intervals_hold_the_truth_where_neighbours_are_alike() -> None:
    gains = [
        ratio(drifting(random.Random(seed), TRUTH)).over(ratio(drifting(random.Random(RUNS + seed), 1.0)))
        for seed in range(RUNS)
    ]
    held = sum(gain.low <= TRUTH <= gain.high for gain in gains)
    assert held >= 53, "58 on average; as if all were independent, 44"


def test_parts_that_alternate_are_as_many_as_they_are() -> None:
    assert ratio([(1.0, 1.0), (3.0, 1.0)] * LEAST).parts == 2 * LEAST


def test_a_drift_over_all_parts_is_told_by_a_wide_interval() -> None:
    found = ratio([(float(part), 1.0) for part in range(1, PARTS + 1)])
    shuffled = random.Random(1).sample(range(1, PARTS + 1), PARTS)
    assert found.error > 2 * ratio([(float(part), 1.0) for part in shuffled]).error


def test_a_value_is_the_ratio_of_the_sums_and_lies_within_its_interval() -> None:
    found = ratio([(1.0, 10.0), (8.0, 20.0)] * 5).estimate
    assert found.value == pytest.approx(9 / 30)
    assert found.low < found.value < found.high


def test_the_same_parts_give_the_same_interval() -> None:
    parts = arm(random.Random(1), BASELINE)
    assert Ratio.of(parts) == Ratio.of(parts)


def test_parts_that_counted_nothing_do_not_count() -> None:
    some = arm(random.Random(1), BASELINE, LEAST)
    assert Ratio.of([*some, (0.0, 0.0)]) == Ratio.of(some)
    assert Ratio.of([*some[1:], (0.0, 0.0)]) is None


def test_of_what_never_happened_nobody_knows_the_scatter() -> None:
    assert Ratio.of([(0.0, 10.0)] * PARTS) is None
    assert Ratio.of([(5e-324, 10.0)] * PARTS) is None


def test_what_an_edited_report_counts_below_zero_has_no_interval() -> None:
    assert Ratio.of([(1.0, 10.0)] * (PARTS - 1) + [(-1e6, 10.0)]) is None


def test_nothing_that_is_counted_is_below_zero() -> None:
    assert ratio([(0.0, 1.0)] * LEAST + [(1.0, 1.0)]).estimate.low == 0


def test_parts_that_agree_have_no_scatter() -> None:
    found = ratio([(3.0, 10.0)] * LEAST)
    assert (found.estimate.low, found.estimate.high) == pytest.approx((0.3, 0.3))
    assert found.over(found).value == 1


def test_what_must_be_installed_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    assert unavailable() == ""
    monkeypatch.setitem(sys.modules, "scipy.stats", None)
    assert unavailable() == (
        "intervals require the package scipy: install the extra, pip install 'draftboard[calibrate]'"
    )
