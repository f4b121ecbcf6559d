"""The rule files against Prometheus' practices and pint's offline checks."""

import re
from typing import Any

import promql_parser

from conftest import ROOT
from draftboard.alerts.monitoring import ON_MONITORING
from draftboard.build import render
from draftboard.catalogue import probe, serving
from draftboard.rules import LONGEST, RecordingRule, depths, reads
from draftboard.settings import Settings
from draftboard.signals import Level
from support import catalogue
from support.rulefiles import groups, names_kept, nodes, present_in, records_in, rules, series_in

OWN_LABELS = {"position", "accepted", "k", "identity", "state", "advice", "dimension", "class", *probe.RUNS} | {
    *("le", "finished_reason", "reason", "source", "status", "slo", "batch", "context", "device", "deployment", "ago")
}
# Divisors that cannot be 0, so that they need no guard.
NEVER_ZERO = {
    **{
        f"model:vllm_spec_decode_{name}:ratio_rate5m": "a step takes at least a plain one, a batch has at least 1"
        for name in (
            *("expected_speedup_low", "expected_speedup_high", "token_cost_low", "token_cost_high"),
            *("gain_at", "shorter_gain_high", "longer_gain_high"),
        )
    },
    "model:vllm_spec_decode_longer_gain:ratio_rate5m": "a step takes at least as long as a plain one",
    "engine:vllm_spec_decode_acceptance_length_to_others:ratio_rate5m": "a mean acceptance length is at least 1",
    "model:draftboard_spec_class_speedup_low:ratio_rate5m": "a step takes at least as long as a plain one",
    "model:draftboard_spec_class_speedup_high:ratio_rate5m": "a step takes at least as long as a plain one",
    "model:vllm_queue_wait:seconds_rate5m": "infinite where requests wait and none gets a token, as said",
    "model:vllm_health:rank": "1 + a rate is at least 1",
    "model:vllm_spec_decode_next_gain:ratio_rate5m": "a measured speedup is a ratio of times over 0",
    "model:vllm_health:enum_rate5m": "some requests failed, so that some were counted",
    "target:vllm_server_outlier:bool": "infinite where requests wait and none gets a token, which is long",
    "model:vllm_spec_decode_verdict:enum_rate5m": "1 + the uncertainty of a measured speedup is a power of e",
    **dict.fromkeys(
        (
            *("service:vllm_slo_current_burn_rate:ratio", "service:vllm_slo_period_error_budget_remaining:ratio"),
            *("service:vllm_slo_burning_fast:ratio", "service:vllm_slo_burning_slowly:ratio"),
        ),
        "an objective is under 1, so that its budget is over 0",
    ),
}
# Besides a record's own past: an outage lacks the requests that came in the hour before.
OF_THE_PAST = {
    "service:vllm_slo_unserved:rate5m": {"service:vllm_slo_events:rate5m"},
    "model:vllm_spec_decode_advice:enum_rate5m": {"model:vllm_spec_decode_advice:since"},
    "model:vllm_step_cost:ratio_rate5m": {
        "model:draftboard_spec_decode_step_seconds:avg3d_mean_by_batch_rate5m",
        "model:vllm_inter_token_latency_seconds:avg3d_mean_by_batch_rate5m",
    },
    "model:vllm_spec_decode_longer_gain:ratio_rate5m": {"model:vllm_spec_decode_slower_k:by_batch_rate5m"},
    "model:vllm_spec_decode_longer_gain_high:ratio_rate5m": {"model:vllm_spec_decode_slower_k:by_batch_rate5m"},
}
POSITIONS = "vllm:spec_decode_num_accepted_tokens_per_pos_total"


def test_groups_are_named_apart_and_no_longer_than_rulers_accept(files: dict[str, str]) -> None:
    names = [group["name"] for group in groups(files)]
    assert len(names) == len(set(names))
    assert [group["name"] for group in groups(files) if len(group["rules"]) > LONGEST] == []


def test_a_record_is_at_most_two_evaluations_behind_and_an_alert_three(files: dict[str, str]) -> None:
    """Each group that a chain leaves makes it up to one evaluation older (docs/operate/existing.md); no past does."""
    made_in = {rule["record"]: group["name"] for group in groups(files) for rule in group["rules"] if "record" in rule}
    behind: dict[str, int] = {}
    for group in groups(files):
        for rule in group["rules"]:
            name = rule.get("record") or rule["alert"]
            below = [record for record in present_in(rule["expr"]) if record in behind]
            behind[name] = max((behind[one] + (made_in[one] != group["name"]) for one in below), default=0)
    of_days = {
        name for name in behind if "BurnsSlowly" in name or re.search("burning_slowly|budget_(remaining|lasts)", name)
    }
    assert max(behind[record] for record in made_in.keys() - of_days) == 2
    assert max(behind[name] for name in behind.keys() - of_days) == 3
    assert {behind[name] for name in of_days} == {3, 4}


def test_groups_are_evaluated_at_least_every_five_minutes(files: dict[str, str], settings: Settings) -> None:
    slow = {group["name"] for group in groups(files) if group["interval"] != str(settings.rules.evaluation_interval)}
    assert {group["interval"] for group in groups(files) if group["name"] in slow} == {"4m"}
    assert slow == {"draftboard-daily", *(f"draftboard-daily-{part}" for part in (2, 3, 4))}
    assert settings.rules.evaluation_interval.seconds <= 300


def test_groups_look_back_only_where_the_settings_say_by_how_much(files: dict[str, str]) -> None:
    assert not [group for group in groups(files) if "query_offset" in group]
    late = render(Settings.model_validate({"rules": {"query_offset": "90s"}}))
    assert {group["query_offset"] for group in groups(late)} == {"1m30s"}


def test_every_record_is_made_once_and_named_level_metric_operations(files: dict[str, str]) -> None:
    made = [rule["record"] for rule in rules(files, "record")]
    assert len(made) == len(set(made))
    for name in made:
        assert re.fullmatch(
            r"(engine|model|service|target):(vllm|draftboard_spec)_[a-z0-9_]+:[a-z0-9_]+|monitor:(node|scrape)_[a-z_]+:(ratio|mean)|"
            r"fleet:draftboard_heartbeat:bool|fleet:draftboard_(recording|alerting)_release:info",
            name,
        ), name


def test_a_record_reads_only_records_made_before_it(files: dict[str, str]) -> None:
    made: set[str] = set()
    for rule in rules(files, "record"):
        records = records_in(rule["expr"])
        assert records - {rule["record"]} - OF_THE_PAST.get(rule["record"], set()) <= made, rule["record"]
        assert series_in(rule["expr"]) - records <= set(catalogue.series()), rule["record"]
        made.add(rule["record"])


def test_alerts_read_records_and_nothing_else_but_for_those_on_the_monitoring(files: dict[str, str]) -> None:
    made = {rule["record"] for rule in rules(files, "record")}
    on_monitoring = {alert.name for alert in ON_MONITORING}
    for rule in rules(files, "alert"):
        raw = series_in(rule["expr"]) - made
        # Whether it fires already: one that ends across another limit; and whether a server shows itself now.
        known = set(catalogue.series()) if rule["alert"] in on_monitoring else {"ALERTS", serving.REQUESTS_RUNNING.name}
        assert raw <= known, rule["alert"]


def test_the_level_in_a_record_s_name_is_what_its_expression_keeps(files: dict[str, str], settings: Settings) -> None:
    labels = settings.labels
    levels = {level.value: level.labels(settings) for level in Level if level is not Level.HOST}
    for rule in rules(files, "record"):
        level = rule["record"].partition(":")[0]
        for aggregation in nodes(rule["expr"], promql_parser.AggregateExpr):
            if aggregation.modifier.type == promql_parser.AggModifierType.By:
                kept = set(aggregation.modifier.labels) - OWN_LABELS - {"reached", "why", "alertname"}
                # A server that was never seen has a target and nothing else; the model of one that was is joined.
                named = re.search("state|:start|un(served|finished)|vllm_health:cause", rule["record"])
                of_servers = named or level == "target"
                allowed = [set(levels[level])]
                allowed += (
                    [set(labels.widest), set(labels.target), set(labels.target_series), set(labels.of_level("target"))]
                    if of_servers
                    else []
                )
                # A baseline is shared by all variants of its model, and a deployment knows no job of Prometheus.
                allowed += (
                    [{*labels.scope, labels.model_name}]
                    if re.search(
                        "measured_speedup|step_cost|decode_verdict|gone|replicas_missing|unwatched", rule["record"]
                    )
                    else []
                )
                # One of its servers, an alert on its service, or the models whose servers fell at once.
                allowed += (
                    [{*levels["model"], labels.instance}, set(levels["service"]), {*labels.widest, labels.model_name}]
                    if "cause" in rule["record"]
                    else []
                )
                # The values of a label are counted.
                allowed += (
                    [{*labels.target, label} for label in (labels.model_name, labels.engine)]
                    if "series_added" in rule["record"]
                    else []
                )
                # A server is compared with the others of its model or service.
                allowed += (
                    [set(levels[each]) for each in ("engine", "model", "service")]
                    if "outlier" in rule["record"]
                    else []
                )
                assert kept in allowed, rule["record"]
            else:
                assert set(aggregation.modifier.labels) <= OWN_LABELS | {"of"}, rule["record"]
        read = {name.partition(":")[0] for name in records_in(rule["expr"])}
        # A service sums over what its models did before.
        above = {"engine": {"model", "target"}, "model": {"service", "target"}, "service": {"target", "model"}}.get(
            level, set()
        )
        if ":start" in rule["record"]:  # A model is as new as its newest server.
            above = {"target"}
        assert read <= {"engine", level, *above}, rule["record"]


def test_counters_are_read_only_as_rates_and_resets_or_asked_whether_they_are_there(files: dict[str, str]) -> None:
    counters = set(catalogue.counters())
    for rule in rules(files):
        used = [s.name for s in nodes(rule["expr"], promql_parser.VectorSelector) if s.name in counters]
        under = [
            selector.name
            for call in nodes(rule["expr"], promql_parser.Call)
            if call.func.name in {"rate", "increase", "resets", "last_over_time", "count_over_time"}
            for argument in call.args
            if isinstance(argument, promql_parser.MatrixSelector | promql_parser.SubqueryExpr)
            for selector in nodes(str(argument), promql_parser.VectorSelector)
            if selector.name in counters
        ]
        # K is a number of series, whatever their values.
        counted = [POSITIONS] if rule.get("record") == "engine:vllm_spec_decode_k:count" else []
        # Found when the process starts, where no increase shows.
        found_at_start = [name for name in used if name == "prometheus_tsdb_wal_corruptions_total"]
        assert sorted(used) == sorted(under + counted + found_at_start), rule


def test_counters_that_one_rule_compares_are_read_at_one_moment(files: dict[str, str]) -> None:
    """A group has one time: of two groups, the counters of a server that begins contradict each other."""
    made_in = {rule["record"]: group["name"] for group in groups(files) for rule in group["rules"] if "record" in rule}
    (identities,) = [rule for rule in rules(files, "record") if "identity_error" in rule["record"]]
    assert len({made_in[record] for record in records_in(identities["expr"])}) == 1


def test_rates_and_restarts_have_the_windows_of_the_settings(files: dict[str, str], settings: Settings) -> None:
    window, remembered = settings.rules.rate_window.seconds, settings.rules.remember.seconds
    windows = {"rate": {window}, "resets": {remembered}}
    for rule in rules(files):
        for call in nodes(rule["expr"], promql_parser.Call):
            if call.func.name in windows:
                assert call.args[0].range.total_seconds() in windows[call.func.name]


def test_every_division_is_guarded_or_its_divisor_is_never_zero(files: dict[str, str]) -> None:
    bare = {
        rule["record"]
        for rule in rules(files, "record")
        for division in nodes(rule["expr"], promql_parser.BinaryExpr)
        if str(division.op) == "/" and not is_over_zero(division.rhs)
    }
    assert bare == set(NEVER_ZERO)


def is_over_zero(expr: Any) -> bool:
    """Whether an expression is `(... > 0)` or at least a number over 0, or such a number."""
    while isinstance(expr, promql_parser.ParenExpr):
        expr = expr.expr
    if isinstance(expr, promql_parser.NumberLiteral):
        return bool(expr.val > 0)
    if not isinstance(expr, promql_parser.BinaryExpr):
        return False
    return (str(expr.op) == ">" and str(expr.rhs) == "0") or (str(expr.op) == ">=" and is_over_zero(expr.rhs))


def test_no_regular_expression_where_an_equality_would_do(files: dict[str, str]) -> None:
    for rule in rules(files):
        for selector in nodes(rule["expr"], promql_parser.VectorSelector):
            for matcher in selector.matchers.matchers:
                if matcher.op in (promql_parser.MatchOp.Re, promql_parser.MatchOp.NotRe):
                    assert re.search(r"[.*|\[\]?]", matcher.value), (rule, matcher.value)
                    assert not matcher.value.startswith(("^", ".*")), matcher.value


def test_alerts_sample_nothing_at_random(files: dict[str, str]) -> None:
    for rule in rules(files, "alert"):
        operators = {str(node.op) for node in nodes(rule["expr"], promql_parser.AggregateExpr)}
        assert not operators & {"topk", "bottomk", "limitk"}


def test_no_rule_compares_records_of_different_depth_or_computed_numbers_for_equality(files: dict[str, str]) -> None:
    """vmalert sees a record one evaluation late for each one below it, and adds floats in any order."""
    below = depths(reads([RecordingRule(record=one["record"], expr=one["expr"]) for one in rules(files, "record")]))
    for rule in rules(files):
        for comparison in nodes(rule["expr"], promql_parser.BinaryExpr):
            sides = [series_in(str(side)) for side in (comparison.lhs, comparison.rhs)]
            if str(comparison.op) in {"==", "!="} and all(sides):
                read = set().union(*sides)
                assert len({below.get(name, 0) for name in read}) == 1, comparison
                assert all(re.search(r":(enum|count|bool)", name) or name not in below for name in read), comparison


def test_no_rule_depends_on_the_first_sample_of_a_series(files: dict[str, str]) -> None:
    """VictoriaMetrics counts it as a change."""
    called = {call.func.name for rule in rules(files) for call in nodes(rule["expr"], promql_parser.Call)}
    assert "changes" not in called


def test_the_results_of_a_rule_never_differ_in_the_name_of_their_metric_alone(files: dict[str, str]) -> None:
    """A record and an alert replace it: `vmalert -replay` stops at two series with the same labels."""
    for rule in rules(files):
        assert len(names_kept(promql_parser.parse(rule["expr"]))) == 1, rule


def test_records_make_no_longer_chain_than_the_documentation_says(files: dict[str, str]) -> None:
    """vmalert is late by an evaluation for each (docs/operate/existing.md)."""
    below = depths(reads([RecordingRule(record=one["record"], expr=one["expr"]) for one in rules(files, "record")]))
    longest = max(below.values()) + 1
    (told,) = re.findall(r"longest chain of records \| (\d+) \|", (ROOT / "docs/operate/scale.md").read_text())
    assert (longest, int(told)) == (13, 13)


def test_time_per_output_token_reads_counters_of_one_moment(files: dict[str, str]) -> None:
    """A record may be an evaluation older than a rate: their ratio was up to 42 % off while the load changed."""
    made_in = {rule["record"]: group["name"] for group in groups(files) for rule in group["rules"] if "record" in rule}
    of_engine, of_model = (
        rule["expr"]
        for rule in rules(files, "record")
        if rule["record"].endswith(":vllm_request_time_per_output_token_seconds:mean_rate5m")
    )
    assert records_in(of_engine) == set()
    assert {made_in[record] for record in records_in(of_model)} == {"draftboard-counters"}
    by_token, _, _ = of_model.partition("or (")
    assert "[5m]" not in by_token
