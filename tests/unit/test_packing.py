"""Rules packed in groups: none too long, each behind what it reads, chains in as few groups as possible."""

from collections.abc import Sequence
from itertools import chain

import hypothesis
from hypothesis import strategies as st

from draftboard.rules import RecordingRule, depths, packed, reads


def made(*below: Sequence[int]) -> list[RecordingRule]:
    """A rule for each list of the numbers of rules that it reads."""
    return [
        RecordingRule(record=f"model:vllm_r{number}:sum", expr=" + ".join(f"model:vllm_r{one}:sum" for one in reading))
        for number, reading in enumerate(below)
    ]


def grouped(rules: Sequence[RecordingRule], longest: int, families: Sequence[str] = ()) -> list[list[int]]:
    named = list(zip(families or ["any"] * len(rules), rules, strict=True))
    return [
        [int(rule.record[len("model:vllm_r") : -len(":sum")]) for rule in group] for _, group in packed(named, longest)
    ]


def test_what_fits_stays_whole_and_fills_what_is_left_of_a_group() -> None:
    assert grouped(made([], [0], [], [2], []), longest=3) == [[0, 1, 4], [2, 3]]


def test_what_reads_most_has_all_that_it_reads_in_its_group() -> None:
    assert grouped(made([], [], [0], [0], [0, 1]), longest=3) == [[0, 1, 4], [2, 3]]


def test_what_does_not_fit_begins_a_later_group() -> None:
    stem = [[], [0], [1]]
    first, second = ([2], [3], [4]), ([2], [6], [7])
    assert grouped(made(*stem, *first, *second), longest=3) == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]


def test_a_chain_longer_than_a_group_is_cut_at_full_groups() -> None:
    assert grouped(made([], *([number] for number in range(6))), longest=3) == [[0, 1, 2], [3, 4, 5], [6]]


def test_chains_that_meet_late_cross_one_border_however_long_they_are() -> None:
    assert grouped(made([], [0], [1], [], [3], [4], [2, 5]), longest=3) == [[0, 1, 2], [3, 4, 5], [6]]


def test_a_group_has_rules_of_one_family_and_follows_those_that_it_reads() -> None:
    assert grouped(made([], [0], [1]), longest=3, families=["a", "b", "a"]) == [[0], [1], [2]]


def test_of_itself_and_of_what_follows_it_a_record_reads_the_past() -> None:
    rules = made([0, 1], [0])
    assert reads(rules) == {rules[0].record: set(), rules[1].record: {rules[0].record}}
    assert depths(reads(rules)) == {rules[0].record: 0, rules[1].record: 1}


@hypothesis.given(
    st.integers(1, 40).flatmap(
        lambda size: st.tuples(*(st.lists(st.integers(0, max(0, number - 1)), max_size=3) for number in range(size)))
    ),
    st.integers(1, 8),
)
def test_groups_hold_every_rule_once_are_short_enough_and_follow_what_they_read(
    below: tuple[list[int], ...], longest: int
) -> None:
    rules = made(*below)
    groups = [group for _, group in packed([("any", rule) for rule in rules], longest)]
    assert sorted(rule.record for rule in chain(*groups)) == sorted(rule.record for rule in rules)
    assert all(0 < len(group) <= longest for group in groups)
    before: set[str] = set()
    for group in groups:
        for rule in group:
            assert reads(rules)[rule.record] <= before
            before.add(rule.record)
