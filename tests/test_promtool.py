"""The rules before a real promtool: its lint, and the cases of every record and alert."""

import copy
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from draftboard.build import render, write
from draftboard.build.files import ALERTING, RECORDING
from draftboard.expr.scope import Level, Scope
from draftboard.expr.to_promql import promql_of
from draftboard.rulers import RULERS, Ruler
from draftboard.settings import Settings, load
from draftboard.signals import events
from support import cases, crowds
from support.rulefiles import groups as all_groups
from support.rulefiles import loaded, needed, rules

pytestmark = pytest.mark.prometheus

ROOT = Path(__file__).parent.parent
PATHS = cases.paths()
WITH_KEYS_OF_THEIR_OWN: set[Ruler] = {"thanos", "vmalert"}
# Their value is 1 or absent: there is no boundary to stand on.
WITHOUT_A_BOUNDARY = {"SpecDecodeMetricsMissing", "DraftboardWatchdog"}


def run(*command: object) -> None:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_rule_files_pass_every_lint(promtool: Path, tested: dict[str, str], tmp_path: Path) -> None:
    for path, text in tested.items():
        (tmp_path / Path(path).name).write_text(text)
    run(promtool, "check", "rules", "--lint=all", "--lint-fatal", *sorted(tmp_path.iterdir()))


def test_the_committed_rules_are_those_tested_without_those_on_objectives(tested: dict[str, str]) -> None:
    committed = rules({path: (ROOT / path).read_text() for path in tested})
    assert [rule for rule in rules(tested) if rule in committed] == committed
    left_out = [rule.get("record") or rule["alert"] for rule in rules(tested) if rule not in committed]
    assert [name for name in left_out if not re.match("service:vllm_sl[oi]_|VLLMErrorBudget", name)] == []


def test_rules_that_look_back_and_carry_more_labels_pass_too(promtool: Path, tmp_path: Path) -> None:
    texts = {"labels": {"team": "{{ $labels.job }}"}, "annotations": {"desk": "'a': \"b\" # {c}"}}
    document = {"rules": {"query_offset": "1m"}, "all_alerts": texts, "links": {"grafana": "https://g.example"}}
    built = render(Settings.model_validate(document))
    paths = [path for path in built if path.endswith(".rules.yaml")]
    write({path: built[path] for path in paths}, tmp_path)
    run(promtool, "check", "rules", "--lint=all", "--lint-fatal", *(tmp_path / path for path in paths))


@pytest.mark.parametrize("ruler", RULERS)
def test_rules_for_each_ruler_are_prometheus_rules_with_keys_of_its_own(
    ruler: Ruler, promtool: Path, tmp_path: Path
) -> None:
    made = render(Settings.model_validate({"rules": {"ruler": ruler}}))
    for path in (RECORDING, ALERTING):
        document = loaded(made[path])
        file = tmp_path / Path(path).name
        file.write_text(json.dumps(document.get("spec", document)))
        run(promtool, "check", "rules", *("--ignore-unknown-fields",) * (ruler in WITH_KEYS_OF_THEIR_OWN), file)


@pytest.fixture(scope="module")
def tested(settings: Settings) -> dict[str, str]:
    """The committed rules and those on objectives, which have no record until they are declared."""
    return {path: render(settings)[path] for path in (RECORDING, ALERTING)}


@pytest.fixture(scope="module")
def with_costs(settings: Settings) -> dict[str, str]:
    """The rules where costs are set."""
    costs = load(cases.FOLDER / "costs.toml").draft_cost
    built = render(settings.model_copy(update={"draft_cost": costs}))
    return {path: built[path] for path in (RECORDING, ALERTING)}


OF_ALL, OF_QUICK, OF_LONG = (
    pytest.mark.parametrize("path", paths, ids=lambda path: path.name.removesuffix(".cases.yaml"))
    for paths in (PATHS, cases.paths_with(long=False), cases.paths_with(long=True))
)


@OF_QUICK
def test_cases(path: Path, promtool: Path, tested: dict[str, str], with_costs: dict[str, str], tmp_path: Path) -> None:
    as_expected(path, promtool, with_costs if cases.sets_costs(path) else tested, tmp_path, long=False)


@pytest.mark.long
@OF_LONG
def test_long_cases(
    path: Path, promtool: Path, tested: dict[str, str], with_costs: dict[str, str], tmp_path: Path
) -> None:
    as_expected(path, promtool, with_costs if cases.sets_costs(path) else tested, tmp_path, long=True)


def as_expected(path: Path, promtool: Path, tested: dict[str, str], folder: Path, *, long: bool) -> None:
    """promtool evaluates every rule at every time, so it gets those alone that the cases of the file ask for."""
    document = cases.read(path)
    chosen = {name: text for name, text in tested.items() if name in document["rule_files"]}
    (folder / "rules.yaml").write_text(json.dumps({"groups": needed(chosen, cases.text(document))}))
    document = document | {"tests": [case for case in document["tests"] if case.get("long", False) is long]}
    assert document["tests"]

    def failure(tests: list[dict[str, Any]]) -> str:
        file = folder / path.name
        file.write_text(cases.for_promtool(document | {"tests": tests}, "rules.yaml", all_groups(tested)))
        done = subprocess.run([promtool, "test", "rules", file], capture_output=True, text=True, check=False)
        return done.stdout + done.stderr if done.returncode else ""

    if failed := failure(document["tests"]):  # promtool names the case of a failed alert, and of a failed query none
        each = {cases.where(path, case["name"]): failure([case]) for case in document["tests"]}
        pytest.fail("\n".join(f"{name}\n{said}" for name, said in each.items() if said) or failed, pytrace=False)


def test_a_dead_target_that_leaves_between_two_groups_of_rules_does_not_count_as_up(
    promtool: Path, tested: dict[str, str], tmp_path: Path
) -> None:
    """`up` ends before the rule that knows the target is evaluated again: its model is not up for a minute."""
    name = "service:vllm_servers_down:ratio"
    (rule,) = (rule for rule in rules(tested, "record") if rule["record"] == name)
    target = 'job="vllm",instance="a:8000"'
    series = {f"up{{{target}}}": "0x2 stale", f'target:vllm_known:bool{{{target},model_name="m"}}': "1x3"}
    query = {"expr": f"count_over_time({name}[4m])", "eval_time": "3m"}
    down = {"expr": f"min_over_time({name}[4m])", "eval_time": "3m"}
    labels = '{job="vllm",model_name="m"}'
    test = {
        "interval": "1m",
        "input_series": [{"series": one, "values": values} for one, values in series.items()],
        "promql_expr_test": [
            query | {"exp_samples": [{"labels": labels, "value": 3}]},
            down | {"exp_samples": [{"labels": labels, "value": 1}]},
        ],
    }
    (tmp_path / "rules.yaml").write_text(json.dumps({"groups": [{"name": "after", "rules": [rule]}]}))
    (tmp_path / "test.yaml").write_text(json.dumps({"rule_files": ["rules.yaml"], "tests": [test]}))
    run(promtool, "test", "rules", tmp_path / "test.yaml")


@pytest.mark.parametrize(
    ("firing", "rows"),
    [
        ((), ["no alerting rules are loaded: run draftboard doctor"]),
        (("DraftboardWatchdog",), ["nothing fires; the rules are loaded"]),
        (("DraftboardSamplesStopped",), [" "]),
        (("DraftboardSamplesStopped", "DraftboardWatchdog"), [" "]),
    ],
)
def test_the_list_of_alerts_says_of_rules_what_alerts_that_fire_prove(
    firing: tuple[str, ...], rows: list[str], promtool: Path, settings: Settings, tmp_path: Path
) -> None:
    """The watchdog rests on samples: it is silent where they stop, and another alert fires."""
    listed = promql_of(events.alert_severity, Scope(settings, Level.FLEET))
    query = f"count by (about) ({listed})"
    expected = [{"labels": f'{{about="{row}"}}', "value": 1} for row in rows]
    series = [
        {"series": f'ALERTS{{alertname="{name}",alertstate="firing",severity="critical"}}', "values": "1"}
        for name in firing
    ]
    case = {"input_series": series, "promql_expr_test": [{"expr": query, "exp_samples": expected}]}
    (tmp_path / "test.yaml").write_text(json.dumps({"tests": [case]}))
    run(promtool, "test", "rules", tmp_path / "test.yaml")


@pytest.mark.long
@OF_ALL
def test_series_of_another_cluster_namespace_or_job_change_no_answer(
    path: Path, promtool: Path, tested: dict[str, str], with_costs: dict[str, str], tmp_path: Path
) -> None:
    tested = with_costs if cases.sets_costs(path) else tested
    for crowd in (crowd for label in crowds.LABELS for crowd in crowds.together(path, label)):
        chosen = {name: text for name, text in tested.items() if name in crowd["rule_files"]}
        (tmp_path / "rules.yaml").write_text(json.dumps({"groups": needed(chosen, cases.text(crowd))}))
        (tmp_path / "test.yaml").write_text(cases.for_promtool(crowd, "rules.yaml", all_groups(tested)))
        run(promtool, "test", "rules", tmp_path / "test.yaml")


@pytest.fixture(scope="module")
def of_teams() -> dict[str, str]:
    """The files of settings whose scope has one label more."""
    return {**render(Settings.model_validate({"labels": {"scope": ["cluster", "namespace", "team"]}}))}


@pytest.mark.parametrize("alert", ["SpecDecodeInactive", "VLLMModelDown", "VLLMHTTPErrors"])
def test_a_label_of_the_scope_reaches_alerts(
    alert: str, promtool: Path, of_teams: dict[str, str], tmp_path: Path
) -> None:
    document = copy.deepcopy(cases.read(cases.FOLDER / f"alert-{alert}.cases.yaml"))
    document["tests"] = [case for case in document["tests"] if not case.get("long")]
    for case in document["tests"]:
        for series in case["input_series"]:
            series["series"] = series["series"].replace("{", '{team="blue",')
        for expected in (one for test in case.get("alert_rule_test", ()) for one in test["exp_alerts"]):
            expected["exp_labels"]["team"] = "blue"
        case.pop("promql_expr_test", None)
    chosen = {name: of_teams[name] for name in document["rule_files"]}
    (tmp_path / "rules.yaml").write_text(json.dumps({"groups": needed(chosen, cases.text(document))}))
    (tmp_path / "test.yaml").write_text(cases.for_promtool(document, "rules.yaml", all_groups(chosen)))
    run(promtool, "test", "rules", tmp_path / "test.yaml")


@pytest.fixture(scope="module")
def groups() -> list[dict[str, Any]]:
    """All groups of cases, each of which has a name."""
    found = [(path.name, group) for path in PATHS for group in cases.read(path)["tests"]]
    assert [path for path, group in found if not group.get("name")] == []
    return [group for _, group in found]


def test_every_record_and_alert_has_cases(groups: list[dict[str, Any]], files: dict[str, str]) -> None:
    asked = "\n".join(
        text
        for group in groups
        for text in (
            *(case["alertname"] for case in group.get("alert_rule_test", [])),
            *(case["expr"] for case in group.get("promql_expr_test", [])),
            *(s["labels"] for case in group.get("promql_expr_test", []) for s in case.get("exp_samples") or []),
        )
    )
    missing = {name for rule in rules(files) if (name := rule.get("record") or rule["alert"]) not in asked}
    assert missing == set(), "give each a case in tests/rules"


def test_cases_that_are_not_long_ask_for_every_record_and_fire_every_alert(
    groups: list[dict[str, Any]], files: dict[str, str]
) -> None:
    quick = [group for group in groups if not group.get("long")]
    asked = cases.text({"tests": quick})
    alerts = [case for group in quick for case in group.get("alert_rule_test", [])]
    fire, do_not = (
        {case["alertname"] for case in alerts if bool(case.get("exp_alerts")) is it} for it in (True, False)
    )
    every = {rule["alert"] for rule in rules(files, "alert")}
    assert (every - fire, every - do_not) == (set(), set())
    assert [rule["record"] for rule in rules(files, "record") if rule["record"] not in asked] == []


def test_every_alert_has_a_firing_case_and_quiet_ones_at_its_boundary_and_at_rest(
    groups: list[dict[str, Any]], files: dict[str, str]
) -> None:
    cases = [
        (case["alertname"], bool(case.get("exp_alerts")), group["name"])
        for group in groups
        for case in group.get("alert_rule_test", [])
    ]
    alerts = {rule["alert"] for rule in rules(files, "alert")}
    assert {name for name, fires, _ in cases if fires} == alerts, "a case in which it fires"
    assert {name for name, fires, _ in cases if not fires} == alerts, "a case in which it does not"
    at_rest = {name for name, fires, group in cases if not fires and "idle" in group}
    assert at_rest == alerts, 'a quiet case in a group with "idle" in its name'
    at_boundary = {name for name, fires, group in cases if not fires and "exactly" in group}
    assert at_boundary == alerts - WITHOUT_A_BOUNDARY, 'a quiet case in a group with "exactly" in its name'
