"""Why figures changed: parts add up, whatever changed, and belong to what changed."""

from math import isclose

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import ROOT
from draftboard.attribution import Counted, Moment, shift
from draftboard.attribution.counted import by_position
from draftboard.attribution.explaining import explain
from draftboard.attribution.mix import mix_of
from draftboard.attribution.shapley import parts_of
from draftboard.attribution.state import State, accepted_per_draft
from draftboard.attribution.steps import step_parts
from support.faults import FAULTS, Fault, sides

NUMBERS = st.floats(0.1, 10)
COUNTS = st.integers(0, 10**6).map(float)


@settings(max_examples=25)
@given(before=st.lists(NUMBERS, min_size=1, max_size=5), data=st.data())
def test_parts_add_up_and_belong_to_what_changed(before: list[float], data: st.DataObject) -> None:
    """Of a figure that is a product and a ratio of sums; a factor that did not change adds nothing."""
    after = [data.draw(st.one_of(NUMBERS, st.just(value))) for value in before]
    names = [str(place) for place in range(len(before))]

    def figure(changed: object) -> float:
        values = [new if name in changed else old for name, old, new in zip(names, before, after, strict=True)]  # type: ignore[operator]
        return values[0] * values[-1] / (1 + sum(values))

    parts = parts_of(figure, names)
    assert sum(parts.values()) == pytest.approx(figure(names) - figure(()), abs=1e-9)
    for name, old, new in zip(names, before, after, strict=True):
        assert old != new or parts[name] == pytest.approx(0, abs=1e-9)


@st.composite
def counted(draw: st.DrawFn) -> Counted:
    """What an engine may count, and what a broken one may."""
    drafts = draw(COUNTS)
    positions = sorted(draw(st.lists(st.integers(0, int(drafts)).map(float), max_size=5)), reverse=True)
    return Counted(
        drafts=drafts,
        draft_tokens=draw(COUNTS),
        accepted=tuple(positions),
        steps=draw(COUNTS),
        seconds=draw(COUNTS),
        computed=draw(COUNTS),
        begun=draw(COUNTS),
        iterations=draw(COUNTS),
    )


@st.composite
def moments(draw: st.DrawFn) -> list[Moment]:
    """A few windows of a few engines, with or without classes."""
    names = draw(st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=3, unique=True))
    classes = draw(st.lists(st.sampled_from(["0", "up to 1.2", "other"]), max_size=3, unique=True))
    return [
        Moment(
            at=number,
            engines={name: draw(counted()) for name in names},
            classes={("temperature", name): (draw(COUNTS), draw(COUNTS), draw(COUNTS)) for name in classes},
            facts={"drafter": draw(st.sampled_from("AB"))},
        )
        for number in range(draw(st.integers(1, 4)))
    ]


@settings(max_examples=25)
@given(before=moments(), after=moments())
def test_whatever_was_counted_the_parts_of_every_figure_add_up(before: list[Moment], after: list[Moment]) -> None:
    found = explain(before, after)
    for figure in found.figures if found else ():
        whole = max(abs(figure.after - figure.before), abs(figure.before), 1)
        assert isclose(sum(part.amount for part in figure.parts), figure.after - figure.before, abs_tol=1e-6 * whole)


@given(one=counted())
def test_a_state_gives_back_what_was_accepted(one: Counted) -> None:
    """Positions as conditional acceptances, times lengths: the accepted tokens of a draft that is no phantom."""
    state = State.of(one)
    real = max(min(one.drafts, one.steps), *one.accepted, 0.0)
    if real and one.steps:
        accepted = accepted_per_draft(state.lengths, tuple(passed or 0.0 for passed in state.passes))
        assert accepted == pytest.approx(sum(one.accepted) / real, rel=1e-6, abs=1e-9)


def window(
    at: float, *, steps: float = 1000, seconds: float = 20, requests: float = 1, accepted: float = 1500
) -> Moment:
    return Moment(
        at=at,
        engines={
            "a": Counted(
                drafts=steps,
                draft_tokens=3 * steps,
                accepted=(accepted * 0.5, accepted * 0.3, accepted * 0.2),
                steps=steps,
                seconds=seconds,
                iterations=steps / requests,
            )
        },
    )


Requests = dict[tuple[str, str], tuple[float, float]]
"""Drafts, and accepted tokens of a draft of four, by temperature and tenant."""


def of_classes(requests: Requests, windows: int = 1, k: int = 4) -> list[Moment]:
    """Windows of one engine, whose requests the lens counts by each of the two and by both together."""
    classes: dict[tuple[str, str], tuple[float, float, float]] = {}
    for (hot, tenant), (drafts, accepted) in requests.items():
        counts = (drafts, k * drafts, accepted * drafts)
        for key in (("temperature", hot), ("header", tenant), ("temperature and tenant", f"{hot}, {tenant}")):
            classes[key] = tuple(map(sum, zip(classes.get(key, (0.0,) * 3), counts, strict=True)))  # type: ignore[assignment]
    drafts = sum(drafts for drafts, _ in requests.values())
    accepted = sum(drafts * accepted for drafts, accepted in requests.values())
    return [
        Moment(
            at=at,
            engines={
                "a": Counted(
                    drafts=drafts,
                    draft_tokens=k * drafts,
                    accepted=(accepted / k,) * k,
                    steps=drafts,
                    seconds=drafts / 50,
                    iterations=drafts,
                )
            },
            classes=classes,
        )
        for at in range(windows)
    ]


EVEN: Requests = {("0", "a"): (900, 3.2), ("up to 1.2", "a"): (100, 0.8)}


def by_cause(before: Requests, after: Requests, k: int = 4) -> dict[str, float]:
    """What each cause adds to the acceptance length, as a part of its change."""
    found = explain(of_classes(before, 3), of_classes(after, 3, k))
    assert found
    (length, _) = found.figures
    amounts: dict[str, float] = {}
    for part in length.parts:
        amounts[part.cause] = amounts.get(part.cause, 0.0) + part.amount / (length.after - length.before)
    return amounts


def test_a_class_that_grows_at_one_acceptance_of_each_is_the_whole_change() -> None:
    """Of 0.8 and 0.2 by temperature nothing changed but whose tokens they are."""
    moved: Requests = {("0", "a"): (200, 3.2), ("up to 1.2", "a"): (800, 0.8)}
    parts = by_cause(EVEN, moved)
    assert parts["mix of requests"] == pytest.approx(1)
    assert abs(parts.get("not explained", 0)) < 1e-9
    mix = mix_of(of_classes(EVEN), of_classes(moved))
    assert mix
    assert mix.shift == "temperature up to 1.2: 5% -> 63% of tokens"


def tokens(hot: float, *, share: float = 0.3, tenants: int = 1, cold: float = 3.2) -> Requests:
    """A share of the tokens at temperature 1.2, of several tenants alike, so accepted."""
    of = {"0": ((1 - share), cold), "up to 1.2": (share, hot)}
    return {
        (name, f"tenant {number}"): (1000 * part / (1 + accepted) / tenants, accepted)
        for name, (part, accepted) in of.items()
        for number in range(tenants)
    }


def test_a_class_that_alone_is_accepted_worse_at_an_equal_mix_is_the_whole_change() -> None:
    before, after = tokens(1.6, tenants=2), tokens(0.8, tenants=2)
    assert by_cause(before, after)["class of requests"] == pytest.approx(1)
    mix = mix_of(of_classes(before), of_classes(after))
    assert mix
    assert mix.change == "temperature up to 1.2: acceptance length 2.60 -> 1.80"


def test_of_a_tenant_whose_hot_requests_alone_are_accepted_worse_both_are_named() -> None:
    before = tokens(1.6, tenants=2)
    after = before | {("up to 1.2", "tenant 1"): (before["up to 1.2", "tenant 1"][0] * 2.6 / 1.4, 0.4)}
    mix = mix_of(of_classes(before), of_classes(after))
    assert mix
    assert mix.change == "temperature and tenant up to 1.2, tenant 1: acceptance length 2.60 -> 1.40"


def test_a_class_that_is_accepted_worse_and_grows_is_two_parts() -> None:
    parts = by_cause(tokens(1.6), tokens(0.8, share=0.6))
    assert parts["class of requests"] > 0.2
    assert parts["mix of requests"] > 0.2
    assert parts["class of requests"] + parts["mix of requests"] == pytest.approx(1)


@pytest.mark.parametrize("share", [0.03, 0.3, 0.97])
def test_text_that_all_classes_accept_worse_is_of_no_class_however_many_tokens_are_of_one(share: float) -> None:
    parts = by_cause(tokens(1.6, share=share), tokens(0.8, share=share, cold=1.6))
    assert parts["not explained"] == pytest.approx(1)
    assert "class of requests" not in parts


def test_drafts_of_another_length_are_of_no_class() -> None:
    """One class gains by a longer K, the other has nothing to gain."""
    assert "class of requests" not in by_cause(tokens(0.2), tokens(0.2, cold=5.6), k=8)


def test_a_load_that_hardly_varied_adds_no_more_than_in_proportion_and_takes_nothing_away() -> None:
    quiet = [window(at, seconds=20, requests=1) for at in range(4)]
    slower = step_parts(quiet, [window(at, seconds=30, requests=4) for at in range(4)])
    assert slower
    assert (slower.load, slower.rest) == pytest.approx((0.01, 0))
    much = step_parts(quiet, [window(at, seconds=100, requests=2) for at in range(4)])
    assert much
    assert (much.load, much.rest) == pytest.approx((0.02, 0.06))
    faster = step_parts(quiet, [window(at, seconds=15, requests=4) for at in range(4)])
    assert faster
    assert (faster.load, faster.rest) == pytest.approx((0, -0.005))


@pytest.mark.parametrize("place", [3, 10, 21])
def test_the_change_is_found_where_it_is(place: int) -> None:
    moments = [window(at, accepted=1500 if at < place else 1100, seconds=20 + at % 3 / 10) for at in range(24)]
    assert shift(moments) == place


@pytest.mark.parametrize("count", [0, 1, 5])
def test_too_few_windows_have_no_change(count: int) -> None:
    assert shift([window(at) for at in range(count)]) is None


def test_few_windows_know_no_scatter_and_name_nothing() -> None:
    found = explain([window(0), window(1)], [window(2, accepted=500)])
    assert found
    assert found.causes == ()
    assert [figure.changed for figure in found.figures] == [False, False]


def test_a_side_without_steps_is_not_explained() -> None:
    assert explain([window(0, steps=0)], [window(1)]) is None


def test_speculation_that_is_turned_on_is_the_cause() -> None:
    before = [
        Moment(at=at, engines={"a": Counted(steps=1000, seconds=20 + at / 100, iterations=1000)}) for at in range(6)
    ]
    found = explain(before, [window(at, seconds=26 + at / 100) for at in range(6)])
    assert found
    assert found.causes == ("speculation",)


def test_the_page_lists_every_simulated_fault_with_its_causes() -> None:
    page = (ROOT / "docs/commands/history.md").read_text()
    rows = [f"| {fault.says} | {', '.join(sorted(fault.causes)) or 'nothing clear'} |" for fault in FAULTS]
    assert "\n".join(["| simulated fault | true causes, which the command names |", "|---|---|", *rows, ""]) in page
    assert f"On the {len(FAULTS)} simulated faults" in page


@pytest.mark.long
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.says)
def test_a_simulated_fault_is_explained_by_its_cause(fault: Fault) -> None:
    found = explain(*sides(fault))
    assert found
    assert set(found.causes) == fault.causes


def test_a_position_without_a_value_does_not_move_those_behind_it() -> None:
    assert by_position([(2, 5.0), (0, 9.0)]) == (9.0, 0.0, 5.0)
    assert by_position([]) == ()
