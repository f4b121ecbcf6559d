"""The mathematics of planning: worked tables, and laws that always hold."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from draftboard.plan import theory

survivals = st.lists(st.floats(0, 1), min_size=1, max_size=24).map(lambda shares: sorted(shares, reverse=True))


@pytest.mark.parametrize(
    ("drafted", "expected"), [(5, (1.97, 2.38, 2.94, 3.69, 4.69)), (3, (1.88, 2.18, 2.53, 2.95, 3.44))]
)
def test_expected_tokens_a_step(drafted: int, expected: tuple[float, ...]) -> None:
    alphas = (0.5, 0.6, 0.7, 0.8, 0.9)
    assert [theory.expected_tokens(alpha, drafted) for alpha in alphas] == pytest.approx(expected, abs=5e-3)
    assert theory.expected_tokens(1.0, drafted) == drafted + 1


@pytest.mark.parametrize(
    ("drafted", "expected"),
    [(5, (0.194, 0.277, 0.388, 0.538, 0.737, 0.860)), (3, (0.292, 0.392, 0.511, 0.651, 0.813, 0.903))],
)
def test_the_acceptance_of_the_counters_is_not_alpha(drafted: int, expected: tuple[float, ...]) -> None:
    alphas = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
    acceptance = [(theory.expected_tokens(alpha, drafted) - 1) / drafted for alpha in alphas]
    # Printed to three places; 0.9025 stands as .903 there.
    assert acceptance == pytest.approx(expected, abs=6e-4)


@pytest.mark.parametrize(("drafted", "alpha"), [(1, 0.111), (3, 0.253), (4, 0.310), (5, 0.359), (8, 0.471)])
def test_at_the_break_even_alpha_the_speedup_is_1(drafted: int, alpha: float) -> None:
    found = theory.break_even_alpha(drafted, 1 / 9)
    assert found == pytest.approx(alpha, abs=5e-4)
    assert theory.speedup_at(theory.geometric_survival(found or 0, drafted), 1 / 9)[-1] == pytest.approx(1)
    assert (theory.expected_tokens(found or 0, drafted) - 1) / drafted == pytest.approx(
        theory.cost_per_drafted_token(drafted, 1 / 9)
    )


def test_no_alpha_breaks_even_when_a_step_costs_more_than_all_its_tokens() -> None:
    assert theory.break_even_alpha(4, 1.5) is None


def test_on_ties_the_shorter_draft_is_best_and_exactly_at_break_even_it_pays() -> None:
    # 1.875 / 1.5 = 2.5 / 2 = 1.25, and 1.5 / 1.5 = 1
    assert theory.best_k((0.875, 0.625), 0.5) == (1, 1.25)
    assert theory.best_k((0.5, 0.5), 0.5) == (1, 1.0)
    assert theory.best_k((0.49, 0.49), 0.5) == (0, 1.0)


def test_at_the_measured_k_a_step_costs_what_was_measured_and_a_shorter_one_its_share() -> None:
    cost, inflation, longest = 0.1, 1.8, 4
    shared = theory.cost_per_drafted_token(longest, cost, inflation)
    assert theory.step_cost(longest, shared) == pytest.approx(theory.step_cost(longest, cost, inflation))
    assert theory.step_cost(2, shared) == pytest.approx(theory.step_cost(2, cost, 1.4))


def test_one_position_is_extrapolated_from_itself_and_none_from_nothing() -> None:
    assert theory.extrapolated_survival((0.6,)) == pytest.approx(0.36)
    assert theory.extrapolated_survival((0.0, 0.0)) == 0


def test_survival_may_stay_but_not_rise_nor_leave_0_to_1() -> None:
    assert theory.is_survival([0.5, 0.5, 0.1])
    assert not theory.is_survival([0.5, 0.6])
    assert not theory.is_survival([1.1])
    assert not theory.is_survival([float("nan")])


@given(survivals)
def test_the_extrapolated_position_is_possible(survival: list[float]) -> None:
    assert theory.is_survival((*survival, theory.extrapolated_survival(survival)))


@given(survivals)
def test_tokens_a_step_never_fall_as_k_grows(survival: list[float]) -> None:
    tokens = theory.tokens_per_step_at(survival)
    assert list(tokens) == sorted(tokens)
    assert tokens[-1] == pytest.approx(1 + sum(survival))


@given(survivals, st.floats(0.01, 1), st.floats(1, 3))
def test_the_last_token_costs_more_than_it_yields_exactly_when_a_shorter_draft_is_best(
    survival: list[float], cost: float, inflation: float
) -> None:
    longest, speedups = len(survival), theory.speedup_at(survival, cost, inflation)[1:]
    k = speedups.index(max(speedups)) + 1
    if max(speedups) > speedups[-1] * (1 + 1e-9):
        assert k < longest
        assert survival[-1] < cost * speedups[-1]
    elif survival[-1] > cost * speedups[-1] * (1 + 1e-9):
        assert k == longest
