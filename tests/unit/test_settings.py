"""A settings file over the defaults, and the message for each mistake."""

from dataclasses import replace
from pathlib import Path

import pytest

from draftboard.alerts import ALERTS, load
from draftboard.durations import Duration
from draftboard.errors import DraftboardError
from draftboard.expr.resolve import either_spelling
from draftboard.rules import recording_groups
from draftboard.settings import Settings


def loaded(tmp_path: Path, text: str) -> Settings:
    path = tmp_path / "draftboard.toml"
    path.write_text(text)
    return load(path)


def test_without_a_file_the_defaults_hold() -> None:
    assert load(None) == Settings()


def test_an_empty_file_changes_nothing(tmp_path: Path) -> None:
    assert loaded(tmp_path, "") == Settings()


def test_naming_one_key_of_a_table_keeps_its_other_defaults(tmp_path: Path) -> None:
    thresholds = loaded(tmp_path, "[thresholds]\ndrop = 0.7").thresholds
    assert thresholds == Settings().thresholds.model_copy(update={"drop": 0.7})


def test_an_alert_s_own_values_are_kept_but_for_those_that_the_file_names(tmp_path: Path) -> None:
    settings = loaded(tmp_path, '[alerts.SpecDecodeNotPaying]\nseverity = "critical"')
    (alert,) = (alert for alert in ALERTS if alert.name == "SpecDecodeNotPaying")
    assert alert.policy(settings) == replace(alert.policy(Settings()), severity="critical")


def test_a_cost_of_one_method_is_added_to_the_others(tmp_path: Path) -> None:
    costs = loaded(tmp_path, "[draft_cost.by_method]\nmine = 0.3").draft_cost.by_method
    assert costs == Settings().draft_cost.by_method | {"mine": 0.3}


@pytest.mark.parametrize(("scrape", "window"), [("15s", "5m"), ("75s", "5m"), ("76s", "5m4s"), ("2m", "8m")])
def test_the_window_is_five_minutes_or_four_scrapes(tmp_path: Path, scrape: str, window: str) -> None:
    settings = loaded(tmp_path, f'[rules]\nscrape_interval = "{scrape}"')
    assert str(settings.rules.rate_window) == window


def test_exactly_four_scrapes_are_enough(tmp_path: Path) -> None:
    settings = loaded(tmp_path, '[rules]\nscrape_interval = "15s"\nwindow = "1m"')
    assert settings.rules.rate_window == Duration(60)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("windw = 1", "unknown key 'windw'; known here: selector, max_draft_tokens, labels,"),
        ("[rules]\nwindow_size = 1", "unknown key 'rules.window_size'; known here: scrape_interval, window,"),
        ('[alerts.NoSuchAlert]\nfor = "1m"', "unknown alert 'NoSuchAlert' in [alerts]: alerts/README.md lists all"),
        (
            '[alerts.VLLMModelsDown]\nfor = "1m"',
            "unknown alert 'VLLMModelsDown' in [alerts]: did you mean VLLMModelDown?",
        ),
        ('[alerts."a b"]\nfor = "1m"', "= 'a b' must be the name of an alert: letters only"),
        (
            '[alerts.SpecDecodeInactive]\nhold = "1m"',
            "unknown key 'alerts.SpecDecodeInactive.hold'; known here: labels,",
        ),
        ("[rules]\nwindow = 5", "rules.window = 5 must be a duration in quotes"),
        ('[rules]\nwindow = "5 minutes"', "rules.window = '5 minutes' must be a duration such as 15s"),
        ('[rules]\nwindow = "-5m"', "rules.window = '-5m' must be a duration such as 15s"),
        ('[rules]\nwindow = "0s"', "rules.window = '0s' must be longer than 0s"),
        ('[rules]\nwindow = "500d"', "rules.window = '500d' must be at most 366d"),
        ('[rules]\nwindow = "59s"', "rules: window = 59s is too short: at least 4 scrapes, so 1m or longer"),
        ('[rules]\nevaluation_interval = "6m"', "rules: evaluation_interval = 6m is too long: at most the window, 5m"),
        ('[rules]\ncompare_with = "2d"', "rules: compare_with = 2d is out of range: from evaluation_interval, 1m, to"),
        ('[labels]\njob = "instance"', "labels: names the label 'instance' twice"),
        ('[labels]\nscope = ["a", "a"]', "labels: names the label 'a' twice"),
        ('[labels]\nengine = "9"', "labels.engine = '9' must be a label name"),
        ('[labels]\nengine = "__name__"', "labels.engine = '__name__' must be a label name"),
        ('[labels]\nvariant = "position"', "labels.variant = 'position' is a label name that records, vLLM or"),
        ("selector = 'job'", "selector = 'job' must be label matchers such as"),
        ("selector = 'job=~\"(\"'", "selector = 'job=~\"(\"' has a regular expression that does not compile"),
        ("selector = 'job=~\"(?=x)\"'", "selector = 'job=~\"(?=x)\"' may use only letters"),
        ("max_draft_tokens = 0", "max_draft_tokens = 0 is not allowed: input should be greater than or equal to 1"),
        ("max_draft_tokens = 2.5", "max_draft_tokens = 2.5 is not allowed: input should be a valid integer"),
        ("max_draft_tokens = true", "max_draft_tokens = True is not allowed"),
        ("[draft_cost]\ndefault = nan", "draft_cost.default = nan is not allowed: input should be a finite number"),
        ("[draft_cost.by_method]\nx = -0.1", "draft_cost.by_method.x = -0.1 is not allowed"),
        ('[draft_cost.by_method]\n"a b" = 0.1', "must be a method name: letters, digits, _ and -"),
        ("[thresholds]\ndrop = 1.0", "thresholds.drop = 1.0 is not allowed: input should be less than 1"),
        ("[thresholds.acceptance]\nfair = 0.9", "thresholds.acceptance: must rise: fair < healthy < optimal"),
        ("[thresholds]\npays_clearly = 1.0", "thresholds: pays_clearly must be over 1, the break-even"),
        (
            '[alerts.SpecDecodeInactive]\nseverity = "page"',
            "alerts.SpecDecodeInactive.severity = 'page' is not allowed",
        ),
        (
            '[all_alerts]\nlabels = { severity = "critical" }',
            "all_alerts.labels.severity.[key] = 'severity' is a label name that records, vLLM or dashboards use",
        ),
        (
            '[all_alerts]\nlabels = { cluster = "eu" }',
            "settings: all_alerts.labels names 'cluster', which tells servers apart: choose another label",
        ),
        (
            '[labels]\nhost = "box"\n[alerts.VLLMErrors]\nlabels = { box = "1" }',
            "settings: alerts.VLLMErrors.labels names 'box', which tells servers apart",
        ),
        ('[all_alerts]\nlabels = { "a-b" = "1" }', "must be a label name: letters, digits and _"),
        ('[all_alerts]\nlabels = { team = "" }', "all_alerts.labels.team = '' must be one line of 1 to 1000"),
        ('[all_alerts]\nannotations = { a = "1\\n2" }', "all_alerts.annotations.a = '1\\n2' must be one line"),
        ("[all_alerts]\nenabled = false", "unknown key 'all_alerts.enabled'; known here: labels, annotations"),
        ('[alerts.VLLMErrors]\nenabled = "no"', "alerts.VLLMErrors.enabled = 'no' is not allowed"),
        ('[rules]\nquery_offset = "-1m"', "rules.query_offset = '-1m' must be a duration such as 15s"),
        ('[links]\ngrafana = "grafana"', "links.grafana = 'grafana' must be an http(s) address"),
        ('[links]\ngrafana = "http://g/"', "links.grafana = 'http://g/' must be an http(s) address"),
        ("rules = 1", "rules = 1 is not allowed: must be a table of settings"),
        ("[thresholds]\nacceptance = 0.5", "thresholds.acceptance = 0.5 is not allowed: must be a table of settings"),
        ('[labels]\nscope = "cluster"', "labels.scope = 'cluster' is not allowed: must be a list in brackets"),
        ("selector = 'model_name=\"x\"'", "selector names 'model_name', which targets do not carry"),
        ('[labels]\nvariant = "series"', "labels.variant = 'series' is a label name that records, vLLM or"),
        (
            "[slo]\ntime_to_first_token = { objective = 0.99, threshold_seconds = 2 }",
            (
                "settings: slo.time_to_first_token.threshold_seconds = 2 is not a bucket bound of "
                "vllm:time_to_first_token_seconds: the nearest are 1 and 2.5; take one, or declare the servers' bounds "
                "in buckets.time_to_first_token"
            ),
        ),
        (
            "[slo]\ntime_per_output_token = { objective = 0.99, threshold_seconds = 0.001 }",
            "the nearest are 0.01 and 0.025;",
        ),
        ("[slo]\nend_to_end = { objective = 0.95, threshold_seconds = 9000 }", "the nearest are 1920 and 7680;"),
        ("[slo]\nend_to_end.objective = 1.0", "slo.end_to_end.objective = 1.0 is not allowed: input should be less"),
        ('[slo]\nwindow = "3d"', "slo: window = 3d is too short: longer than 3d, the longest burn rate"),
        ("[slo]\nend_to_end.objective = 0.95", "slo.end_to_end.threshold_seconds is missing and has no default"),
        ("[slo]\nend_to_end.threshold_seconds = 60", "slo.end_to_end.objective is missing and has no default"),
        ("[slo.errors]\nobjective = 0.9\nthreshold_seconds = 60", "unknown key 'slo.errors.threshold_seconds'"),
        ("[slo]\nlatency.objective = 0.95", "unknown key 'slo.latency'"),
        ("[slo]\nleast_bad_events = 0", "slo.least_bad_events = 0 is not allowed"),
        ("[buckets]\nrequest_latency = [1, 1]", "buckets: request_latency must rise, each bound once"),
        ("[buckets]\nrequest_latency = [0]", "is not allowed: input should be greater than 0"),
        (
            "[buckets]\nrequest_latency = [1, 2]\n[slo]\nend_to_end = { objective = 0.95, threshold_seconds = 60 }",
            "slo.end_to_end.threshold_seconds = 60 is not a bucket bound",
        ),
        ('[rules]\nwindow = "1h"', "rules: window = 1h is too long: shorter than 30m, the shortest burn rate's"),
        ('[rules]\nscrape_interval = "5m"', "rules: scrape_interval = 5m is too long: shorter than 5m, after which"),
        ("[thresholds]\ntail = 1", "thresholds: tail must be over 1, no change"),
        ('[labels]\nhost = "instance"', "labels: names the label 'instance' twice"),
        ("[rules", "not valid TOML:"),
        ("a = 1\na = 2", "not valid TOML:"),
    ],
)
def test_a_mistake_is_one_line_that_names_the_key_the_value_and_what_is_allowed(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(DraftboardError) as raised:
        loaded(tmp_path, text)
    error = str(raised.value)
    assert error.startswith(f"{tmp_path / 'draftboard.toml'}: ")
    assert message in error
    assert "\n" not in error
    assert len(error) - len(str(tmp_path)) < 900


def test_a_threshold_may_be_any_bound_that_the_servers_were_given(tmp_path: Path) -> None:
    objective = "[slo.time_per_output_token]\nobjective = 0.9\nthreshold_seconds = 0.02"
    text = f"[buckets]\ninter_token_latency = [0.004, 0.02]\n{objective}"
    assert loaded(tmp_path, text).slo.thresholds == {"time_per_output_token": 0.02}


def test_a_bound_is_written_in_full(tmp_path: Path) -> None:
    bounds = (
        "[buckets]\nrequest_latency = [0.01666667, 100000]\n[slo.end_to_end]\nobjective = 0.9\nthreshold_seconds = "
    )
    for bound, spelled in (("0.01666667", "0.01666667"), ("100000", "100000|100000[.]0")):
        assert either_spelling(loaded(tmp_path, bounds + bound).slo.thresholds["end_to_end"]) == spelled


def test_no_objective_holds_until_it_is_declared(tmp_path: Path) -> None:
    assert loaded(tmp_path, "").slo.declared == {}
    assert list(loaded(tmp_path, "[slo.errors]\nobjective = 0.999").slo.declared) == ["errors"]


def test_without_an_objective_the_servers_may_have_any_bounds(tmp_path: Path) -> None:
    assert loaded(tmp_path, "[buckets]\nrequest_latency = [7]").buckets.request_latency == (7,)


def test_several_mistakes_are_counted(tmp_path: Path) -> None:
    with pytest.raises(DraftboardError, match=r"\(and 1 more\)$"):
        loaded(tmp_path, "x = 1\ny = 2")


@pytest.mark.parametrize(
    "content", [b"\xff\xfe", b"\x00" * 10, b"x" * 1_000_001], ids=["not UTF-8", "NUL", "too large"]
)
def test_a_file_that_is_not_toml_is_one_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "draftboard.toml"
    path.write_bytes(content)
    with pytest.raises(DraftboardError, match=r"not valid TOML|exceeds"):
        load(path)


def test_deeply_nested_tables_are_one_error(tmp_path: Path) -> None:
    with pytest.raises(DraftboardError):
        loaded(tmp_path, "x = " + "[" * 100_000)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DraftboardError, match=r"nowhere\.toml: cannot read the settings file: No such file"):
        load(tmp_path / "nowhere.toml")


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DraftboardError, match="cannot read the settings"):
        load(tmp_path)


@pytest.mark.parametrize("text", ["15s", "5m", "1h30m", "1d", "2d4h", "1m15s"])
def test_durations_print_as_they_are_read(text: str) -> None:
    assert str(Duration.parse(text)) == text


def test_a_cost_that_is_set_to_its_default_is_another_setting_with_other_rules() -> None:
    """What is made of settings is remembered by their values, whichever were made before."""
    assumed, given = Settings(), Settings.model_validate({"draft_cost": {"default": Settings().draft_cost.default}})
    assert assumed != given
    assert recording_groups(assumed) != recording_groups(given)
    assert recording_groups(assumed) == recording_groups(Settings())
    assert given == Settings.model_validate(given.model_dump(exclude_unset=True))
