"""A draft length for every batch size: each size once, the best there, and in the form that vLLM takes."""

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from draftboard.errors import DraftboardError
from draftboard.plan.basis import Curve, Term
from draftboard.plan.schedule import SchedulePlan, plan_schedule
from draftboard.settings import Settings

UNTIMED = hypothesis_settings(deadline=None)
Points = tuple[tuple[int, float], ...]
HIGH = (0.90, 0.85, 0.78, 0.70)
CURVE = ((1, 1.0), (8, 1.2), (32, 1.8), (64, 4.0))

survivals = st.lists(st.floats(0, 1), min_size=1, max_size=8).map(lambda shares: tuple(sorted(shares, reverse=True)))
sizes = st.lists(st.integers(1, 200), min_size=1, max_size=6, unique=True).map(sorted)
curves = sizes.flatmap(
    lambda at: st.lists(st.floats(1, 9), min_size=len(at), max_size=len(at)).map(
        lambda v: tuple(zip(at, v, strict=True))
    )
)


def planned(survival: tuple[float, ...] = HIGH, cost: float = 0.1, curve: Points = CURVE) -> SchedulePlan:
    return plan_schedule(Settings(), survival, Term(cost), Curve(curve))


def lookup(plan: SchedulePlan, size: int) -> int:
    """The K that vLLM looks up: bounds belong to their range, beyond the last range its K goes on."""
    assert plan.speculative_config is not None
    entries = plan.speculative_config.num_speculative_tokens_per_batch_size
    return next((k for first, last, k in entries if first <= size <= last), entries[-1][-1])


@UNTIMED
@given(survivals, st.floats(0, 1), curves)
def test_every_batch_size_is_in_exactly_one_range(survival: tuple[float, ...], cost: float, curve: Points) -> None:
    ranges = planned(survival, cost, curve).ranges
    covered = [size for each in ranges for size in range(each.first, each.last + 1)]
    assert covered == list(range(1, curve[-1][0] + 1))
    assert all(before.k != after.k for before, after in pairwise(ranges))


@UNTIMED
@given(survivals, st.floats(0, 1), curves)
def test_k_never_rises_while_inflation_does(survival: tuple[float, ...], cost: float, curve: Points) -> None:
    rising = tuple(zip((size for size, _ in curve), sorted(v for _, v in curve), strict=True))
    ks = [each.k for each in planned(survival, cost, rising).ranges]
    assert ks == sorted(ks, reverse=True)


def test_the_schedule_by_hand() -> None:
    # One position, p = .5, c = .1: it pays while .1 + (v - 1) < .5, so while v < 1.4; v is 1.33 at size 4, 1.44 at 5.
    plan = planned((0.5,), 0.1, ((1, 1.0), (11, 2.1)))
    assert [(each.first, each.last, each.k) for each in plan.ranges] == [(1, 4, 1), (5, 11, 0)]
    assert plan.ranges[1].speedup_least == plan.ranges[1].speedup_most == 1
    assert plan.ranges[0].speedup_most == pytest.approx(1.5 / 1.1)


def test_vllm_reads_the_same_k_back_and_keeps_the_last_beyond() -> None:
    plan = planned()
    assert plan.speculative_config is not None
    assert lookup(plan, 1) == plan.ranges[0].k == plan.speculative_config.num_speculative_tokens
    for each in plan.ranges:
        assert lookup(plan, each.first) == lookup(plan, each.last) == each.k
    assert lookup(plan, 10_000) == plan.ranges[-1].k
    assert plan.speculative_config.num_speculative_tokens_per_batch_size[0][0] == 1


def test_where_nothing_pays_there_is_no_configuration() -> None:
    plan = planned((0.05,), 0.2)
    assert plan.speculative_config is None
    assert [each.k for each in plan.ranges] == [0]
    assert plan.verdict.startswith("Leave speculation off")
    assert not any("vLLM" in note for note in plan.notes)
    assert planned().notes[1].startswith(f"Beyond 64 vLLM keeps K = {planned().ranges[-1].k}")


def test_before_the_first_measured_size_inflation_is_as_there_and_between_two_on_a_line() -> None:
    plan = planned((0.9,), 0.1, ((4, 1.2), (8, 1.6)))
    assert (plan.ranges[0].inflation_least, plan.ranges[0].inflation_most) == (1.2, 1.6)
    assert plan.ranges[0].speedup_least == pytest.approx(1.9 / 1.7)
    middle = planned((0.9,), 0.1, ((4, 1.2), (6, 1.4), (8, 1.6)))
    assert middle.ranges == plan.ranges


@pytest.mark.parametrize(
    ("curve", "reason"),
    [
        ((), "has 0 batch sizes"),
        (((8, 1.2), (1, 1.0)), "batch size 1 follows 8"),
        (((8, 1.2), (8, 1.3)), "batch size 8 follows 8"),
        (((0, 1.0),), "batch size = 0 is out of range"),
        (((1, math.nan),), "inflation at batch size 1 = nan"),
        (((1, math.inf),), "inflation at batch size 1 = inf"),
        (((1, 0.0),), "inflation at batch size 1 = 0"),
        (((99_999_999, 1.0),), "batch size = 99999999 is out of range"),
        (tuple((size, 1.0) for size in range(1, 66)), "has 65 batch sizes"),
    ],
)
def test_a_curve_that_cannot_be_measured_is_an_error(curve: Points, reason: str) -> None:
    with pytest.raises(DraftboardError, match=reason):
        planned(curve=curve)


SHORT, LONG = Curve(CURVE, context=4096), Curve(((1, 1.0), (64, 1.2)), context=32768)


def test_by_context_each_has_its_own_k_and_their_bounds_meet() -> None:
    plan = plan_schedule(Settings(), HIGH, Term(0.1), SHORT, LONG)
    assert [(each.first, each.last) for each in plan.contexts] == [(1, 4096), (4097, 32768)]
    for each, curve in zip(plan.contexts, (SHORT, LONG), strict=True):
        assert each.ranges == planned(curve=curve.points).ranges
    assert plan.proposed_config is not None
    entries = plan.proposed_config.num_speculative_tokens_per_batch_size
    assert [entry for entry in entries if entry[2] == 1] == [
        (each.first, each.last, 1, 4096, each.k) for each in planned().ranges
    ]
    assert {entry[2:4] for entry in entries} == {(1, 4096), (4097, 32768)}


def test_the_keys_that_a_release_takes_have_at_each_batch_size_the_shortest_draft_of_all_contexts() -> None:
    plan = plan_schedule(Settings(), HIGH, Term(0.1), SHORT, LONG)
    alone = [planned(curve=curve.points) for curve in (SHORT, LONG)]
    assert [lookup(plan, size) for size in range(1, 65)] == [
        min(lookup(one, size) for one in alone) for size in range(1, 65)
    ]
    printed = str(plan.blocks())
    assert printed.index("pull request 48944") > printed.index("the shortest draft of all contexts")


def test_where_every_batch_size_loses_at_one_context_only_the_proposed_form_speculates() -> None:
    dear = Curve(((1, 9.0), (64, 9.0)), context=32768)
    plan = plan_schedule(Settings(), HIGH, Term(0.1), SHORT, dear)
    assert plan.speculative_config is None
    assert plan.proposed_config
    assert plan.verdict.startswith("Speculation is expected to pay by context only")
    assert "pull request 48944" in str(plan.blocks())


def test_one_curve_without_context_has_no_proposed_form_and_one_with_a_context_has() -> None:
    assert planned().proposed_config is None
    assert not planned().contexts
    plan = plan_schedule(Settings(), HIGH, Term(0.1), SHORT)
    assert [(each.first, each.last) for each in plan.contexts] == [(1, 4096)]
    assert plan.ranges == plan.contexts[0].ranges == planned().ranges


def test_the_plan_ends_at_the_largest_batch_size_that_all_contexts_have() -> None:
    plan = plan_schedule(Settings(), HIGH, Term(0.1), SHORT, Curve(((1, 1.0), (32, 1.2)), context=32768))
    assert {part[-1].last for part in (plan.ranges, *(each.ranges for each in plan.contexts))} == {32}


@pytest.mark.parametrize(
    ("curves", "reason"),
    [
        ((Curve(CURVE), Curve(CURVE)), "each as CONTEXT:SIZE=V"),
        ((SHORT, Curve(CURVE)), "each as CONTEXT:SIZE=V"),
        ((LONG, SHORT), "context 4096 follows 32768"),
        ((SHORT, SHORT), "context 4096 follows 4096"),
        ((Curve(CURVE, context=200_000_000),), "context = 200000000 is out of range"),
        (tuple(Curve(CURVE, context=length) for length in range(1, 18)), "up to 16"),
    ],
)
def test_contexts_that_cannot_be_planned_are_an_error(curves: tuple[Curve, ...], reason: str) -> None:
    with pytest.raises(DraftboardError, match=reason):
        plan_schedule(Settings(), HIGH, Term(0.1), *curves)
