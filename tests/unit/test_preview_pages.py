"""From a dashboard to a page: what each kind of panel becomes, and that a page holds all and nothing foreign."""

import base64
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from draftboard.cli import main
from draftboard.errors import DraftboardError
from draftboard.preview import document
from draftboard.preview.charts.timeline import Row, bands
from draftboard.preview.charts.timeseries import Line, _stacked
from draftboard.preview.document import Fields
from draftboard.preview.frames import Column, Kind
from draftboard.preview.sources import in_folder
from draftboard.preview.values import Shown
from previews import Answers, bodies, dashboard, page, panel, series

TWO = [series(1.0, model_name="a"), series(3.0, model_name="b")]
HOSTILE = "<script>alert(1)</script> $\\frac{1}{0}$ & \"'"


def picture(body: Any) -> str:
    return base64.b64decode(body.picture.removeprefix("data:image/svg+xml;base64,")).decode()


def texts(svg: str) -> list[str]:
    """What a picture writes; parsing it shows that it is well-formed."""
    return ["".join(node.itertext()) for node in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]  # noqa: S314


def test_lines_have_a_legend_with_calculated_values_in_the_panels_unit() -> None:
    legend = {"legend": {"calcs": ["lastNotNull", "mean"], "showLegend": True, "displayMode": "table"}}
    fields = {"defaults": {"unit": "s", "custom": {"axisLabel": "waiting"}}}
    (body,) = bodies(dashboard(panel("timeseries", options=legend, fieldConfig=fields)), Answers(TWO))
    assert body.legend.headings == ("Last *", "Mean")
    assert [(row.name, *(one.text for one in row.values)) for row in body.legend.rows] == [
        ("a", "1 s", "1 s"),
        ("b", "3 s", "3 s"),
    ]
    assert len({row.colour for row in body.legend.rows}) == 2
    assert {"waiting", "2 s"} <= set(texts(picture(body)))
    assert body.marks == 2 * 601


def test_a_threshold_is_drawn_dashed_as_far_as_the_axis_reaches() -> None:
    def drawn(step: float) -> str:
        custom = {"thresholdsStyle": {"mode": "dashed"}}
        steps = {"steps": [{"color": "text", "value": None}, {"color": "purple", "value": step}]}
        fields = {"defaults": {"min": 0, "thresholds": steps, "custom": custom}}
        return picture(bodies(dashboard(panel("timeseries", fieldConfig=fields)), Answers(TWO))[0])

    assert "#b877d9" in drawn(2.0)
    assert "#b877d9" not in drawn(30.0)


def test_an_override_fixes_the_colour_of_a_series() -> None:
    fixed = {"id": "color", "value": {"mode": "fixed", "fixedColor": "red"}}
    fields = {"overrides": [{"matcher": {"id": "byRegexp", "options": "/(^| )b$/"}, "properties": [fixed]}]}
    (body,) = bodies(dashboard(panel("timeseries", fieldConfig=fields)), Answers(TWO))
    assert [row.colour for row in body.legend.rows] == ["#73bf69", "#f2495c"]


def test_stacked_series_stand_on_each_other_and_an_absent_one_leaves_a_gap() -> None:
    times = (0.0, 1.0, 2.0)
    lines = [
        Line(times, Column("Value", Kind.NUMBER, values), Fields(), "red")
        for values in ((1.0, None, 1.0), (2.0, 2.0, None))
    ]
    assert _stacked(lines) == [((1.0, None, 1.0), (0.0, 0.0, 0.0)), ((3.0, 2.0, None), (1.0, 0.0, 1.0))]


def test_equal_states_run_together_and_an_absent_one_ends_them() -> None:
    idle, down = Shown("idle"), Shown("down")
    row = Row("a", (0.0, 10.0, 20.0, 30.0, 40.0), (idle, idle, None, down, idle))
    assert [(band.start, band.end, band.state.text) for band in bands(row, 45.0)] == [
        (0.0, 20.0, "idle"),
        (30.0, 40.0, "down"),
        (40.0, 45.0, "idle"),
    ]


def test_a_timeline_says_each_state_in_the_words_for_it() -> None:
    words = {"type": "value", "options": {"1": {"text": "idle", "color": "blue"}, "3": {"text": "busy"}}}
    (body,) = bodies(dashboard(panel("state-timeline", fieldConfig={"defaults": {"mappings": [words]}})), Answers(TWO))
    assert [row.name for row in body.legend.rows] == ["idle", "busy"]
    assert {"a", "b", "idle", "busy"} <= set(texts(picture(body)))
    assert body.marks == 2


def test_a_stat_shows_the_last_value_and_the_name_of_each_series() -> None:
    given = panel("stat", targets=[{"instant": True}], options={"textMode": "value_and_name"})
    (body,) = bodies(dashboard(given), Answers(TWO))
    assert [(cell.name, cell.value.text) for cell in body.cells] == [("a", "1"), ("b", "3")]


def test_gauges_are_filled_by_the_share_of_the_highest() -> None:
    (body,) = bodies(dashboard(panel("bargauge", targets=[{"instant": True}])), Answers(TWO))
    assert [(cell.name, round(cell.share, 3)) for cell in body.cells] == [("a", 0.333), ("b", 1.0)]


def test_a_table_has_headings_and_rows_and_right_aligned_numbers() -> None:
    given = panel("table", targets=[{"instant": True, "format": "table"}])
    (body,) = bodies(dashboard(given), Answers(TWO))
    assert body.headings == ("Time", "model_name", "Value")
    assert [[cell.value.text for cell in row] for row in body.rows] == [
        ["2027-01-15 08:10:00", "a", "1"],
        ["2027-01-15 08:10:00", "b", "3"],
    ]
    assert [cell.number for cell in body.rows[0]] == [False, False, True]


def test_a_heatmap_shows_what_each_bucket_holds_of_its_own() -> None:
    buckets = [series(2.0, le="0.1"), series(5.0, le="1"), series(5.0, le="+Inf"), series(9.0, le="no bound")]
    given = panel("heatmap", targets=[{"format": "heatmap"}], fieldConfig={"defaults": {"unit": "s"}})
    (body,) = bodies(dashboard(given), Answers(buckets))
    assert body.marks == 2 * 601
    assert [row.name for row in body.legend.rows] == ["0", "3"]
    assert {"100 ms", "1 s", "∞"} <= set(texts(picture(body)))


def test_bars_stand_in_groups_with_their_values_above() -> None:
    matrix = {"rowField": "model_name", "columnField": "job", "valueField": "Value"}
    given = panel(
        "barchart",
        targets=[{"instant": True, "format": "table"}],
        transformations=[{"id": "groupingToMatrix", "options": matrix}],
        fieldConfig={"defaults": {"decimals": 1}},
    )
    answers = Answers([series(1.0, model_name="a", job="x"), series(3.0, model_name="b", job="y")])
    (body,) = bodies(dashboard(given), answers)
    assert body.marks == 2
    assert [row.name for row in body.legend.rows] == ["x", "y"]
    assert {"a", "b", "1.0", "3.0"} <= set(texts(picture(body)))


def test_points_are_one_number_over_another() -> None:
    merge = [{"id": "merge", "options": {}}]
    targets = [{"refId": ref, "format": "table"} for ref in "AB"]
    (body,) = bodies(dashboard(panel("xychart", targets=targets, transformations=merge)), Answers(TWO))
    assert body.marks == 2 * 601
    assert {"Value #A", "Value #B"} <= set(texts(picture(body)))


def test_an_empty_panel_says_what_it_means() -> None:
    kinds = ["barchart", "bargauge", "heatmap", "stat", "state-timeline", "table", "timeseries", "xychart"]
    said = {"defaults": {"noValue": "idle, or off"}}
    found = bodies(dashboard(*(panel(kind, fieldConfig=said) for kind in kinds)), Answers())
    assert [(body.text, body.empty) for body in found] == [("idle, or off", True)] * len(kinds)
    assert bodies(dashboard(panel("stat")), Answers())[0].text == "No data"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e305])
def test_what_is_no_measurement_is_not_drawn(value: float) -> None:
    (body,) = bodies(dashboard(panel("timeseries")), Answers([series(value, model_name="a")]))
    assert body.kind == "words"


def test_panels_of_a_collapsed_row_are_drawn_below_its_title() -> None:
    row = {"type": "row", "title": "Details", "collapsed": True, "panels": [panel("stat")]}
    shown = page(dashboard(panel("text", options={"content": "words"}, targets=[]), row), Answers(TWO))
    assert shown.index("words") < shown.index("Details") < shown.index("A stat")
    assert "(collapsed in Grafana until opened)" in shown


def test_a_page_says_that_it_is_a_preview_and_what_is_chosen() -> None:
    variable = {"name": "k", "label": "Draft <length>", "type": "custom", "current": {"text": "5", "value": "5"}}
    shown = page(dashboard(panel("stat"), templating={"list": [variable]}), Answers(TWO))
    assert "not Grafana" in shown
    assert "Draft &lt;length&gt;: 5" in shown
    assert 'grid-area: 1 / 1 / span 8 / span 12"' in shown


def test_what_is_marked_on_graphs_is_listed_with_its_time() -> None:
    marks = {"list": [{"name": "Restarts", "expr": "restarts", "titleFormat": "restart {{model_name}}"}]}
    answers = Answers([series(1.0, model_name="<a>"), series(0.0, model_name="b")])
    shown = " ".join(page(dashboard(panel("timeseries"), annotations=marks), answers).split())
    assert "restart &lt;a&gt; 2027-01-15 08:00:00 to 2027-01-15 08:10:00" in shown
    assert "restart b" not in shown


def test_variables_are_put_into_queries_and_annotations() -> None:
    variable = {"name": "m", "type": "query", "allValue": ".*", "current": {"text": "All", "value": "$__all"}}
    marks = {"list": [{"name": "Restarts", "expr": 'restarts{m=~"$m"}', "enable": True}, {"name": "Built in"}]}
    answers = Answers(TWO)
    given = panel("timeseries", targets=[{"expr": 'rate(x{m=~"$m"}[$__rate_interval])'}])
    bodies(dashboard(given, templating={"list": [variable]}, annotations=marks), answers)
    assert answers.asked == ['restarts{m=~".*"}', 'rate(x{m=~".*"}[60s])']


KINDS: dict[str, dict[str, Any]] = {
    "barchart": {"targets": [{"instant": True, "format": "table"}]},
    "bargauge": {},
    "heatmap": {"targets": [{"format": "heatmap"}]},
    "stat": {"options": {"textMode": "value_and_name"}},
    "state-timeline": {},
    "table": {"targets": [{"instant": True, "format": "table"}]},
    "timeseries": {"options": {"legend": {"calcs": ["mean"]}}},
    "xychart": {
        "targets": [{"refId": "A", "format": "table"}, {"refId": "B", "format": "table"}],
        "transformations": [
            {"id": "merge", "options": {}},
            {"id": "partitionByValues", "options": {"fields": ["model_name"]}},
        ],
    },
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_hostile_label_is_shown_as_text_and_nothing_else(kind: str) -> None:
    answers = Answers([series(1.0, model_name=HOSTILE + "\x00\x1b", le="1")])
    of = dashboard(panel(kind, title=HOSTILE, description=HOSTILE, **KINDS[kind]))
    shown = page(of, answers)
    assert "<script" not in shown
    assert "&lt;script&gt;alert(1)" in shown
    for svg in re.findall(r"data:image/svg\+xml;base64,([\w+/=]+)", shown):
        image = base64.b64decode(svg).decode()
        assert "<script" not in image
        assert texts(image)


def test_letters_that_the_drawing_library_lacks_are_left_to_the_browser() -> None:
    (body,) = bodies(dashboard(panel("state-timeline")), Answers([series(1.0, model_name="模型")]))
    assert "模型" in texts(picture(body))


@pytest.mark.parametrize(
    ("panels", "told"),
    [
        ([panel("nodeGraph")], "test: panel 'A nodeGraph': type 'nodeGraph' is none that a preview knows: barchart, "),
        (
            [panel("timeseries", options={"legend": {"calcs": ["variance"]}})],
            "panel 'A timeseries': legend calculation 'variance' is none that a preview knows",
        ),
        ([panel("stat", repeat="job")], "panel 'A stat': is repeated for each 'job', which a preview does not do"),
        ([panel("timeseries", interval="100ms")], "interval '100ms': a preview needs whole seconds"),
    ],
)
def test_what_a_preview_does_not_know_is_named_with_its_panel(panels: list[dict[str, Any]], told: str) -> None:
    with pytest.raises(DraftboardError, match=re.escape(told)):
        bodies(dashboard(*panels), Answers(TWO))


def test_too_many_series_are_no_picture() -> None:
    many = [series(1.0, model_name=str(number)) for number in range(1001)]
    with pytest.raises(DraftboardError, match="query A finds 1001 series, more than 1000"):
        bodies(dashboard(panel("timeseries")), Answers(many))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "not a dashboard of Grafana's classic schema"),
        ('{"uid": "a/../b", "title": "t", "panels": []}', "uid: string should match"),
        (json.dumps(dashboard({"type": 3})), "panels.0.type: input should be a valid string"),
    ],
)
def test_what_is_no_dashboard_is_told_in_one_line(text: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "draftboard-x.json").write_text(text)
    with pytest.raises(DraftboardError, match=re.escape(told)) as raised:
        in_folder(tmp_path)
    assert "\n" not in str(raised.value)
    assert "draftboard-x.json" in str(raised.value)


def test_a_folder_without_dashboards_or_with_two_of_one_uid_is_told(tmp_path: Path) -> None:
    with pytest.raises(DraftboardError, match=r"holds no draftboard-\*.json"):
        in_folder(tmp_path)
    for name in "ab":
        (tmp_path / f"draftboard-{name}.json").write_text(json.dumps(dashboard()))
    with pytest.raises(DraftboardError, match=r"draftboard-b.json: has the uid of .*draftboard-a.json"):
        in_folder(tmp_path)


def test_the_same_answers_give_the_same_page() -> None:
    of = dashboard(*(panel(kind, **more) for kind, more in KINDS.items()))
    assert page(of, Answers(TWO)) == page(of, Answers(TWO))


def run(*arguments: str | Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    with pytest.raises(SystemExit) as ended:
        main(["preview", *map(str, arguments)])
    return int(ended.value.code or 0), capsys.readouterr().err


def test_a_server_that_does_not_answer_is_one_line_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, err = run("--prometheus", "http://127.0.0.1:9", "--out", tmp_path / "out", capsys=capsys)
    assert code == 2
    assert err.count("\n") == 1
    assert "Prometheus gives no answer" in err
    assert not (tmp_path / "out").exists()


def test_what_makes_dashboards_says_nothing_of_those_of_a_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ("--prometheus", "http://127.0.0.1:9", "--out", tmp_path / "out", "--dashboards", tmp_path)
    for option in (("--edition", "raw"), ("--config", "x.toml")):
        code, err = run(*given, *option, capsys=capsys)
        assert (code, "leave them out with --dashboards" in " ".join(err.split())) == (2, True)


def test_without_the_extra_the_command_names_it_and_others_work() -> None:
    block = "import sys; sys.modules['matplotlib'] = None; from draftboard.cli import main; main(sys.argv[1:])"

    def run_without(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-c", block, *arguments], capture_output=True, text=True, check=False)

    done = run_without("preview", "--prometheus", "http://127.0.0.1:9", "--out", "nowhere")
    told = "draftboard: preview needs the package matplotlib: install the extra, pip install 'draftboard[plots]'\n"
    assert (done.returncode, done.stderr) == (2, told)
    assert run_without("signals").returncode == 0


def test_a_document_is_read_without_what_is_not_drawn() -> None:
    read = document.read(dashboard(panel("stat", transparent=False, links=[])), "test")
    assert read.panels[0].title == "A stat"
