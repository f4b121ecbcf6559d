"""The rule files against Prometheus' practices and pint's offline checks."""

import re
from pathlib import Path

import promql_parser
import pytest

from draftboard.rules.alerts import ALERTS
from draftboard.settings import Settings
from support import catalogue
from support.rulefiles import Rule, groups, nodes, rules

ROOT = Path(__file__).parent.parent.parent
OWN_LABELS = {"position", "accepted", "k", "identity", "state"} | {
    *("le", "finished_reason", "reason", "source", "status", "slo"),
}
# Divisors that cannot be 0, so that they need no guard.
NEVER_ZERO = {
    "model:vllm_spec_decode_expected_speedup:ratio_rate5m": "break-even is at least the verify inflation, over 0",
    "model:vllm_spec_decode_speedup_at:ratio_rate5m": "k x c + v is at least v, over 0",
    "engine:vllm_spec_decode_acceptance_length_to_others:ratio_rate5m": "a mean acceptance length is at least 1",
    "model:vllm_measured_speedup:ratio_rate5m": "the baseline's requests are over a minimum, itself over 0",
    "model:vllm_slo_budget_left:ratio_rate30d": "an objective is under 1, so that its budget is over 0",
}
READ_EACH_OTHER = "records that read each other must be evaluated in order, in one group"
LONG_GROUPS = {"draftboard-speculation": READ_EACH_OTHER, "draftboard-requests": READ_EACH_OTHER}
# Alerts whose subject is silence itself, so that no traffic is asked for.
UNGUARDED = {
    *("SpecDecodeMetricsMissing", "VLLMTargetDown", "VLLMRestarted", "VLLMQueueGrowing", "DraftboardWatchdog"),
}


def by_kind(files: dict[str, str], kind: str) -> list[Rule]:
    return [rule for rule in rules(files) if kind in rule]


def test_groups_are_named_apart_and_not_longer_than_twenty_rules_without_a_reason(files: dict[str, str]) -> None:
    names = [group["name"] for group in groups(files)]
    assert len(names) == len(set(names))
    long = {group["name"] for group in groups(files) if len(group["rules"]) > 20}
    assert long == set(LONG_GROUPS)


def test_groups_are_evaluated_at_least_every_five_minutes(files: dict[str, str], settings: Settings) -> None:
    assert {group["interval"] for group in groups(files)} == {str(settings.rules.evaluation_interval)}
    assert settings.rules.evaluation_interval.seconds <= 300


def test_records_are_named_level_metric_operations(files: dict[str, str]) -> None:
    for rule in by_kind(files, "record"):
        assert re.fullmatch(
            r"(engine|model|target):vllm_[a-z0-9_]+:[a-z0-9_]+|fleet:draftboard_heartbeat:bool", rule["record"]
        ), rule["record"]


def test_no_record_is_made_twice(files: dict[str, str]) -> None:
    made = [rule["record"] for rule in by_kind(files, "record")]
    assert len(made) == len(set(made))


def test_a_record_reads_only_records_made_before_it_in_its_group(files: dict[str, str]) -> None:
    for group in groups(files):
        made: set[str] = set()
        for rule in (rule for rule in group["rules"] if "record" in rule):
            read = {selector.name for selector in nodes(rule["expr"], promql_parser.VectorSelector)}
            records = {name for name in read if name.count(":") == 2}
            assert records <= made, rule["record"]
            assert read - records <= set(catalogue.series()), rule["record"]
            made.add(rule["record"])


def test_alerts_read_records_and_nothing_else(files: dict[str, str]) -> None:
    made = {rule["record"] for rule in by_kind(files, "record")}
    for rule in by_kind(files, "alert"):
        assert {selector.name for selector in nodes(rule["expr"], promql_parser.VectorSelector)} <= made, rule["alert"]


def test_the_level_in_a_record_s_name_is_what_its_expression_keeps(files: dict[str, str], settings: Settings) -> None:
    levels = {
        "engine": settings.labels.engine_level,
        "model": settings.labels.model_level,
        "target": settings.labels.target_level,
    }
    for rule in by_kind(files, "record"):
        level = rule["record"].partition(":")[0]
        for aggregation in nodes(rule["expr"], promql_parser.AggregateExpr):
            if aggregation.modifier.type == promql_parser.AggModifierType.By:
                kept = set(aggregation.modifier.labels) - OWN_LABELS - {"reached"}
                # A server that was never seen has a target and nothing else.
                allowed = [set(levels[level])] + ([set(levels["target"])] if "state" in rule["record"] else [])
                # A baseline is shared by all arms of its model.
                shared = {*settings.labels.scope, settings.labels.model_name}
                allowed += [shared] if "measured_speedup" in rule["record"] else []
                assert kept in allowed, rule["record"]
            else:
                assert set(aggregation.modifier.labels) <= OWN_LABELS, rule["record"]
        read = {
            s.name.partition(":")[0]
            for s in nodes(rule["expr"], promql_parser.VectorSelector)
            if s.name.count(":") == 2
        }
        allowed_levels = {"engine", "model"} if level == "engine" else {"engine", level}
        assert read <= allowed_levels, rule["record"]


def test_counters_are_read_only_as_rates_and_resets_or_asked_whether_they_are_there(files: dict[str, str]) -> None:
    counters = set(catalogue.counters())
    for rule in rules(files):
        used = [s.name for s in nodes(rule["expr"], promql_parser.VectorSelector) if s.name in counters]
        under = [
            argument.vector_selector.name
            for call in nodes(rule["expr"], promql_parser.Call)
            if call.func.name in {"rate", "resets", "last_over_time"}
            for argument in call.args
            if argument.vector_selector.name in counters
        ]
        assert sorted(used) == sorted(under), rule


def test_rates_and_restarts_have_the_windows_of_the_settings(files: dict[str, str], settings: Settings) -> None:
    for rule in rules(files):
        for call in nodes(rule["expr"], promql_parser.Call):
            if call.func.name == "rate":
                assert call.args[0].range.total_seconds() == settings.rules.rate_window.seconds
            if call.func.name in {"resets", "changes"}:
                assert call.args[0].range.total_seconds() == settings.rules.remember.seconds


def test_every_division_is_guarded_or_its_divisor_is_never_zero(files: dict[str, str]) -> None:
    bare = set()
    for rule in by_kind(files, "record"):
        for division in nodes(rule["expr"], promql_parser.BinaryExpr):
            if str(division.op) == "/" and not is_over_zero(division.rhs):
                bare.add(rule["record"])
    assert bare == set(NEVER_ZERO)


def is_over_zero(expr: object) -> bool:
    """Whether an expression is `(... > 0)`."""
    while isinstance(expr, promql_parser.ParenExpr):
        expr = expr.expr
    return isinstance(expr, promql_parser.BinaryExpr) and str(expr.op) == ">" and str(expr.rhs) == "0"


def test_no_regular_expression_where_an_equality_would_do(files: dict[str, str]) -> None:
    for rule in rules(files):
        for selector in nodes(rule["expr"], promql_parser.VectorSelector):
            for matcher in selector.matchers.matchers:
                if matcher.op in (promql_parser.MatchOp.Re, promql_parser.MatchOp.NotRe):
                    assert re.search(r"[.*|\[\]?]", matcher.value), (rule, matcher.value)
                    assert not matcher.value.startswith(("^", ".*")), matcher.value


def test_alerts_sample_nothing_at_random(files: dict[str, str]) -> None:
    for rule in by_kind(files, "alert"):
        operators = {str(node.op) for node in nodes(rule["expr"], promql_parser.AggregateExpr)}
        assert not operators & {"topk", "bottomk", "limitk"}


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert.name)
def test_an_alert_tells_a_person_what_to_do(alert, files: dict[str, str], settings: Settings) -> None:  # noqa: ANN001
    rule = next(rule for rule in by_kind(files, "alert") if rule["alert"] == alert.name)
    assert re.fullmatch(r"(SpecDecode|VLLM|Draftboard)[A-Z]\w+", rule["alert"])
    assert rule["labels"].keys() == {"severity"}
    assert rule["labels"]["severity"] in {"critical", "warning", "info"}
    assert re.fullmatch(r"\d+[mh]", rule["for"])
    assert 60 <= getattr(settings.alerts, alert.name).hold.seconds <= 3600
    summary, description = rule["annotations"]["summary"], rule["annotations"]["description"]
    assert summary[0].isupper()
    assert summary.endswith(".")
    assert "{{" not in summary
    assert description.endswith(".")
    if alert.operator != "==":
        assert re.search(r"\{\{ \$value \| (humanize\w*|printf .+) \}\}", description)
    named = set(re.findall(r"\$labels\.(\w+)", description + rule["annotations"]["dashboard_url"]))
    carried = {*alert.level.labels(settings), *alert.signal.by}
    assert named <= carried
    assert any(re.search(operator, rule["expr"]) for operator in ("<", ">", "=="))


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert.name)
def test_an_alert_has_a_runbook_and_its_link_leads_there(alert, files: dict[str, str]) -> None:  # noqa: ANN001
    rule = next(rule for rule in by_kind(files, "alert") if rule["alert"] == alert.name)
    name = rule["annotations"]["runbook_url"].rpartition("/")[2]
    text = (ROOT / "alerts/runbooks" / name).read_text()
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    assert headings == [
        alert.name, "What it means", "How to confirm", "Causes", "What to do", "Tune or silence it",
    ]  # fmt: skip
    for block in re.findall(r"```promql\n(.+?)```", text, re.DOTALL):
        promql_parser.parse(block)


def test_every_runbook_belongs_to_an_alert() -> None:
    assert {path.stem for path in (ROOT / "alerts/runbooks").glob("*.md")} == {alert.name for alert in ALERTS}


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert.name)
def test_an_alert_fires_where_its_signal_changes_colour(alert, settings: Settings) -> None:  # noqa: ANN001
    limit = alert.limit(settings)
    steps = {step.at for step in alert.signal.steps(settings)} | {code.value for code in alert.signal.codes}
    assert limit in steps


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert.name)
def test_an_alert_is_guarded_by_traffic_unless_silence_is_its_subject(alert) -> None:  # noqa: ANN001
    assert (alert.guard is None) == (alert.name in UNGUARDED)


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert.name)
def test_what_explains_an_alert_is_an_alert_that_can_be_matched_to_it(alert, settings: Settings) -> None:  # noqa: ANN001
    by_name = {other.name: other for other in ALERTS}
    assert alert.name not in alert.explained_by
    for name in alert.explained_by:
        assert set(by_name[name].level.labels(settings)) <= set(alert.level.labels(settings)), name
        assert alert.name not in by_name[name].explained_by
