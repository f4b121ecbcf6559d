"""What speculation saves, and that a loss is called a loss."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from draftboard.errors import DraftboardError
from draftboard.plan.cost import measured_speedup, plan_cost

UNTIMED = hypothesis_settings(deadline=None)


def test_cost_of_a_million_tokens_is_price_times_gpus_over_throughput() -> None:
    plan = plan_cost(2.0, gpus=2, gpu_hour_price=3.6, tokens_per_second=1000)
    assert plan.cost_without == pytest.approx(2.0)  # 7.2 an hour over 3.6 million tokens
    assert plan.cost_with == pytest.approx(1.0)
    assert plan.saving == pytest.approx(0.5)


@pytest.mark.parametrize(("speedup", "saving"), [(1.0, 0.0), (1.25, 0.2), (2.0, 0.5), (4.0, 0.75)])
def test_saving_is_one_less_the_inverse_of_the_speedup(speedup: float, saving: float) -> None:
    assert plan_cost(speedup).saving == pytest.approx(saving)


def test_extra_gpus_are_paid_for() -> None:
    plan = plan_cost(1.5, gpus=2, extra_gpus=1, gpu_hour_price=2, tokens_per_second=500)
    assert plan.break_even_speedup == pytest.approx(1.5)
    assert plan.saving == pytest.approx(0)
    assert plan.cost_with == pytest.approx(plan.cost_without)
    assert plan.verdict == "Saves nothing and costs nothing."


def test_requests_that_no_longer_fit_are_lost_throughput() -> None:
    plan = plan_cost(1.5, lost_concurrency=0.434)
    assert plan.effective_speedup == pytest.approx(1.5 * 0.566)
    assert plan.saving < 0
    assert plan.break_even_speedup == pytest.approx(1 / 0.566)


def test_a_slowdown_is_a_negative_saving_and_said_to_cost_more() -> None:
    plan = plan_cost(0.7)
    assert plan.saving == pytest.approx(-0.4286, abs=5e-5)
    assert plan.verdict.startswith("Costs 42.9% more a token than plain decoding")
    assert plan_cost(1 / 1.4).saving == pytest.approx(-0.4)


def test_the_speedup_of_two_throughputs_is_their_quotient() -> None:
    assert measured_speedup(800, 1200) == 1.5


def test_without_a_price_there_is_a_saving_and_no_cost() -> None:
    plan = plan_cost(2.0, tokens_per_second=1000)
    assert (plan.saving, plan.cost_without, plan.cost_with) == (0.5, None, None)


@UNTIMED
@given(st.floats(0.01, 100), st.integers(1, 64), st.integers(0, 64), st.floats(0, 0.9))
def test_it_saves_exactly_above_the_break_even_speedup(speedup: float, gpus: int, extra: int, lost: float) -> None:
    plan = plan_cost(speedup, gpus=gpus, extra_gpus=extra, lost_concurrency=lost)
    if abs(speedup / plan.break_even_speedup - 1) > 1e-9:
        assert (plan.saving > 0) == (speedup > plan.break_even_speedup)


@pytest.mark.parametrize("speedup", [0, -1, math.nan, math.inf])
def test_a_speedup_out_of_range_is_an_error(speedup: float) -> None:
    with pytest.raises(DraftboardError, match=r"speedup = .* is out of range"):
        plan_cost(speedup)


@pytest.mark.parametrize(
    "wrong",
    [
        {"gpus": 0},
        {"extra_gpus": -1},
        {"lost_concurrency": 1.0},
        {"gpu_hour_price": math.nan, "tokens_per_second": 1.0},
        {"gpu_hour_price": 1.0, "tokens_per_second": 0.0},
        {"gpu_hour_price": 1.0},
    ],
)
def test_other_numbers_out_of_range_are_errors(wrong: dict[str, Any]) -> None:
    with pytest.raises(DraftboardError):
        plan_cost(2.0, **wrong)


@pytest.mark.parametrize(("without", "speculating"), [(0, 1), (1, 0), (math.nan, 1)])
def test_a_throughput_out_of_range_is_an_error(without: float, speculating: float) -> None:
    with pytest.raises(DraftboardError, match="tokens/s"):
        measured_speedup(without, speculating)
