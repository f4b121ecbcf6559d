"""Costs that published measurements let one assume: the rows, the fit, and how it does on rows left out."""

import math
from dataclasses import replace

import pytest

from draftboard.evidence import Load, Range, Ruling, assumed, expected_speedup, published, ruling
from draftboard.evidence.assumed import LONG_PROMPT, assumed_ranges
from draftboard.evidence.fit import fit
from draftboard.evidence.law import METHODS, Kind, inflation, step_cost
from scripts import costs


@pytest.fixture(scope="module")
def rows() -> list[costs.LeftOut]:
    return list(costs.left_out())


def test_the_committed_ranges_are_those_of_the_measurements() -> None:
    assert costs.PATH.read_text(encoding="utf-8") == costs.text(), "run make costs"


def test_rows_are_possible() -> None:
    for row in published().measurement:
        assert row.method in METHODS, row
        assert row.source.startswith("https://"), row
        assert 1 < row.length <= row.drafted + 1, row
        assert 0 < row.coverage <= 1, row
        assert 0 < row.speedup <= row.tokens_per_step, f"no speedup exceeds the tokens per step: {row}"
    for grown in published().growth:
        assert len(grown.batches) == len(grown.relative) > 1, grown
        assert grown.relative[0] == 1, grown
        assert list(grown.batches) == sorted(grown.batches), grown


def test_ranges_hold_what_origins_left_out_measured(rows: list[costs.LeftOut]) -> None:
    assert len(rows) == len(published().measurement)
    assert sum(one.held for one in rows) >= 0.85 * len(rows)


def test_no_origin_left_out_measured_the_contrary_of_the_verdict(rows: list[costs.LeftOut]) -> None:
    assert not [one for one in rows if one.wrong]


def test_some_verdicts_are_left(rows: list[costs.LeftOut]) -> None:
    # A range from 0 to infinity would hold everything.
    says = [one.says for one in rows if one.row.load.verified <= 8]
    assert Ruling.PAYS in says
    assert sum(one is not Ruling.UNCLEAR for one in says) >= len(says) / 6
    widths = [one.speedup.high / one.speedup.low for one in rows if one.row.method == "eagle3" and not one.row.unlike]
    assert max(widths) < 5
    assert sorted(widths)[len(widths) // 2] < 3


def test_today_defaults_would_be_wrong_where_the_range_is_unclear() -> None:
    # vllm-project/vllm#44697: 94 % accepted, and slower than without.
    pipeline = next(row for row in published().measurement if row.unlike == "pipeline")
    assert ruling(costs.speedup_of(pipeline, assumed_ranges())) is Ruling.UNCLEAR
    assert pipeline.tokens_per_step / (1 + 0.05 * pipeline.drafted) > 2


def cost(method: str, load: Load) -> Range:
    found = assumed(method).step_cost(load)
    assert found
    return found


def test_a_step_costs_more_in_larger_batches_and_with_longer_drafts() -> None:
    batches = [cost("eagle3", Load(batch=batch, drafted=3)).high for batch in (1, 8, 64, 256)]
    drafts = [cost("eagle3", Load(batch=8, drafted=drafted)).high for drafted in (1, 3, 7)]
    assert batches == sorted(batches)
    assert drafts == sorted(drafts)


def test_a_block_costs_a_draft_and_not_a_token() -> None:
    load = Load(batch=1, drafted=7)
    assert load.units(Kind.BLOCK) == Load(batch=1, drafted=15).units(Kind.BLOCK) == 1
    assert cost("dspark", load).high < cost("eagle3", load).high


def test_beyond_the_largest_measured_batch_nothing_is_assumed() -> None:
    largest = assumed_ranges().largest_batch
    assert assumed("eagle3").step_cost(Load(batch=largest, drafted=3))
    assert assumed("eagle3").step_cost(Load(batch=largest + 1, drafted=3)) is None


@pytest.mark.parametrize(
    ("method", "prompt_tokens", "pipeline", "said"),
    [
        ("eagle3", None, False, []),
        ("eagle3", LONG_PROMPT, False, []),
        ("eagle3", LONG_PROMPT + 1, False, ["prompts of over 16,384 tokens"]),
        ("eagle3", None, True, ["pipeline parallelism"]),
        ("eagle3", LONG_PROMPT + 1, True, ["pipeline parallelism", "prompts of over"]),
        ("", None, False, ["the drafting method is unknown"]),
        ("frog", None, False, ["the method frog is unknown"]),
    ],
)
def test_what_no_row_covers_widens_the_range_and_says_so(
    method: str, prompt_tokens: float | None, pipeline: bool, said: list[str]
) -> None:
    load = Load(batch=4, drafted=3)
    usual = cost("eagle3", load)
    costs_of_it = assumed(method, prompt_tokens=prompt_tokens, pipeline=pipeline)
    found = costs_of_it.step_cost(load)
    assert found
    assert [any(word in why for why in costs_of_it.wider) for word in said] == [True] * len(costs_of_it.wider)
    assert (found.high > usual.high) is bool(said)
    assert found.low <= usual.low


def test_a_way_to_draft_that_nobody_measured_may_cost_what_any_other_does() -> None:
    others = replace(
        published(), measurement=tuple(row for row in published().measurement if METHODS[row.method] is not Kind.LOOKUP)
    )
    ranges = fit(others)
    assert ranges.overhead[Kind.LOOKUP].origins == 0
    assert ranges.overhead[Kind.LOOKUP].high == max(one.high for one in ranges.overhead.values())
    assert assumed("ngram", ranges=ranges).wider == ("no costs of ngram are published",)


def test_verifying_takes_at_most_as_much_longer_as_there_are_more_tokens() -> None:
    load = Load(batch=1000, drafted=3)
    assert math.isclose(inflation(load, knee=0.001), 4, rel_tol=1e-3)
    assert math.isclose(inflation(load, knee=1e9), 1, rel_tol=1e-3)
    assert step_cost(load, Kind.LOOKUP, 0.2, 1e9) == pytest.approx(1.2, rel=1e-3)


def test_a_mean_step_counts_drafts_by_their_coverage() -> None:
    # Half of the steps draft four tokens: two a step.
    half = Load(batch=10, drafted=2, coverage=0.5)
    assert half.verified == 30
    assert (half.units(Kind.HEAD), half.units(Kind.BLOCK)) == (2.5, 0.5)


def test_no_step_is_assumed_to_cost_less_than_a_plain_one() -> None:
    found = cost("dspark", Load(batch=1, drafted=0.0, coverage=0.0))
    assert found.low == 1
    assert expected_speedup(1.0, found) == Range(1 / found.high, 1)
