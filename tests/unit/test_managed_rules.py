"""Rules that Grafana evaluates itself are those of the rule files, as its provisioning reads them."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from draftboard import __version__
from draftboard.build import render
from draftboard.build.files import ALERTING, RECORDING
from draftboard.rules import RELEASES
from draftboard.settings import Settings
from support.rulefiles import Rule, loaded, rules

Json = dict[str, Any]
# `AlertRuleGroupV1`, `AlertRuleV1`, `QueryV1` and `RecordV1` of Grafana's pkg/services/provisioning/alerting.
GROUP = {"orgId", "name", "folder", "interval", "rules"}
ALERT = {"uid", "title", "condition", "data", "noDataState", "execErrState", "for", "keepFiringFor", "labels"}
ALERT |= {"annotations", "isPaused", "missing_series_evals_to_resolve"}
RECORD = {"uid", "title", "data", "record"}
QUERY = {"refId", "relativeTimeRange", "datasourceUid", "model"}


def provisioned(settings: Settings, name: str) -> list[Json]:
    document = loaded(render(settings)[f"alerts/grafana/{name}.yaml"])
    assert document["apiVersion"] == 1
    assert all(set(group) == GROUP for group in document["groups"])
    return [rule | {"every": group["interval"]} for group in document["groups"] for rule in group["rules"]]


def of_rulers(settings: Settings, path: str) -> list[Rule]:
    return rules({path: render(settings)[path]})


@pytest.fixture(scope="module")
def alerts(settings: Settings) -> list[Json]:
    return provisioned(settings, "alerts")


@pytest.fixture(scope="module")
def records(settings: Settings) -> list[Json]:
    return provisioned(settings, "records")


def asked(rule: Json) -> str:
    query: Json = rule["data"][0]["model"]
    assert (query["instant"], query["range"]) == (True, False)
    return str(query["expr"])


def in_grafana(text: str) -> str:
    """A text of the rule files without what only Prometheus fills in."""
    text = re.sub(r"{{ with \$externalLabels\.\w+ }}.*?{{ end }}", "", text)
    text = re.sub(r"or \$labels\.(\w+) \$externalLabels\.\w+", r"$labels.\1", text)
    text = re.sub(r"printf `[^`]*`[^}|]*\| query", '""', text)
    unused = '{{ $in := " in " }}' if "{{ $in }}" not in text else ""
    return text.replace(unused, "").replace("$value", "$values.query.Value")


def test_each_alert_has_the_expression_pending_period_labels_and_texts_of_the_rules(
    alerts: list[Json], settings: Settings
) -> None:
    expected = {rule["alert"]: rule for rule in of_rulers(settings, ALERTING) if "alert" in rule}
    made = {rule["title"]: rule for rule in alerts}
    assert expected.keys() - made.keys() == {"DraftboardAlertmanagerDown", "DraftboardNotificationsFail"}
    for name, rule in made.items():
        assert asked(rule) == expected[name]["expr"], name
        assert rule["for"] == expected[name].get("for", "0s"), name
        assert rule["keepFiringFor"] == expected[name].get("keep_firing_for", "0s"), name
        assert rule["labels"] == expected[name]["labels"], name
        texts = {key: in_grafana(text) for key, text in expected[name]["annotations"].items()}
        assert rule["annotations"] == texts | {"draftboard_release": __version__}, name


def test_each_record_has_the_expression_of_the_rules(records: list[Json], settings: Settings) -> None:
    made = {rule["record"]["metric"]: asked(rule) for rule in records}
    assert made == {rule["record"]: rule["expr"] for rule in of_rulers(settings, RECORDING)}
    assert f'"release", "{__version__}"' in made[RELEASES["recording"]]


def test_an_alert_fires_on_every_value_and_not_without_one(alerts: list[Json]) -> None:
    for rule in alerts:
        query, every, condition = rule["data"]
        assert every["model"]["expression"] == "is_number($query) || is_nan($query) || is_inf($query)"
        assert (condition["model"]["expression"], condition["model"]["type"]) == (every["refId"], "threshold")
        assert condition["model"]["conditions"] == [{"evaluator": {"type": "gt", "params": [0]}}]
        assert (query["refId"], rule["condition"], rule["noDataState"]) == ("query", condition["refId"], "OK")


def test_the_keys_are_those_that_grafana_reads(alerts: list[Json], records: list[Json]) -> None:
    for known, made in ((ALERT, alerts), (RECORD, records)):
        for rule in made:
            assert set(rule) == known | {"every"}
            assert all(set(query) == QUERY for query in rule["data"])
            assert all(query["model"]["refId"] == query["refId"] for query in rule["data"])


def test_uids_are_short_and_no_uid_or_title_is_there_twice(alerts: list[Json], records: list[Json]) -> None:
    for key in ("uid", "title"):
        names = [rule[key] for rule in (*alerts, *records)]
        assert len(set(names)) == len(names)
    assert [rule["uid"] for rule in (*alerts, *records) if not re.fullmatch(r"[\w-]{1,40}", rule["uid"])] == []


def templates(alerts: list[Json]) -> Iterator[str]:
    for rule in alerts:
        for text in rule["annotations"].values():
            yield from re.findall(r"{{(.*?)}}", text)


def test_no_text_has_what_only_prometheus_fills_in(alerts: list[Json]) -> None:
    only_there = re.compile(r"\$value\b|\$externalLabels|\bquery\b(?!\.Value)|\b(pathPrefix|tableLink)\b")
    assert [text for text in templates(alerts) if only_there.search(text)] == []


def test_data_source_folder_lateness_and_own_labels_are_honoured() -> None:
    own = {"team": "{{ $labels.job }}", "size": "{{ $value }}"}
    document = {
        "managed": {"datasource": "mimir", "folder": "vLLM"},
        "rules": {"query_offset": "1m"},
        "all_alerts": {"labels": own},
    }
    settings = Settings.model_validate(document)
    texts = [render(settings)[f"alerts/grafana/{name}.yaml"] for name in ("alerts", "records")]
    assert [text for text in texts if re.search(r"(?i)uid: prometheus\n|folder: Draftboard", text)] == []
    for rule in provisioned(settings, "alerts"):
        assert rule["data"][0]["relativeTimeRange"] == {"from": 660, "to": 60}
        # Grafana would read $labels as a variable of the environment.
        assert rule["labels"].items() >= {"team": "{{ $$labels.job }}", "size": "{{ $$values.query.Value }}"}.items()
    assert texts[1].count("targetDatasourceUid: mimir\n") == texts[1].count(" record:\n") > 100
