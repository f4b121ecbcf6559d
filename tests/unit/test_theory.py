"""The mathematics, against the golden tables."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from draftboard.theory import (
    Counts,
    accepted_length_shares,
    best_k,
    break_even_alpha,
    conditional_acceptance,
    expected_acceptance,
    expected_tokens,
    geometric_survival,
    require_possible,
    require_survival,
    speedup,
    tokens_per_step_at,
)

survivals = st.lists(st.floats(0, 1), min_size=1, max_size=24).map(lambda shares: sorted(shares, reverse=True))


@pytest.mark.parametrize(
    ("alpha", "cost", "k", "gain"),
    [
        (0.5, 1 / 10, 2, 1.458),
        (0.7, 1 / 10, 4, 1.981),
        (0.8, 1 / 10, 6, 2.470),
        (0.9, 1 / 10, 10, 3.431),
        (0.5, 1 / 9, 2, 1.432),
        (0.7, 1 / 9, 4, 1.920),
        (0.8, 1 / 9, 5, 2.372),
        (0.9, 1 / 9, 9, 3.257),
    ],
)
def test_r70_best_draft_length_and_its_speedup(alpha: float, cost: float, k: int, gain: float) -> None:
    found, at_best = best_k(geometric_survival(alpha, 20), cost)
    assert found == k
    assert at_best == pytest.approx(gain, abs=5e-4)


@pytest.mark.parametrize(
    ("drafted", "expected"),
    [(5, (1.97, 2.38, 2.94, 3.69, 4.69)), (3, (1.88, 2.18, 2.53, 2.95, 3.44))],
)
def test_r75_expected_tokens_per_step(drafted: int, expected: tuple[float, ...]) -> None:
    alphas = (0.5, 0.6, 0.7, 0.8, 0.9)
    assert [expected_tokens(alpha, drafted) for alpha in alphas] == pytest.approx(expected, abs=5e-3)


@pytest.mark.parametrize(
    ("drafted", "expected"),
    [(5, (0.194, 0.277, 0.388, 0.538, 0.737, 0.860)), (3, (0.292, 0.392, 0.511, 0.651, 0.813, 0.903))],
)
def test_r76_the_counter_ratio_is_not_alpha(drafted: int, expected: tuple[float, ...]) -> None:
    alphas = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
    # Printed to three places; 0.9025 stands as .903 there.
    assert [expected_acceptance(alpha, drafted) for alpha in alphas] == pytest.approx(expected, abs=6e-4)


@pytest.mark.parametrize(("drafted", "alpha"), [(1, 0.111), (3, 0.253), (4, 0.310), (5, 0.359), (8, 0.471)])
def test_r77_break_even_alpha_rises_with_k_while_break_even_acceptance_does_not(drafted: int, alpha: float) -> None:
    found = break_even_alpha(drafted, 1 / 9)
    assert found == pytest.approx(alpha, abs=5e-4)
    assert expected_acceptance(found, drafted) == pytest.approx(1 / 9)
    assert speedup(expected_tokens(found, drafted), drafted, 1 / 9) == pytest.approx(1)


def test_no_alpha_breaks_even_when_a_step_costs_more_than_all_its_tokens() -> None:
    with pytest.raises(ValueError, match="no drafter pays"):
        break_even_alpha(4, 1.5)


def test_r223_a_logged_line_reproduced_from_its_counts() -> None:
    counts = Counts(59, 295, 262, (58, 56, 54, 52, 42))
    assert counts.acceptance_length == pytest.approx(5.44, abs=5e-3)
    assert counts.acceptance == pytest.approx(0.888, abs=5e-4)
    assert counts.survival == pytest.approx((0.983, 0.949, 0.915, 0.881, 0.712), abs=5e-4)
    assert sum(counts.survival) == pytest.approx(4.44, abs=5e-3)
    assert counts.alpha_hat == pytest.approx(0.939, abs=5e-4)


def test_r224_a_request_s_histogram_reproduced() -> None:
    counts = Counts.from_accepted_lengths([39, 1, 0, 3])
    assert (counts.drafts, counts.accepted_tokens, counts.draft_tokens) == (43, 10, 129)
    assert counts.acceptance_length == pytest.approx(1.23256, abs=5e-6)
    assert counts.acceptance == pytest.approx(0.077519, abs=5e-7)


def test_r226_a_simulated_drafter_is_recovered() -> None:
    chance, alpha, longest, drafts = random.Random(226), 0.8, 5, 200_000
    lengths = [0] * (longest + 1)
    for _ in range(drafts):
        accepted = 0
        while accepted < longest and chance.random() < alpha:
            accepted += 1
        lengths[accepted] += 1
    counts = Counts.from_accepted_lengths(lengths)
    assert counts.acceptance_length == pytest.approx(3.689, abs=0.02)
    assert counts.acceptance == pytest.approx(0.538, abs=0.004)
    assert counts.alpha_hat == pytest.approx(0.800, abs=0.003)


@pytest.mark.parametrize(("length", "drafted", "last"), [(1.8, 3, 0.35), (2.1, 4, 0.28)])
def test_r54_impossible_examples_are_rejected(length: float, drafted: int, last: float) -> None:
    with pytest.raises(ValueError, match="impossible"):
        require_possible(length, drafted, last)


def test_r54_its_third_example_is_possible_in_itself() -> None:
    require_possible(2.0, 5, 0.15)


@pytest.mark.parametrize(
    ("counts", "reason"),
    [
        ((0, 0, 0, ()), "no drafts"),
        ((2, 4, 5, (3, 2)), "more tokens accepted than drafted"),
        ((10, 20, 6, (4, 3)), "do not add up"),
        ((10, 20, 7, (3, 4)), "rises"),
        ((3, 20, 7, (4, 3)), "outside"),
    ],
)
def test_counts_that_no_vllm_could_have_made_are_rejected(counts: tuple, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        Counts(*counts)


def test_r30_equal_neighbours_are_allowed_and_a_rise_is_not() -> None:
    require_survival([0.5, 0.5, 0.1])
    with pytest.raises(ValueError, match="rises"):
        require_survival([0.5, 0.6])


def test_r22_conditional_acceptance_may_rise_while_survival_falls() -> None:
    assert conditional_acceptance((0.9, 0.85, 0.78, 0.7)) == pytest.approx((0.9, 0.944, 0.918, 0.897), abs=5e-4)


def test_conditional_acceptance_ends_where_nothing_arrives() -> None:
    assert conditional_acceptance((0.5, 0.0, 0.0)) == (0.5, 0.0)


def test_a_perfect_drafter_yields_k_plus_one_tokens() -> None:
    assert expected_tokens(1.0, 4) == 5
    assert speedup(5, 4, 0.1) == pytest.approx(3.571, abs=5e-4)


def test_on_ties_the_shorter_draft_is_best() -> None:
    # 1.5 / (1 + 1 * .5) = 1 and 2 / (1 + 2 * .5) = 1
    assert best_k((0.5, 0.5), 0.5) == (1, 1.0)


@given(survivals)
def test_shares_of_accepted_lengths_add_up_to_one(survival: list[float]) -> None:
    shares = accepted_length_shares(survival)
    assert sum(shares) == pytest.approx(1)
    assert len(shares) == len(survival) + 1


@given(survivals)
def test_tokens_per_step_never_fall_as_k_grows(survival: list[float]) -> None:
    tokens = tokens_per_step_at(survival)
    assert list(tokens) == sorted(tokens)
    assert tokens[-1] == pytest.approx(1 + sum(survival))


@given(survivals, st.floats(0.01, 1), st.floats(1, 3))
def test_the_last_token_costs_more_than_it_yields_exactly_when_a_shorter_draft_is_best(
    survival: list[float], cost: float, inflation: float
) -> None:
    longest = len(survival)
    at_all = speedup(tokens_per_step_at(survival)[-1], longest, cost, inflation)
    k, at_best = best_k(survival, cost, inflation)
    if at_best > at_all * (1 + 1e-9):
        assert k < longest
        assert survival[-1] < cost * at_all
    elif survival[-1] > cost * at_all * (1 + 1e-9):
        assert k == longest
