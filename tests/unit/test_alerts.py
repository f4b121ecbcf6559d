"""The alerts: where each fires, what the settings change of it, and all that belongs to it."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from promql_parser import NumberLiteral

from draftboard.alerts import ALERTS, SUBJECTS, WATCHDOG, Alert
from draftboard.alerts.annotations import annotations
from draftboard.alerts.monitoring import ON_MONITORING
from draftboard.alerts.runbook import fires_when
from draftboard.build import render
from draftboard.durations import Duration
from draftboard.errors import DraftboardError
from draftboard.settings import Settings
from draftboard.signals.signal import Band, Better, Code
from draftboard.status import Status
from support.rulefiles import groups, nodes, rule_of

ROOT = Path(__file__).parents[2]
TEMPLATES = ROOT / "generator/draftboard/alerts/runbooks"
# Alerts whose subject is silence itself or the monitoring, and those whose signal asks for enough requests.
UNGUARDED = {
    *("SpecDecodeMetricsMissing", "VLLMModelDown", "VLLMModelGone", "VLLMTargetDown", "VLLMTargetFlapping"),
    *("VLLMEngineStuck", "VLLMRequestsUnanswered", "VLLMRequestsAbandoned", "VLLMErrors", "VLLMHTTPErrors"),
    *("VLLMQueueGrowing", "VLLMUsersWait", "VLLMUsersUnserved", "VLLMModelFlapping", "VLLMServerOutlier"),
    "VLLMReplicasMissing",
    *(alert.name for alert in ON_MONITORING),
    *("VLLMErrorBudgetBurnsFast", "VLLMErrorBudgetBurnsSlowly"),
}
TROUBLE = {Status.BAD, Status.WARN, Status.ODD, Status.DOWN, Status.DUE}
PARTS: dict[str, Callable[[Alert], bool]] = {
    "a name that begins with SpecDecode, VLLM or Draftboard": lambda alert: bool(
        re.fullmatch(r"(SpecDecode|VLLM|Draftboard)[A-Z]\w+", alert.name)
    ),
    "a summary: a sentence without placeholders": lambda alert: bool(
        re.fullmatch(r"(vLLM|[A-Z])[^{}]+\.", alert.summary)
    ),
    "a description: sentences": lambda alert: alert.description.endswith("."),
    "a runbook template, generator/draftboard/alerts/runbooks/{name}.md.j2": lambda alert: template(alert).is_file(),
    "in its template the reason for pending period and severity after ${{policy}}: sentences": lambda alert: (
        not template(alert).is_file()
        or bool(re.search(r"^\$\{policy\} [A-Z].+\.$", template(alert).read_text(), re.MULTILINE))
    ),
    "promtool cases, tests/rules/alert-{name}.cases.yaml": lambda alert: (
        ROOT / f"tests/rules/alert-{alert.name}.cases.yaml"
    ).is_file(),
    "a guard of least traffic, or its name in UNGUARDED of this test": lambda alert: (
        (alert.guard is None) == (alert.name in UNGUARDED)
    ),
    "a band that is not good": lambda alert: (status_of(alert) in TROUBLE) == (alert.name != WATCHDOG),
}


def template(alert: Alert) -> Path:
    return TEMPLATES / f"{alert.name}.md.j2"


of_every_alert = pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert.name)


def status_of(alert: Alert) -> Status | None:
    named = {band.name: band.status for band in alert.signal.bands_in(Settings())}
    return (named | {code.name or code.says: code.status for code in alert.signal.codes}).get(alert.beyond)


@of_every_alert
def test_an_alert_lacks_none_of_its_parts(alert: Alert) -> None:
    missing = [part for part, is_there in PARTS.items() if not is_there(alert)]
    assert not missing, f"{alert.name} lacks " + "; ".join(missing).format(name=alert.name)


def test_every_name_and_every_runbook_belongs_to_an_alert() -> None:
    names = {alert.name for alert in ALERTS}
    templates = {path.name.removesuffix(".md.j2") for path in TEMPLATES.iterdir()}
    assert templates - names == set(), "templates of no alert"
    committed = {alert.name for alert in ALERTS if alert.exists(Settings())}
    assert {path.stem for path in (ROOT / "alerts/runbooks").glob("*.md")} == committed, "run: make build"


def test_the_list_of_alerts_states_the_limit_in_each_rule(files: dict[str, str]) -> None:
    rows = re.findall(r"^\| \[`(\w+)`\]\(runbooks/(\w+)\.md\) \| ([^|]+) \|", files["alerts/README.md"], re.MULTILINE)
    assert [row[:2] for row in rows] == [(alert.name, alert.name) for alert in ALERTS]
    for name, _, condition in rows:
        stated = re.findall(r"(?<![\w.])(\d+(?:\.\d+)?)( %)?(?![\w.])", condition)
        literals = {round(abs(float(one.val)), 6) for one in nodes(rule_of(files, name)["expr"], NumberLiteral)}
        limits = {round(float(number) / (100 if percent else 1), 6) for number, percent in stated}
        # A budget's shares are those of the burn rates in its record.
        assert limits <= literals or name.startswith("VLLMErrorBudget"), name


@of_every_alert
def test_a_rule_waits_a_minute_to_an_hour_and_shows_its_value(
    alert: Alert, files: dict[str, str], settings: Settings
) -> None:
    """How long each waits, and with what severity it fires, is in its promtool cases."""
    rule = rule_of(files, alert.name)
    assert 60 <= Duration.parse(rule["for"]).seconds <= 3600
    description = rule["annotations"]["description"]
    if alert.threshold(settings)[0] != "==":
        assert re.search(r"\{\{ \$value \| (humanize\w*|printf .+) \}\}", description)
    named = set(re.findall(r"\$labels\.(\w+)", "".join(rule["annotations"].values())))
    assert named <= {*alert.level.labels(settings), *alert.signal.by}
    link, _, query = rule["annotations"]["runbook_url"].partition("{{")
    assert link == f"{settings.links.runbooks}/{alert.name}.md"
    placeholders = {"MODEL": settings.labels.model_name, "HOST": settings.labels.instance}
    filled_in = [name for name, label in placeholders.items() if label in alert.level.labels(settings)]
    assert re.findall(r"(\w+)=\{\{", query) == filled_in


@of_every_alert
def test_what_explains_an_alert_is_an_alert_that_can_be_matched_to_it(alert: Alert, settings: Settings) -> None:
    by_name = {other.name: other for other in ALERTS}
    assert alert.name not in alert.inhibited_by
    for name in alert.inhibited_by:
        one, other = (set(each.level.labels(settings)) for each in (alert, by_name[name]))
        assert one <= other or other <= one, name
        assert alert.name not in by_name[name].inhibited_by


def changed(better: Better = Better.NEITHER, codes: tuple[Code, ...] = (), **fields: Any) -> Alert:
    """The first alert, on a signal with bands from nothing, 1 and 2 upwards."""
    bands = (Band("low", None, Status.BAD), Band("middle", 1, Status.WARN), Band("high", 2, Status.ODD))
    signal = replace(ALERTS[0].signal, better=better, codes=codes, bands=bands)
    return replace(ALERTS[0], signal=signal, **fields)


@pytest.mark.parametrize(
    ("better", "beyond", "threshold"),
    [
        (Better.HIGHER, "low", ("<", 1)),
        (Better.HIGHER, "middle", ("<", 2)),
        (Better.HIGHER, "high", (">", 2)),
        (Better.LOWER, "low", ("<", 1)),
        (Better.LOWER, "middle", (">", 1)),
        (Better.LOWER, "high", (">", 2)),
        (Better.NEITHER, "low", ("<", 1)),
        (Better.NEITHER, "high", (">", 2)),
        (Better.NEITHER, "off", ("==", 7)),
        (Better.NEITHER, "in words", ("==", 8)),
    ],
)
def test_limit_and_direction_follow_from_the_band(
    better: Better, beyond: str, threshold: tuple[str, float], settings: Settings
) -> None:
    codes = (Code(7, "switched off", Status.BAD, "off"), Code(8, "in words", Status.BAD))
    assert changed(better, codes, beyond=beyond).threshold(settings) == threshold


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"beyond": "lowest"}, "has no band or code 'lowest'; it has low, middle, high"),
        ({"for_": "15 minutes"}, "for_ and keep_firing_for must be a duration such as 15s"),
        ({"keep_firing_for": "-1s"}, "for_ and keep_firing_for must be a duration such as 15s"),
        ({"when": "after ${befor}"}, "cannot fill in 'after ${befor}': 'befor' is undefined"),
        ({"when": "after ${rules.befor}"}, "has no attribute 'befor'"),
        ({"when": "after ${"}, "cannot fill in 'after ${': "),
        ({"description": "${whom} waits."}, "cannot fill in '${whom} waits.': 'whom' is undefined"),
    ],
    ids=str,
)
def test_a_mistake_in_an_alert_is_one_line_that_names_it(fields: dict[str, str], says: str, settings: Settings) -> None:
    parts: dict[str, Any] = {"beyond": "low", **fields}
    alert = changed(**parts)
    with pytest.raises(DraftboardError) as raised:
        (alert.policy(settings), fires_when(alert, settings), annotations(alert, settings))
    assert str(raised.value).startswith(f"alert {alert.name}: ")
    assert says in str(raised.value)
    assert "\n" not in str(raised.value)


def test_settings_change_one_value_of_an_alert_and_leave_the_others() -> None:
    by_name = {alert.name: alert for alert in ALERTS}
    alert, other = by_name["SpecDecodeNotPaying"], by_name["SpecDecodeAcceptanceDrop"]
    own = alert.policy(Settings())
    chosen = Settings.model_validate({"alerts": {alert.name: {"for": "0s"}}})
    assert alert.policy(chosen) == replace(own, pending_period=Duration(0))
    assert other.policy(chosen) == other.policy(Settings())
    for severity in ("none", "info", "critical"):
        chosen = Settings.model_validate({"alerts": {alert.name: {"severity": severity}}})
        assert alert.policy(chosen) == replace(own, severity=severity)


def rule(name: str, **document: Any) -> dict[str, Any]:
    """The rule of an alert under these settings."""
    return rule_of(render(Settings.model_validate(document)), name)


def test_labels_and_annotations_of_all_alerts_lie_under_those_of_one() -> None:
    document = {
        "all_alerts": {"labels": {"team": "llm", "tier": "1"}, "annotations": {"chat": "#llm", "desk": "a"}},
        "alerts": {"VLLMErrors": {"labels": {"team": "web"}, "annotations": {"desk": "b", "runbook_url": "https://w"}}},
    }
    one, other = (rule(name, **document) for name in ("VLLMErrors", "VLLMPreemptions"))
    assert one["labels"] == {"severity": "critical", "team": "web", "tier": "1"}
    assert other["labels"] == {"severity": "warning", "team": "llm", "tier": "1"}
    assert {key: one["annotations"][key] for key in ("chat", "desk", "runbook_url")} == {
        "chat": "#llm",
        "desk": "b",
        "runbook_url": "https://w",
    }
    assert other["annotations"]["desk"] == "a"
    assert other["annotations"]["runbook_url"].startswith(f"{Settings().links.runbooks}/VLLMPreemptions.md")


def test_a_disabled_alert_leaves_no_rule_runbook_row_or_link() -> None:
    name = "VLLMHTTPErrors"
    files = render(Settings.model_validate({"alerts": {name: {"enabled": False}}}))
    assert f"alerts/runbooks/{name}.md" not in files
    assert not [path for path, text in files.items() if f"{name}.md" in text]
    for path in ("alerts/alerting.rules.yaml", "alerts/README.md", "deploy/alertmanager/alertmanager.yml"):
        assert name not in files[path]


def test_a_subject_without_alerts_is_no_group() -> None:
    off = {alert.name: {"enabled": False} for alert in SUBJECTS["speculation"]}
    names = [group["name"] for group in groups(render(Settings.model_validate({"alerts": off})))]
    assert "draftboard-serving-alerts" in names
    assert "draftboard-speculation-alerts" not in names


def test_an_alert_links_to_a_dashboard_only_where_grafana_has_an_address() -> None:
    assert "dashboard_url" not in rule("VLLMErrors")["annotations"]
    url = rule("VLLMErrors", links={"grafana": "https://g.example"})["annotations"]["dashboard_url"]
    assert url.startswith("https://g.example/d/draftboard-latency?var-job=")
    for scope in ("cluster", "namespace"):
        assert f"{{{{ with $labels.{scope} }}}}&var-{scope}={{{{ . | urlquery }}}}{{{{ end }}}}" in url


def test_without_a_scope_no_text_speaks_of_one() -> None:
    texts = "".join(rule("VLLMErrors", labels={"scope": []})["annotations"].values())
    assert "$in" not in texts
    assert "externalLabels" not in texts
