"""Numbers, words and colours as Grafana shows them."""

import math
from typing import Any

import pytest

from draftboard.errors import DraftboardError
from draftboard.preview.document import FieldConfig
from draftboard.preview.frames import Column, Kind, legend_of
from draftboard.preview.units import humanised, trimmed
from draftboard.preview.values import Shown, defaults_of, fields_of, show

RED, GREEN, BLUE, TEXT = "#f2495c", "#73bf69", "#5794f2", "#ccccdc"


@pytest.mark.parametrize(
    ("value", "unit", "decimals", "text"),
    [
        (0.4117, "percentunit", None, "41.2%"),
        (0.0123, "percentunit", None, "1.23%"),
        (1, "percentunit", None, "100%"),
        (0.5, "percentunit", 2, "50.00%"),
        (-0.64, "percentunit", None, "-64%"),
        (0, "s", None, "0 s"),
        (3.1e-9, "s", None, "3.10 ns"),
        (2.5e-5, "s", None, "25.0 µs"),
        (0.0186, "s", None, "18.6 ms"),
        (1.81, "s", None, "1.81 s"),
        (90, "s", None, "1.50 mins"),
        (7200, "s", None, "2 hours"),
        (129_600, "s", 1, "1.5 days"),
        (1_209_600, "s", None, "2 weeks"),
        (63_072_000, "s", None, "2 years"),
        (950, "short", None, "950"),
        (1512, "short", None, "1.51 K"),
        (2_500_000, "short", None, "2.50 Mil"),
        (0.25, "short", None, "0.250"),
        (3.4, "short", 0, "3"),
        (1e18, "short", None, "1000000 Tri"),
        (1023, "bytes", None, "1023 B"),
        (1024, "bytes", None, "1 KiB"),
        (62_914_560_000, "bytes", None, "58.6 GiB"),
        (4.91, "reqps", None, "4.91 req/s"),
        (1500, "reqps", None, "1.50 K req/s"),
        (379, "watt", None, "379 W"),
        (1200, "watt", None, "1.20 kW"),
        (0.5, "watt", None, "500 mW"),
        (7, "none", None, "7"),
        (1.005, "none", 2, "1.00"),
        (2.5, "none", 0, "3"),
        (7, "tok/s", None, "7 tok/s"),
        (-0.0, "short", 1, "0.0"),
        (math.nan, "short", None, "NaN"),
        (math.inf, "s", None, "∞"),
        (-math.inf, "s", None, "-∞"),
    ],
)
def test_a_number_is_humanised_as_grafana_does(value: float, unit: str, decimals: int | None, text: str) -> None:
    assert humanised(value, unit, decimals) == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.5, "short", "0.5"),
        (0.4, "percentunit", "40%"),
        (1500, "short", "1.5 K"),
        (120, "s", "2 mins"),
        (10, "", "10"),
    ],
)
def test_an_axis_has_no_zeros_that_say_nothing(value: float, unit: str, text: str) -> None:
    assert trimmed(value, unit) == text


def config(overrides: list[dict[str, Any]] | None = None, **defaults: Any) -> FieldConfig:
    return FieldConfig.model_validate({"defaults": defaults, "overrides": overrides or []})


STEPS = {"steps": [{"color": "red", "value": None}, {"color": "green", "value": 1.0}, {"color": "blue", "value": 2}]}


@pytest.mark.parametrize(("value", "colour"), [(0.99, RED), (1.0, GREEN), (1.99, GREEN), (2, BLUE)])
def test_a_value_has_the_colour_of_the_highest_step_that_it_reaches(value: float, colour: str) -> None:
    assert show(value, defaults_of(config(thresholds=STEPS))).colour == colour


def test_words_for_a_value_go_before_its_number_and_its_step() -> None:
    words = {"type": "value", "options": {"4": {"text": "drafting", "color": "green", "index": 0}}}
    fields = defaults_of(config(mappings=[words], thresholds=STEPS, unit="none"))
    assert show(4.0, fields) == Shown("drafting", GREEN)
    assert show(5.0, fields) == Shown("5", BLUE)


@pytest.mark.parametrize(
    ("value", "text"), [(-3.0, "costs"), (0.99, "costs"), (1.0, "even"), (1.05, "even"), (1.1, "pays"), (9.0, "pays")]
)
def test_words_for_ranges_reach_to_their_bounds_and_beyond_where_there_is_none(value: float, text: str) -> None:
    ranges = [(None, 0.999999999, "costs"), (1.0, 1.099999999, "even"), (1.1, None, "pays")]
    mappings = [
        {"type": "range", "options": {"from": low, "to": high, "result": {"text": words, "color": "red"}}}
        for low, high, words in ranges
    ]
    assert show(value, defaults_of(config(mappings=mappings))).text == text


def test_an_absent_value_is_said_in_the_words_for_nothing() -> None:
    assert show(None, defaults_of(config(noValue="-"))).text == "-"
    assert show(None, defaults_of(config())).text == ""


@pytest.mark.parametrize(
    "matcher",
    [
        {"id": "byName", "options": "tiny ngram"},
        {"id": "byFrameRefID", "options": "B"},
        {"id": "byRegexp", "options": "/ ngram$/"},
    ],
)
def test_an_override_changes_the_columns_that_it_matches_and_no_other(matcher: dict[str, str]) -> None:
    cell = {"id": "custom.cellOptions", "value": {"type": "color-text"}}
    given = config([{"matcher": matcher, "properties": [{"id": "unit", "value": "s"}, cell]}], unit="short")
    one = Column("Value", Kind.NUMBER, (1.0,), {}, "tiny ngram", "B")
    other = Column("Value", Kind.NUMBER, (1.0,), {}, "tiny none", "A")
    assert (fields_of(one, given).unit, fields_of(one, given).custom.cell.type) == ("s", "color-text")
    assert (fields_of(other, given).unit, fields_of(other, given).custom.cell.type) == ("short", "auto")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (config([{"matcher": {"id": "byType", "options": "number"}, "properties": []}]), "matcher 'byType'"),
        (config(mappings=[{"type": "special", "options": {}}]), "mapping of type 'special'"),
        (config(decimals="many"), "fieldConfig: decimals: input should be a valid integer"),
    ],
)
def test_what_a_preview_does_not_know_is_named(given: FieldConfig, told: str) -> None:
    column = Column("Value", Kind.NUMBER, (1.0,))
    with pytest.raises(DraftboardError, match=told):
        show(1.0, fields_of(column, given))


@pytest.mark.parametrize(
    ("wanted", "text"),
    [
        ("{{cluster}} {{ model_name }} P99", "tiny P99"),
        ("", 'up{job="vllm", model_name="tiny"}'),
        ("__auto", 'up{job="vllm", model_name="tiny"}'),
        ("all", "all"),
    ],
)
def test_a_legend_names_labels_and_leaves_out_absent_ones(wanted: str, text: str) -> None:
    assert legend_of({"__name__": "up", "job": "vllm", "model_name": "tiny"}, wanted) == text


def test_an_unknown_colour_is_shown_as_text_and_no_style_leaves_its_place() -> None:
    thresholds = {"steps": [{"color": "red; background: url(http://example.org)", "value": None}]}
    assert show(1.0, defaults_of(config(thresholds=thresholds))).colour == TEXT
