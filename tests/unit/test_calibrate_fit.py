"""Costs of drafting and verifying from windows: found where they can be told apart, a sum where they cannot."""

from dataclasses import replace
from functools import cache

import pytest

from draftboard.calibrate.fit import Costs, Means, costs, means
from draftboard.calibrate.windows import Window
from draftboard.intervals import Estimate
from support.costed import PLAIN, STEPS, C, v, windows

pytest.importorskip("statsmodels")
SEEDS, MOST_MISSED = 100, 10  # Of 95 % intervals; `make intervals` asks more of a thousand seeds.
SECONDS_AT_8 = STEPS * PLAIN * 1.02


LOADS = (1, 8)


@cache
def fitted() -> list[Costs]:
    """One fit for each seed, of candidates with K = 3 and K = 5."""
    return [costs(windows(seed, ks=(3, 5), loads=LOADS, rounds=6)) for seed in range(SEEDS)]


def held(found: list[Estimate], truth: float) -> int:
    """How many intervals hold it."""
    return sum(one.low <= truth <= one.high for one in found)


def test_intervals_of_c_v_and_their_sum_hold_the_truth_in_ninety_of_a_hundred_runs() -> None:
    assert held([one.c for one in fitted() if one.c], C) >= SEEDS - MOST_MISSED
    for load in LOADS:
        assert held([one.sums[load] for one in fitted()], v(load) + 4 * C) >= SEEDS - MOST_MISSED
        assert held([one.inflation[load] for one in fitted() if one.inflation], v(load)) >= SEEDS - MOST_MISSED


def test_intervals_are_no_wider_than_the_scatter_asks_for() -> None:
    assert any(held([one.sums[load] for one in fitted()], v(load) + 4 * C) < SEEDS for load in LOADS)
    assert max((one.high - one.low) / one.value for found in fitted() for one in found.sums.values()) < 0.1


def test_c_and_v_are_found_within_five_percent() -> None:
    found = costs(windows(1, ks=(3, 5, 7), rounds=8, noise=0.01))
    assert found.c
    assert found.inflation
    assert found.c.value == pytest.approx(C, rel=0.05)
    assert {load: one.value for load, one in found.inflation.items()} == pytest.approx(
        {load: v(load) for load in (1, 2, 4, 8)}, rel=0.05
    )


def test_with_one_k_only_the_sum_is_told() -> None:
    found = costs(windows(1, ks=(5,)))
    assert (found.c, found.inflation) == (None, None)
    assert "at no load did the mean draft vary by more than 0.00 tokens" in found.why
    assert {load: one.value for load, one in found.sums.items()} == pytest.approx(
        {load: v(load) + 5 * C for load in (1, 2, 4, 8)}, rel=0.05
    )


def test_a_k_of_its_own_at_each_load_tells_nothing_apart() -> None:
    own = {1: 7, 2: 5, 4: 3, 8: 1}
    found = costs([one for load, k in own.items() for one in windows(load, ks=(k,), loads=(load,))])
    assert found.c is None
    assert found.sums[8].value == pytest.approx(v(8) + C, rel=0.05)


def test_drafts_that_vary_less_than_the_noise_are_one_sum() -> None:
    found = costs(windows(1, ks=(5,), spread=0.3, noise=0.05))
    assert found.c is None
    assert "the mean draft varied too little for the scatter of step times: c = " in found.why


def test_lookups_tell_c_and_v_apart_by_the_drafts_that_they_happen_to_find() -> None:
    found = costs(windows(2, ks=(6,), coverage=0.6, spread=2.0, rounds=30))
    assert found.c
    assert found.inflation
    assert found.c.low <= C <= found.c.high
    assert found.inflation[8].value == pytest.approx(v(8), rel=0.05)


def test_a_load_at_which_nothing_is_drafted_has_a_speedup_and_no_cost() -> None:
    drafting, plain = windows(1, loads=(1,)), windows(1, loads=(8,))
    quiet = [
        replace(one, seconds=SECONDS_AT_8, tokens=one.steps, drafts=0, drafted=0) if one.variant else one
        for one in plain
    ]
    found = costs([*drafting, *quiet])
    assert set(found.sums) == {1}
    assert means([*drafting, *quiet]).speedup[8, "K = 5"].value == pytest.approx(1, rel=0.05)
    assert costs(quiet).why == "nothing was drafted"


def test_disturbed_windows_count_little() -> None:
    whole = windows(3, rounds=8)
    disturbed = [replace(one, seconds=3 * one.seconds) if number % 16 == 5 else one for number, one in enumerate(whole)]
    assert costs(disturbed).sums[4].value == pytest.approx(costs(whole).sums[4].value, rel=0.03)
    assert means(disturbed).speedup[4, "K = 5"].value == pytest.approx(means(whole).speedup[4, "K = 5"].value, rel=0.03)


def test_windows_without_scatter_are_fitted_exactly() -> None:
    found = costs(windows(1, ks=(3, 5), noise=0))
    assert found.c
    assert (found.c.value, found.c.low, found.c.high) == pytest.approx((C, C, C))


@pytest.mark.parametrize("equal", [2, 3, 4])
def test_where_all_windows_but_one_yield_equally_many_tokens_they_still_scatter(equal: int) -> None:
    found = windows(1, ks=(5,), loads=(4,), rounds=equal + 1, noise=0)
    last = max(number for number, one in enumerate(found) if not one.is_baseline)
    found = [replace(one, tokens=one.tokens * (1.25 if number == last else 1)) for number, one in enumerate(found)]
    tokens = means(found).tokens_per_step[4, "K = 5"]
    assert tokens.low < 4 < tokens.value < tokens.high


def test_speedup_and_step_cost_are_those_of_the_arms() -> None:
    found: Means = means(windows(1, noise=0))
    assert found.plain_seconds[4].value == pytest.approx(PLAIN * 1.01)
    assert found.step_cost[4, "K = 5"].value == pytest.approx(v(4) + 5 * C)
    assert found.tokens_per_step[4, "K = 5"].value == pytest.approx(4)
    assert found.speedup[4, "K = 5"].value == pytest.approx(4 / (v(4) + 5 * C))


def test_arms_in_one_group_of_batches_are_compared_at_the_same_batch() -> None:
    def at(batch: float, arm: str, cost: float) -> Window:
        drafts = 5000 if arm else 0
        return Window(arm, 8, batch, 5000, 5000 * PLAIN * batch**0.3 * cost, 5000, drafts, 5 * drafts)

    plain = [at(batch, "", 1) for batch in (4.1, 4.5, 5.0, 5.5, 6.0)]
    found = [*plain, *(at(batch, "K = 5", 1.5) for batch in (6.0, 6.5, 7.0, 7.5, 8.0))]
    assert means(found).step_cost[8, "K = 5"].value == pytest.approx(1.5)
    assert costs(found).sums[8].value == pytest.approx(1.5)
