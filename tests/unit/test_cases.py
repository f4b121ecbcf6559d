"""Tables of cases: what promtool gets of them, and how a mistake in one is reported."""

from pathlib import Path
from typing import Any

import pytest

from support import cases

TABLES = """
alert: VLLMErrors
names:
  labelled: cluster=c1 variant=A
labels:
  input_series: {"*": job=vllm, "vllm:*": engine=0}
  promql_expr_test: job=vllm
  alert_rule_test: job=vllm severity=warning
tests:
- name: first
  interval: 15s
  input_series: |
    series               | drafts  | running  # a head: each column is a series
    # Two servers that differ in one label.
    model_name=m,"m 2"   | 0+6x10  | 1x5, 2x5
    labelled engine=     |         | 3*(1 stale) 2

    up instance=a,b      | 1x10, 0x10
  promql_expr_test: |
    5m, 6m: model:vllm_x:ratio
      model_name=m       | 1 | 0.5
      labelled           |   | 2
    7m: sum(up{job=~"a|b"} > \\
        0) | none
    8m: up
    8m: vector(1)
      series | instance=a | instance=b
      model_name= | 1         |
  alert_rule_test: |
    1m: none; 2m, 3m: fires variant=A
    4m VLLMTargetDown:
      instance=a,b
- name: "second: in promtool's form"
  input_series: []
"""


def series(document: dict[str, Any]) -> dict[str, str]:
    return {one["series"]: one["values"] for one in document["tests"][0]["input_series"]}


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(cases, "ROOT", tmp_path)
    return tmp_path / "alert-VLLMErrors.cases.yaml"


def test_a_cell_is_the_series_that_row_and_head_select(path: Path) -> None:
    path.write_text(TABLES)
    assert series(cases.read(path)) == {
        'vllm:spec_decode_num_drafts_total{job="vllm",engine="0",model_name="m"}': "0+6x10",
        'vllm:spec_decode_num_drafts_total{job="vllm",engine="0",model_name="m 2"}': "0+6x10",
        'vllm:num_requests_running{job="vllm",engine="0",model_name="m"}': "1x5",
        'vllm:num_requests_running{job="vllm",engine="0",model_name="m 2"}': "2x5",
        'vllm:num_requests_running{job="vllm",cluster="c1",variant="A"}': "1 stale 1 stale 1 stale 2",
        'up{job="vllm",instance="a"}': "1x10",
        'up{job="vllm",instance="b"}': "0x10",
    }


def test_queries_are_the_columns_of_their_rows(path: Path) -> None:
    path.write_text(TABLES)
    found = cases.read(path)["tests"][0]["promql_expr_test"]
    assert [(test["eval_time"], test["expr"], test["exp_samples"]) for test in found] == [
        ("5m", "model:vllm_x:ratio", [{"labels": 'model:vllm_x:ratio{job="vllm",model_name="m"}', "value": 1.0}]),
        (
            *("6m", "model:vllm_x:ratio"),
            [
                {"labels": 'model:vllm_x:ratio{job="vllm",model_name="m"}', "value": 0.5},
                {"labels": 'model:vllm_x:ratio{job="vllm",cluster="c1",variant="A"}', "value": 2.0},
            ],
        ),
        ("7m", 'sum(up{job=~"a|b"} > 0)', []),
        ("8m", "up", [{"labels": 'up{job="vllm",instance="a"}', "value": 1.0}]),
        ("8m", "vector(1)", [{"labels": '{job="vllm",instance="a"}', "value": 1.0}]),
    ]


def test_alerts_are_those_that_fire_at_a_time(path: Path) -> None:
    path.write_text(TABLES)
    fires = [{"exp_labels": {"job": "vllm", "severity": "warning", "variant": "A"}}]
    down = [{"exp_labels": {"job": "vllm", "severity": "warning", "instance": name}} for name in "ab"]
    found = cases.read(path)["tests"][0]["alert_rule_test"]
    assert [(test["eval_time"], test["alertname"], test["exp_alerts"]) for test in found] == [
        ("1m", "VLLMErrors", []),
        ("2m", "VLLMErrors", fires),
        ("3m", "VLLMErrors", fires),
        ("4m", "VLLMTargetDown", down),
    ]


def test_a_case_is_named_with_its_file_and_line(path: Path) -> None:
    path.write_text(TABLES)
    name = "second: in promtool's form"
    line = TABLES[: TABLES.index('- name: "second')].count("\n") + 1
    assert cases.where(path, name) == f"alert-VLLMErrors.cases.yaml:{line}: {name}"


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("| 1 | 0.5", "| 1", ""),  # a single value counts for both times
        ("| 1 | 0.5", "| 1 | 2 | 3", "'model_name=m' has 3 cells instead of 2"),
        ("| 1x5, 2x5", "| 1x5, 2x5, 3x5", "'1x5, 2x5, 3x5' has 3 values for 2 series"),
        ("| 0+6x10  |", "|", "'model_name=m,\"m 2\"' has 1 cells instead of 2"),
        (
            "      series | instance=a | instance=b\n      model_name= | 1         |",
            "",
            "8m: vector(1): neither a sample nor none",
        ),
        ("1m: none;", "1m:;", "1m: neither what fires nor none"),
        ('m,"m 2"', "m,m", "is given twice: a label of a name goes before that of a row"),
        ("| 1 | 0.5", "| 1 | many", "could not convert string to float: 'many'"),
    ],
)
def test_a_row_that_cannot_be_read_is_reported_with_its_case(path: Path, old: str, new: str, says: str) -> None:
    assert old in TABLES
    path.write_text(TABLES.replace(old, new, 1))
    if not says:
        cases.read(path)
        return
    with pytest.raises(ValueError, match=r"^alert-VLLMErrors\.cases\.yaml:10: first: ") as raised:
        cases.read(path)
    assert says in str(raised.value)


def test_lines_of_cases_fit_the_width_of_the_code() -> None:
    lines = [
        (f"{path.name}:{at}", line) for path in cases.paths() for at, line in enumerate(path.read_text().split("\n"), 1)
    ]
    places = [place for place, line in lines if len(line) > 120]
    assert places == []
