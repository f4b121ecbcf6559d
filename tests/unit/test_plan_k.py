"""The best draft length: golden tables, the test that says whether one more token pays, and laws that always hold."""

import math

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from draftboard.errors import DraftboardError
from draftboard.evidence import SETTLES
from draftboard.output import Table
from draftboard.plan.basis import Term, cost_ratio, verify_inflation
from draftboard.plan.lengths import DraftLengthPlan, Ends, plan_draft_length
from draftboard.settings import Settings
from support.known import known

UNTIMED = hypothesis_settings(deadline=None)
HIGH, MEDIUM, LOW = (0.90, 0.85, 0.78, 0.70), (0.80, 0.65, 0.50, 0.35), (0.40, 0.15, 0.05, 0.01)
SETTINGS = Settings()
survivals = st.lists(st.floats(0, 1), min_size=1, max_size=24).map(lambda shares: tuple(sorted(shares, reverse=True)))


def by_alpha(alpha: float, cost: float, longest: int = 19, inflation: float = 1.0) -> DraftLengthPlan:
    return plan_draft_length(SETTINGS, Term(cost), Term(inflation), alpha=alpha, longest=longest)


def by_survival(
    survival: tuple[float, ...], cost: float, inflation: float = 1.0, longest: int | None = None
) -> DraftLengthPlan:
    return plan_draft_length(SETTINGS, Term(cost), Term(inflation), survival=survival, longest=longest)


@pytest.mark.parametrize(
    ("alpha", "cost", "k", "gain"),
    [
        (0.5, 1 / 10, 2, 1.458),
        (0.7, 1 / 10, 3, 1.948),  # The highest is 1.981, at 4.
        (0.8, 1 / 10, 5, 2.460),  # 2.470 at 6
        (0.9, 1 / 10, 8, 3.403),  # 3.431 at 10
        (0.5, 1 / 9, 2, 1.432),
        (0.7, 1 / 9, 3, 1.900),  # 1.920 at 4
        (0.8, 1 / 9, 4, 2.327),  # 2.372 at 5
        (0.9, 1 / 9, 7, 3.204),  # 3.257 at 9
    ],
)
def test_the_smallest_k_within_two_percent_of_the_best_of_1_to_19_and_its_speedup(
    alpha: float, cost: float, k: int, gain: float
) -> None:
    best = by_alpha(alpha, cost).best
    assert best is not None
    assert best.k == k
    assert best.speedup == pytest.approx(gain, abs=5e-4)


def test_speedup_counts_the_bonus_token_and_accepted_tokens_do_not() -> None:
    row = by_alpha(0.5, 0.1).lengths[3]
    assert row.speedup == pytest.approx(1.3839, abs=5e-5)
    assert row.accepted == pytest.approx(0.9375)
    assert row.accepted / row.step_cost == pytest.approx(0.67, abs=5e-3)  # what leaving the bonus token out would say


def test_with_nearly_free_drafts_the_speedup_is_accepted_tokens_plus_one() -> None:
    for row in by_alpha(0.7, 1e-6, longest=3).lengths:
        assert row.speedup == pytest.approx(row.accepted + 1, rel=1e-5)


def test_a_perfect_drafter_yields_k_plus_one_tokens_a_step() -> None:
    row = by_alpha(1.0, 0.1).lengths[3]
    assert row.tokens_per_step == 5
    assert row.speedup == pytest.approx(3.571, abs=5e-4)


def test_a_missing_cost_ratio_is_assumed_and_the_note_names_what_outranks_it() -> None:
    assumed, measured = cost_ratio(SETTINGS, None), cost_ratio(SETTINGS, 0.1)
    assert (assumed.value, assumed.assumed) == (0.1, True)
    assert (measured.value, measured.assumed) == (0.1, False)
    inflation = verify_inflation(SETTINGS, None)
    notes = plan_draft_length(SETTINGS, assumed, inflation, alpha=0.7, longest=5).notes
    assert [note for note in notes if "assumed" in note] == [
        (
            "Costs are assumed: k = 2 is best at the highest of them, k = 5 at the lowest. A measurement outranks this "
            "plan: the best k of `draftboard report` beside a baseline, or c and v of `draftboard calibrate`."
        ),
        f"It depends on what a step costs: {SETTLES}.",
    ]
    assert not [note for note in by_alpha(0.7, 0.1).notes if "assumed" in note]


def test_a_method_picks_its_own_cost_ratio() -> None:
    assert cost_ratio(SETTINGS, None, "ngram").value == SETTINGS.draft_cost.by_method["ngram"]
    assert cost_ratio(SETTINGS, None, "draft_model").value == SETTINGS.draft_cost.default
    assert cost_ratio(SETTINGS, 0.3, "ngram").value == 0.3


def test_an_unknown_method_is_an_error() -> None:
    with pytest.raises(DraftboardError, match=r"method 'eagel' is unknown: one of .*eagle3"):
        cost_ratio(SETTINGS, None, "eagel")


@pytest.mark.parametrize(("alpha", "k", "gain"), [(0.5, 4, 1.384), (0.7, 6, 1.912), (0.9, 12, 3.390)])
def test_published_optima_are_neither_optimal_nor_of_the_published_speedup(alpha: float, k: int, gain: float) -> None:
    plan = by_alpha(alpha, 0.1)
    assert plan.lengths[k - 1].speedup == pytest.approx(gain, abs=5e-4)
    assert plan.best is not None
    assert plan.best.k < k


@pytest.mark.parametrize(("k", "alpha"), [(1, 0.111), (3, 0.253), (4, 0.310), (5, 0.359), (8, 0.471)])
def test_break_even_alpha_rises_with_k_and_break_even_acceptance_does_not(k: int, alpha: float) -> None:
    row = by_alpha(0.7, 1 / 9).lengths[k - 1]
    assert row.break_even_alpha == pytest.approx(alpha, abs=5e-4)
    assert row.break_even_acceptance == pytest.approx(1 / 9)


def test_where_even_a_perfect_drafter_loses_there_is_no_break_even() -> None:
    plan = by_alpha(1.0, 1.5)
    assert plan.lengths[0].break_even_alpha is None
    assert plan.best is None
    assert plan.verdict.startswith("Leave speculation off")


def test_a_sharp_drop_makes_further_positions_lose_and_a_slow_decline_makes_them_gain() -> None:
    sharp = by_survival((0.9, 0.85, 0.2, 0.1, 0.05), 0.1)
    assert sharp.best is not None
    assert sharp.best.k == 2
    assert [row.gain > 0 for row in sharp.lengths] == [True, True, False, False, False]
    slow = by_survival((0.9, 0.85, 0.78, 0.70, 0.64), 0.1)
    assert all(row.gain > 0 for row in slow.lengths)


def test_a_position_pays_when_it_survives_more_than_c_times_the_speedup_before_it() -> None:
    plan = by_survival(MEDIUM, 0.2)
    assert plan.best is not None
    assert (plan.best.k, plan.best.speedup) == (3, pytest.approx(1.844, abs=5e-4))
    assert MEDIUM[3] > 0.2  # p > c would go on to 4
    assert plan.lengths[3].speedup == pytest.approx(1.833, abs=5e-4)
    assert plan.lengths[3].needed_survival > MEDIUM[3]


def test_on_the_low_list_both_tests_stop_at_one() -> None:
    plan = by_survival(LOW, 0.2)
    assert plan.best is not None
    assert plan.best.k == 1
    assert LOW[1] < 0.2


def test_the_next_position_is_extrapolated_and_said_to_be() -> None:
    plan = by_survival(HIGH, 0.1)
    assert plan.following is not None
    assert plan.following.extrapolated
    assert plan.following.k == 5
    assert plan.following.survival == pytest.approx(0.70 * 0.70 / 0.78)
    assert not any(row.extrapolated for row in plan.lengths)
    assert any(
        note.startswith("k = 5 may be faster still (S = 3.24, extrapolated, never measured") for note in plan.notes
    )
    assert any(note.startswith("k = 5 is not expected to be faster") for note in by_survival(MEDIUM, 0.2).notes)


def test_where_no_measured_k_pays_one_more_still_may() -> None:
    plan = by_survival((0.9,), 0.1, inflation=2.0)
    assert plan.best is None
    assert plan.following is not None
    assert plan.following.speedup == pytest.approx((1.9 + 0.81) / 2.2)
    assert any(note.startswith("k = 2 may be faster still") for note in plan.notes)


def test_a_shorter_limit_than_was_measured_extrapolates_nothing() -> None:
    plan = by_survival(HIGH, 0.1, longest=2)
    assert len(plan.lengths) == 2
    assert plan.following is None


@UNTIMED
@given(survivals, st.floats(0, 2), st.floats(0.5, 4))
def test_the_best_k_is_never_much_worse_than_any_other_and_better_than_none(
    survival: tuple[float, ...], cost: float, inflation: float
) -> None:
    plan = by_survival(survival, cost, inflation)
    most = max(row.speedup for row in plan.lengths)
    if plan.best is None:
        assert most <= 1
    else:
        assert plan.best.speedup >= 1
        assert plan.best.speedup >= (1 - SETTINGS.thresholds.gain) * most
        assert all(row.speedup < max(1, plan.best.speedup) or row.k >= plan.best.k for row in plan.lengths)


@UNTIMED
@given(survivals, st.floats(0.01, 1), st.floats(1, 3))
def test_a_position_gains_exactly_when_it_survives_more_than_needed(
    survival: tuple[float, ...], cost: float, inflation: float
) -> None:
    for row in by_survival(survival, cost, inflation).lengths:
        if abs(row.survival - row.needed_survival) > 1e-9:
            assert (row.gain > 0) == (row.survival > row.needed_survival)


@pytest.mark.parametrize("alpha", [1.1, -0.1, math.nan, math.inf])
def test_an_alpha_out_of_range_is_an_error(alpha: float) -> None:
    with pytest.raises(DraftboardError, match=r"alpha = .* is out of range"):
        by_alpha(alpha, 0.1)


@pytest.mark.parametrize("survival", [(0.5, 0.6), (1.1,), (-0.1,), (math.nan,), (), (0.5,) * 100])
def test_an_impossible_survival_is_an_error(survival: tuple[float, ...]) -> None:
    with pytest.raises(DraftboardError, match="survival"):
        by_survival(survival, 0.1)


@pytest.mark.parametrize("longest", [0, -1, 100])
def test_a_longest_draft_out_of_range_is_an_error(longest: int) -> None:
    with pytest.raises(DraftboardError, match="max k"):
        by_alpha(0.5, 0.1, longest)
    with pytest.raises(DraftboardError, match="max k"):
        by_survival(HIGH, 0.1, longest=longest)


@pytest.mark.parametrize(("alpha", "times_faster", "gain"), [(0.75, 10, 2.18), (0.85, 6, 2.23), (0.60, 30, 2.03)])
def test_published_candidates_at_four_drafted_tokens(alpha: float, times_faster: int, gain: float) -> None:
    assert by_alpha(alpha, 1 / times_faster).lengths[3].speedup == pytest.approx(gain, abs=5e-3)


def test_every_figure_that_rests_on_assumed_costs_is_a_range() -> None:
    settings = Settings()
    costs = cost_ratio(settings, None, "eagle3"), verify_inflation(settings, None, "eagle3")
    plan = plan_draft_length(settings, *costs, survival=HIGH, method="eagle3")
    for row in (*plan.lengths, known(plan.following)):
        ends = known(row.ends)
        assert ends.speedup.low == pytest.approx(row.tokens_per_step / ends.step_cost.high)
        assert ends.speedup.high == pytest.approx(row.tokens_per_step / ends.step_cost.low)
        assert ends.break_even_acceptance.low == pytest.approx((ends.step_cost.low - 1) / row.k)
    speedups, needs = (block for block in plan.blocks() if isinstance(block, Table))
    for row_of, figures in ((speedups, 3), (needs, 3)):
        for cells in row_of.rows:
            assert [" to " in str(cell) for cell in cells[-figures:]] == [True] * figures


def test_the_range_of_one_cost_is_the_number() -> None:
    plan = plan_draft_length(Settings(), Term(0.1), Term(1.2), survival=HIGH)
    tokens = (1.0, *(row.tokens_per_step for row in plan.lengths))
    costs = ((1.0,), *((row.step_cost,) for row in plan.lengths))
    for row in plan.lengths:
        assert row.ends is None
        for name, value in vars(Ends.of(row.k, tokens, costs)).items():
            assert value is not None
            assert [value.low, value.high] == pytest.approx([getattr(row, name)] * 2), name
