"""The mathematics of vLLM's counters, against worked examples."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from draftboard.theory import (
    Counts,
    accepted_length_shares,
    conditional_acceptance,
    require_possible,
    require_survival,
)

survivals = st.lists(st.floats(0, 1), min_size=1, max_size=24).map(lambda shares: sorted(shares, reverse=True))


def test_a_logged_line_is_reproduced_from_its_counts() -> None:
    counts = Counts(59, 295, 262, (58, 56, 54, 52, 42))
    assert counts.acceptance_length == pytest.approx(5.44, abs=5e-3)
    assert counts.acceptance == pytest.approx(0.888, abs=5e-4)
    assert counts.survival == pytest.approx((0.983, 0.949, 0.915, 0.881, 0.712), abs=5e-4)
    assert sum(counts.survival) == pytest.approx(4.44, abs=5e-3)
    assert counts.alpha_hat == pytest.approx(0.939, abs=5e-4)


def test_a_request_s_histogram_is_reproduced() -> None:
    counts = Counts.from_accepted_lengths([39, 1, 0, 3])
    assert (counts.drafts, counts.accepted_tokens, counts.draft_tokens) == (43, 10, 129)
    assert counts.acceptance_length == pytest.approx(1.23256, abs=5e-6)
    assert counts.acceptance == pytest.approx(0.077519, abs=5e-7)


def test_a_simulated_drafter_is_recovered() -> None:
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
def test_an_impossible_length_is_rejected(length: float, drafted: int, last: float) -> None:
    with pytest.raises(ValueError, match="impossible"):
        require_possible(length, drafted, last)


def test_a_possible_length_is_accepted() -> None:
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
def test_impossible_counts_are_rejected(counts: tuple, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        Counts(*counts)


def test_equal_neighbours_are_allowed_and_a_rise_is_not() -> None:
    require_survival([0.5, 0.5, 0.1])
    with pytest.raises(ValueError, match="rises"):
        require_survival([0.5, 0.6])


def test_conditional_acceptance_may_rise_while_survival_falls() -> None:
    assert conditional_acceptance((0.9, 0.85, 0.78, 0.7)) == pytest.approx((0.9, 0.944, 0.918, 0.897), abs=5e-4)


def test_conditional_acceptance_ends_where_nothing_arrives() -> None:
    assert conditional_acceptance((0.5, 0.0, 0.0)) == (0.5, 0.0)


@given(survivals)
def test_shares_of_accepted_lengths_add_up_to_one(survival: list[float]) -> None:
    shares = accepted_length_shares(survival)
    assert sum(shares) == pytest.approx(1)
    assert len(shares) == len(survival) + 1
