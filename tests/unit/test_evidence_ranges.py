"""Numbers known as ranges: what may be said of them, and what contradicts itself."""

import pytest

from draftboard.evidence import Lengths, Measured, Range, Ruling, expected_speedup, headline, refutations, ruling

TOLERANCE = 0.3


def test_a_range_has_its_bounds_in_order() -> None:
    with pytest.raises(ValueError, match="a range from 2 to 1 is none"):
        Range(2, 1)
    assert 1 in Range(1, 2)
    assert 2 in Range(1, 2)
    assert 2.1 not in Range(1, 2)


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [((1, 2), (2, 3), True), ((1, 2), (2.1, 3), False), ((1, 4), (2, 3), True), ((2, 3), (0, 1.9), False)],
)
def test_ranges_overlap_where_one_number_is_in_both(
    one: tuple[float, float], other: tuple[float, float], both: bool
) -> None:
    assert Range(*one).overlaps(Range(*other)) is both
    assert Range(*other).overlaps(Range(*one)) is both


@pytest.mark.parametrize(
    ("low", "high", "says"),
    [
        (1.01, 1.9, Ruling.PAYS),
        (1.0, 1.9, Ruling.UNCLEAR),
        (0.8, 1.2, Ruling.UNCLEAR),
        (0.8, 1.0, Ruling.UNCLEAR),
        (0.8, 0.99, Ruling.COSTS),
    ],
)
def test_a_verdict_holds_in_all_of_the_range(low: float, high: float, says: Ruling) -> None:
    assert ruling(Range(low, high)) is says


def test_the_speedup_is_lowest_where_a_step_costs_most() -> None:
    assert expected_speedup(3, Range(1.5, 2)) == Range(1.5, 2)


def test_a_headline_says_the_range_or_on_what_it_depends() -> None:
    said = {says: headline(says, Range(0.4, 1.9), "assumed") for says in (Ruling.PAYS, Ruling.COSTS, Ruling.UNCLEAR)}
    assert said == {
        Ruling.PAYS: "pays: 0.40 to 1.90 times plain decoding (assumed)",
        Ruling.COSTS: "costs more than it saves: 0.40 to 1.90 times plain decoding (assumed)",
        Ruling.UNCLEAR: "unclear: 0.40 to 1.90 times plain decoding (assumed)",
    }


def test_numbers_that_agree_are_not_refuted() -> None:
    fair = Measured(
        tokens_per_step=2.17,
        speedup=Range(0.9, 1.3),
        step_cost=Range(1.8, 2.2),
        expected=Range(1.0, 2.0),
        variant=Lengths(prompt=772, answer=40),
        baseline=Lengths(prompt=600, answer=40),
    )
    assert not list(refutations(fair, TOLERANCE))
    assert not list(refutations(Measured(), TOLERANCE))


@pytest.mark.parametrize(
    ("found", "said"),
    [
        # Each was seen live, as a verdict.
        (
            Measured(variant=Lengths(prompt=39, answer=12), baseline=Lengths(prompt=39, answer=40)),
            ["the variants are not alike: answers of 12 against 40 tokens"],
        ),
        (
            Measured(variant=Lengths(prompt=39), baseline=Lengths(prompt=1027)),
            ["the variants are not alike: prompts of 39 against 1,027 tokens"],
        ),
        (
            Measured(tokens_per_step=2.17, speedup=Range(2.9, 3.5)),
            ["the measured speedup of 2.90 to 3.50 exceeds the 2.17 tokens of a decode step, which none can"],
        ),
        (
            Measured(step_cost=Range(0.6, 0.66)),
            ["a step takes 0.60 to 0.66 times the baseline's, where none with drafts takes less than a plain one"],
        ),
        (
            Measured(tokens_per_step=2.17, speedup=Range(1.2, 1.4), step_cost=Range(2.7, 2.9)),
            ["users' times say 1.20 to 1.40 and times of steps say 0.75 to 0.80: tokens per step over step cost"],
        ),
        (
            Measured(speedup=Range(0.8, 0.9), expected=Range(2.0, 2.5)),
            ["the measured speedup of 0.80 to 0.90 is not in what calibrated costs let one expect, 2.00 to 2.50"],
        ),
    ],
)
def test_what_cannot_be_at_once_is_refuted(found: Measured, said: list[str]) -> None:
    assert list(refutations(found, TOLERANCE)) == said


@pytest.mark.parametrize(("answer", "refuted"), [(70.0, False), (69.0, True)])
def test_lengths_may_differ_by_the_tolerance(answer: float, refuted: bool) -> None:
    found = Measured(variant=Lengths(answer=answer), baseline=Lengths(answer=100))
    assert bool(list(refutations(found, TOLERANCE))) is refuted
