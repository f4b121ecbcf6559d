"""Numbers known as ranges: what may be said of them, and what contradicts itself."""

import pytest

from draftboard.evidence import Range, Ruling, expected_speedup, headline, ruling

TOLERANCE = 0.3


def test_a_range_has_its_bounds_in_order() -> None:
    with pytest.raises(ValueError, match="a range from 2 to 1 is none"):
        Range(2, 1)
    assert 1 in Range(1, 2)
    assert 2 in Range(1, 2)
    assert 2.1 not in Range(1, 2)


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
