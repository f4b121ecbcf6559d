"""What is asked of Prometheus, and how its answers become columns."""

from typing import Any

import pytest

import previews
from draftboard.errors import DraftboardError
from draftboard.preview import Span, between, document
from draftboard.preview.document import Panel, Target, Transformation
from draftboard.preview.frames import Column, Frame, Kind, one_a_series, one_table
from draftboard.preview.times import Pace, pace_of
from draftboard.preview.transformations import transformed
from draftboard.preview.variables import chosen, intervals, substituted
from draftboard.prometheus import Series

NOW = 1_800_000_000.0


def variable(value: Any, **more: Any) -> dict[str, Any]:
    return {"name": "model", "type": "query", "current": {"text": "x", "value": value}} | more


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (variable(["$__all"], allValue=".*"), ".*"),
        (variable("$__all", allValue=".+"), ".+"),
        (variable("0.1"), "0.1"),
        (variable(["a", "b"]), "(a|b)"),
        (variable(["a.b"]), r"a\\.b"),
        (variable(["a|b(c)", "d"]), r"(a\\|b\\(c\\)|d)"),
    ],
)
def test_a_variable_stands_at_its_default_as_grafana_writes_it(given: dict[str, Any], text: str) -> None:
    of = previews.dashboard(templating={"list": [given]})
    assert chosen(document.read(of, "test")) == {"model": text}


def test_all_without_a_value_for_all_is_told() -> None:
    of = previews.dashboard(templating={"list": [variable(["$__all"])]})
    with pytest.raises(DraftboardError, match="test: variable 'model': chosen is All, and allValue is not given"):
        chosen(document.read(of, "test"))


def test_every_way_of_naming_a_variable_is_replaced_and_an_unknown_one_stays() -> None:
    values = {"a": "1", "ab": "2", "__rate_interval": "60s"}
    text = 'x{l=~"$a|${ab}|${a:regex}|$c"}[$__rate_interval]'
    assert substituted(text, values) == 'x{l=~"1|2|1|$c"}[60s]'


def test_grafanas_own_variables_tell_step_and_span() -> None:
    found = intervals(Pace(15, 60), Span(NOW, NOW + 600))
    text = "$__interval $__interval_ms $__range $__range_s $__range_ms $__rate_interval"
    assert substituted(text, found) == "15s 15000 600s 600 600000 60s"


@pytest.mark.parametrize(
    ("seconds", "panel_interval", "query_interval", "expected"),
    [
        (600, "5s", "5s", Pace(5, 20)),
        (600, "", "", Pace(1, 60)),
        (21_600, "1m", "", Pace(60, 75)),
        (21_600, "15s", "15s", Pace(30, 60)),
        (604_800, "15s", "15s", Pace(900, 915)),
    ],
)
def test_steps_and_rate_intervals_are_those_of_grafana(
    seconds: int, panel_interval: str, query_interval: str, expected: Pace
) -> None:
    panel = Panel.model_validate({"type": "timeseries", "interval": panel_interval, "gridPos": {"w": 12}})
    target = Target.model_validate({"expr": "up", "refId": "A", "interval": query_interval})
    assert pace_of(panel, target, Span(NOW, NOW + seconds)) == expected


@pytest.mark.parametrize(
    ("since", "until", "span"),
    [
        ("now-6h", "now", Span(NOW - 21_600, NOW)),
        ("now-1h30m", "now-30m", Span(NOW - 5400, NOW - 1800)),
        ("1795248850", "1795249490.5", Span(1_795_248_850, 1_795_249_490.5)),
        ("2026-11-21T08:14:10", "2026-11-21T09:14:10+01:00", Span(1_795_248_850, 1_795_248_850)),
    ],
)
def test_times_are_relative_unix_or_iso(since: str, until: str, span: Span) -> None:
    if span.seconds:
        assert between(since, until, NOW) == span
    else:
        with pytest.raises(DraftboardError, match="the end must be at least a second after the beginning"):
            between(since, until, NOW)


@pytest.mark.parametrize("text", ["yesterday", "now-6x", "now+1h", "", "-5", "9999999999999", "2026-13-01"])
def test_what_is_no_time_is_told_with_an_example(text: str) -> None:
    with pytest.raises(DraftboardError, match="no time; write now-6h, Unix seconds, or 2026-"):
        between(text, "now", NOW)


def target(**more: Any) -> Target:
    return Target.model_validate({"expr": "up", "refId": "B", "legendFormat": "{{m}}"} | more)


def test_a_gap_in_a_range_is_an_absent_value() -> None:
    found = [Series({"m": "a"}, ((0.0, 1.0), (10.0, 2.0), (30.0, 3.0)))]
    (frame,) = one_a_series(found, target(), Span(0, 39), Pace(10, 40))
    times, values = frame.columns
    assert times.values == (0, 10, 20, 30)
    assert values.values == (1.0, 2.0, None, 3.0)
    assert (values.title, values.ref) == ("a", "B")


def test_a_table_has_a_line_a_sample_and_a_column_a_label() -> None:
    found = [Series({"m": "a", "job": "x"}, ((5.0, 1.0),)), Series({"m": "b"}, ((5.0, 2.0),))]
    table = one_table(found, target(), alone=False)
    assert {column.name: column.values for column in table.columns} == {
        "Time": (5.0, 5.0),
        "job": ("x", ""),
        "m": ("a", "b"),
        "Value #B": (1.0, 2.0),
    }
    assert one_table([], target(), alone=True).columns[-1].name == "Value"


def test_unprintable_labels_are_made_printable() -> None:
    (frame,) = one_a_series([Series({"m": "a\x00\ud800b\n"}, ((0.0, 1.0),))], target(), Span(0, 1), Pace(1, 4))
    assert frame.columns[1].title == "a\ufffd\ufffdb\ufffd"


def frame(**columns: tuple[Any, ...]) -> Frame:
    kinds = {float: Kind.NUMBER, str: Kind.TEXT}
    return Frame(
        tuple(
            Column(name.replace("_n_", " #"), kinds[type(next(v for v in values if v is not None))], values)
            for name, values in columns.items()
        )
    )


def table(frames: list[Frame]) -> list[dict[str, tuple[Any, ...]]]:
    return [{column.name: column.values for column in one.columns} for one in frames]


def after(frames: list[Frame], *steps: tuple[str, dict[str, Any]]) -> list[dict[str, tuple[Any, ...]]]:
    return table(transformed(frames, [Transformation(id=name, options=options) for name, options in steps]))


def test_merge_joins_rows_that_agree_and_keeps_apart_those_that_do_not() -> None:
    a = frame(Time=(1.0, 1.0), m=("x", "y"), Value_n_A=(10.0, 20.0))
    b = frame(Time=(1.0, 1.0), m=("y", "z"), Value_n_B=(200.0, 300.0))
    assert after([a, b], ("merge", {})) == [
        {
            "Time": (1.0, 1.0, 1.0),
            "m": ("x", "y", "z"),
            "Value #A": (10.0, 20.0, None),
            "Value #B": (None, 200.0, 300.0),
        }
    ]


def test_merge_with_an_empty_result_leaves_rows_as_they_are() -> None:
    a = frame(Time=(1.0, 1.0), m=("x", "y"), Value_n_A=(10.0, 20.0))
    empty = Frame((Column("Time", Kind.TIME, ()), Column("Value #B", Kind.NUMBER, ())))
    (merged,) = after([a, empty], ("merge", {}))
    assert merged["m"] == ("x", "y")
    assert merged["Value #B"] == (None, None)


def test_organize_leaves_out_orders_and_renames() -> None:
    options = {"excludeByName": {"a": True}, "indexByName": {"c": 0, "b": 1}, "renameByName": {"b": "Bee"}}
    (found,) = after([frame(a=(1.0,), b=(2.0,), d=(4.0,), c=(3.0,))], ("organize", options))
    assert list(found) == ["c", "Bee", "d"]


def test_names_are_filtered_by_what_includes_and_what_excludes_them() -> None:
    given = frame(Time=(1.0,), series=("a",), other=("b",))
    assert list(after([given], ("filterFieldsByName", {"include": {"pattern": "/^(Time|series)$/"}}))[0]) == [
        "Time",
        "series",
    ]
    assert list(after([given], ("filterFieldsByName", {"exclude": {"pattern": "^other$"}}))[0]) == ["Time", "series"]


def test_bars_are_sorted_as_numbers_and_made_a_column_a_series() -> None:
    given = frame(k=("10", "9", "9"), series=("a", "a", "b"), Value=(1.0, 2.0, 3.0))
    matrix = {"rowField": "k", "columnField": "series", "valueField": "Value", "emptyValue": "null"}
    assert after(
        [given],
        ("convertFieldType", {"conversions": [{"targetField": "k", "destinationType": "number"}]}),
        ("sortBy", {"sort": [{"field": "k"}]}),
        ("groupingToMatrix", matrix),
        ("convertFieldType", {"conversions": [{"targetField": "k\\series", "destinationType": "string"}]}),
    ) == [{"k\\series": ("9", "10"), "a": (2.0, 1.0), "b": (3.0, None)}]


def test_a_frame_is_parted_by_the_values_of_a_column() -> None:
    given = frame(series=("a", "b", "a"), x=(1.0, 2.0, 3.0))
    parts = transformed([given], [Transformation(id="partitionByValues", options={"fields": ["series"]})])
    assert table(parts) == [{"x": (1.0, 3.0)}, {"x": (2.0,)}]
    assert [part.columns[0].labels for part in parts] == [{"series": "a"}, {"series": "b"}]


@pytest.mark.parametrize(
    ("name", "options", "told"),
    [
        ("joinByLabels", {}, "transformation 'joinByLabels' is none that a preview knows: convertFieldType"),
        ("sortBy", {}, "transformation 'sortBy': options not as expected"),
        ("filterFieldsByName", {"include": {"pattern": "("}}, "is no regular expression"),
    ],
)
def test_an_unknown_or_broken_transformation_is_named_with_its_panel(
    name: str, options: dict[str, Any], told: str
) -> None:
    panel = previews.panel("table", transformations=[{"id": name, "options": options}])
    with pytest.raises(DraftboardError, match="test: panel 'A table': ") as raised:
        previews.bodies(previews.dashboard(panel), previews.Answers([previews.series(1.0)]))
    assert told in str(raised.value)
