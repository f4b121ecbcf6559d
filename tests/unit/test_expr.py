"""Expressions: their PromQL in one layout, and their values."""

import math
import re

import promql_parser
import pytest
from hypothesis import given
from hypothesis import strategies as st

from draftboard.catalogue.latency import TIME_PER_OUTPUT_TOKEN as PER_TOKEN
from draftboard.catalogue.speculation import DRAFTS
from draftboard.durations import Duration
from draftboard.expr import promql, vector
from draftboard.expr.counts import Counts
from draftboard.expr.nodes import AtMost, Labels, Numbers, OverTime, Raw, Successor
from draftboard.expr.resolve import expanded, up_to
from draftboard.expr.scope import Edition, Level, Matcher, Scope
from draftboard.expr.to_numbers import values_of
from draftboard.expr.to_promql import promql_of
from draftboard.reading import counts_of
from draftboard.settings import Settings
from draftboard.signals import ALL
from draftboard.signals.acceptance import acceptance
from draftboard.signals.depth import survival
from draftboard.signals.signal import Unit
from draftboard.signals.traffic import draft_tokens, drafts
from support.tallies import tally

SETTINGS = Settings()
RULES = Scope(SETTINGS)
RAW = Scope(SETTINGS, edition=Edition.RAW)


def counted(**series: float) -> Counts:
    """Counters of one engine, by the end of their names."""
    labels = {("model_name", "m"), ("engine", "0"), ("instance", "a")}
    return Counts(
        SETTINGS, {f"vllm:spec_decode_num_{name}_total": {frozenset(labels): n} for name, n in series.items()}
    )


def test_a_short_expression_stays_on_one_line() -> None:
    assert promql_of(draft_tokens / drafts, RULES) == (
        "model:vllm_spec_decode_draft_tokens:rate5m / (model:vllm_spec_decode_drafts:rate5m > 0)"
    )


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
    pattern = re.compile(up_to(largest))
    assert [n for n in range(120) if pattern.fullmatch(str(n))] == list(range(largest + 1))


@given(st.integers(0, 98))
def test_the_successor_of_every_number_is_the_next(largest: int) -> None:
    counts, successor = Counts(SETTINGS), Successor(Numbers("p", 0, largest), "n", "p", largest)
    found = values_of(successor, counts)
    assert (in_promql := expanded(successor, Scope(SETTINGS)))
    assert found == values_of(in_promql, counts)
    assert {(vector.value_of(labels, "p"), vector.value_of(labels, "n")) for labels in found} == {
        (str(n), str(n + 1)) for n in range(largest + 1)
    }


def test_a_ratio_without_traffic_has_no_value() -> None:
    assert values_of(acceptance, counted(accepted_tokens=0.0, draft_tokens=0.0)) == {}
    ((_, found),) = values_of(acceptance, counted(accepted_tokens=30.0, draft_tokens=120.0)).items()
    assert found == 0.25


def test_a_signal_is_its_record_to_rules_and_its_expression_to_raw_panels() -> None:
    assert promql_of(acceptance, RULES) == "model:vllm_spec_decode_acceptance:ratio_rate5m"
    assert "vllm:spec_decode_num_accepted_tokens_total{" in promql_of(acceptance, RAW)


def test_a_scope_never_answers_with_a_record_of_another_window() -> None:
    with pytest.raises(ValueError, match="records keep rates over 5m, not over 1h"):
        RULES.over(Duration(3600))
    assert promql_of(acceptance, RULES.over(Duration(300))) == promql_of(acceptance, RULES)
    asked = Scope(SETTINGS, edition=Edition.ONCE).over(Duration(3600))
    assert "[1h]" in promql_of(acceptance, asked)


def test_a_scope_never_answers_for_more_than_it_selects() -> None:
    assert 'position="0"' in promql_of(survival.where("position", "0"), RULES)
    with pytest.raises(ValueError, match="nothing in the expression carries the label position"):
        promql_of(acceptance.where("position", "0"), RULES)


def test_a_label_that_ends_like_another_is_not_taken_for_it() -> None:
    with pytest.raises(ValueError, match="carries the label name:"):
        promql_of(acceptance, RULES.where(Matcher.of("name", "m"), Matcher.of("model_name", "m")))


@pytest.mark.parametrize("scope", [RULES, RAW])
def test_spans_into_the_past_add_up(scope: Scope) -> None:
    hour = Duration(3600)
    assert promql_of(drafts.ago(hour).ago(hour), scope) == promql_of(drafts.ago(hour * 2), scope)
    day = OverTime("avg_over_time", drafts, hour * 24, hour)
    offsets = [
        Duration.parse(one).seconds // 3600 for one in re.findall(r"offset (\w+)", promql_of(day.ago(hour), scope))
    ]
    assert sum(offsets) == 2


def test_a_matcher_fits_what_prometheus_would_select() -> None:
    assert Matcher.of("le", "1", "1[.]0").fits("1.0")
    assert not Matcher.of("spec_method", "ngram", "suffix", negated=True).fits("ngram")
    assert Matcher.of("spec_method", "none", negated=True).fits("")


def test_several_partners_without_a_group_are_refused_as_prometheus_refuses_them() -> None:
    one, two = frozenset({("k", "1")}), frozenset({("k", "2")})
    with pytest.raises(ValueError, match="several elements match"):
        vector.combined({one: 1.0}, "+", {one: 1.0, two: 2.0}, lambda labels: vector.dropped(labels, ("k",)))


# What is a number even at rest: gauges, and what follows from the settings.
AT_REST = {"kv_cache_usage", "kv_cache_usage_mean", "draft_cost", "servers_down", "error_budget", "ranked_speedup"}


@pytest.mark.parametrize(
    ("values", "kept"),
    [
        ({"a": 1, "b": 3, "c": 2}, {"b", "c"}),
        ({"c": 1, "b": 1, "a": 1}, {"a", "b"}),  # Of equals the same at every reading.
        ({"a": math.nan, "b": -math.inf, "c": 0}, {"b", "c"}),
        ({"a": 1}, {"a"}),
        ({}, set()),
    ],
)
def test_the_greatest_of_each_group_keep_their_labels_and_values(values: dict[str, float], kept: set[str]) -> None:
    series = {
        frozenset({("model_name", model), ("engine", "0"), ("instance", name)}): value
        for model in ("m", "n")
        for name, value in values.items()
    }
    greatest = AtMost(2, (Labels("model_name"),), Raw(DRAFTS))
    found = values_of(greatest, Counts(SETTINGS, {DRAFTS.name: series}), Level.ENGINE)
    assert found == {labels: series[labels] for labels in series if vector.value_of(labels, "instance") in kept}


def test_a_model_at_rest_has_no_ratio_and_never_nan() -> None:
    quiet = tally((0, 0, 0), drafts=0, generated=0, prompts=0, requests=0, steps=0, times={PER_TOKEN: []})
    counts = counts_of([quiet], SETTINGS)
    for signal in ALL:
        found = [value for level in signal.levels for value in values_of(signal, counts, level).values()]
        assert not any(math.isnan(value) for value in found), signal.name
        if signal.unit in {Unit.RATIO, Unit.TIMES} and signal.name not in AT_REST:
            assert found == [], f"{signal.name} has a value where nothing happened: divide with `/`, which guards"
