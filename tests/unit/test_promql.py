"""Composition of PromQL text."""

import re

import promql_parser
import pytest
from hypothesis import given
from hypothesis import strategies as st

from draftboard.expr import promql


def test_a_short_expression_stays_on_one_line() -> None:
    assert promql.ratio("a", "b") == "a / (b > 0)"


def test_operands_with_an_operator_of_their_own_are_put_in_parentheses() -> None:
    assert promql.binary(promql.binary("a", "+", "b"), "*", "c") == "(a + b) * c"
    assert promql.binary(promql.call("abs", promql.binary("a", "+", "b")), "*", "c") == "abs(a + b) * c"


def test_a_long_expression_breaks_at_its_operator() -> None:
    long = "x" * 60
    assert promql.binary(long, "/", long) == f"{long}\n/ {long}"


@pytest.mark.parametrize(("value", "text"), [(1.0, "1"), (0.1, "0.1"), (-3.0, "-3"), (1e-7, "1e-07"), (360.0, "360")])
def test_numbers_are_written_as_people_write_them(value: float, text: str) -> None:
    assert promql.number(value) == text
    assert promql_parser.parse(f"x > {text}")


@pytest.mark.parametrize("largest", range(99))
def test_a_range_of_positions_matches_just_those_numbers(largest: int) -> None:
    pattern = re.compile(promql.up_to(largest))
    assert [n for n in range(120) if pattern.fullmatch(str(n))] == list(range(largest + 1))


@given(st.integers(0, 98))
def test_the_successor_of_every_number_is_the_next(largest: int) -> None:
    steps = re.findall(r'"n", "([^"]*)", "p", "([^"]*)"', promql.successor("x", "n", "p", largest))
    for number in range(largest + 1):
        label = ""
        for replacement, pattern in steps:
            if found := re.fullmatch(pattern, str(number)):
                label = found.expand(replacement.replace("${1}", r"\g<1>"))
        assert label == str(number + 1)


@given(st.integers(1, 99))
def test_numbers_are_labelled_with_themselves(last: int) -> None:
    assert promql_parser.parse(promql.numbers("k", 1, last))
    assert promql.numbers("k", 1, last).count("vector(") == last
