"""`draftboard alerts replay`: what Alertmanager makes of firing alerts, incidents, and the command."""

import json
import re
from collections.abc import Mapping
from functools import partial
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import jsonschema
import pytest

from draftboard.cli.schemas import schema_of
from draftboard.durations import Duration
from draftboard.lab.notified import Fired, Incident, Notification, compared, sent
from draftboard.settings import Settings
from support import command_line
from support.hostile import ENCODABLE
from support.loopback import answering, page

run = partial(command_line.run, "alerts", "replay")
START = 1_800_000_000
STEP = 60
WAIT = 30
MODEL = {"job": "vllm", "model_name": "llama"}


def fired(alert: str, since: float, until: float, severity: str = "critical", **labels: str) -> Fired:
    """From one minute to another."""
    return Fired(alert, severity, MODEL | labels, START + since * STEP, START + until * STEP)


def messages(*alerts: Fired, **stack: Any) -> list[tuple[float, str, str, int]]:
    """Minutes since the start, kind, alerts and how many of them fire."""
    settings = Settings.model_validate({"stack": {"notify": stack}})
    return [
        ((one.at - START - WAIT) / STEP, one.kind, "+".join(one.alerts), one.firing)
        for one in sent(alerts, settings, step=STEP)
    ]


def test_an_alert_is_sent_when_the_group_has_waited_and_when_it_is_over() -> None:
    assert messages(fired("VLLMErrors", 5, 9)) == [(5, "new", "VLLMErrors", 1), (10, "resolved", "VLLMErrors", 0)]


def test_an_alert_that_is_over_before_its_group_is_sent_reaches_nobody() -> None:
    assert messages(fired("VLLMErrors", 5, 5), group_wait="2m") == []


def test_servers_of_a_model_are_one_message_and_another_model_is_another() -> None:
    servers = [fired("VLLMTargetDown", 5, 8, "warning", instance=f"gpu-{number}:8000") for number in range(3)]
    other = fired("VLLMTargetDown", 5, 8, "warning", model_name="qwen")
    assert [one[3] for one in messages(*servers, other) if one[1] == "new"] == [3, 1]


def test_a_page_is_repeated_after_half_an_hour_and_a_warning_is_not() -> None:
    page, warning = fired("VLLMErrors", 0, 65), fired("VLLMQueueGrowing", 0, 65, "warning")
    assert [one[0] for one in messages(page) if one[1] == "repeated"] == [30, 60]
    assert [one[1] for one in messages(warning)] == ["new", "resolved"]


def test_a_second_alert_of_a_group_changes_its_message() -> None:
    assert messages(fired("VLLMErrors", 0, 9), fired("VLLMEngineStuck", 3, 9, instance="a:8000"))[1] == (
        *(3, "changed", "VLLMErrors+VLLMEngineStuck"),
        2,
    )


def test_a_cause_mutes_what_it_explains_on_the_same_model_only() -> None:
    cause = fired("VLLMModelDown", 0, 9)
    kinds = [(0.0, "new", "VLLMModelDown", 1), (10.0, "resolved", "VLLMHTTPErrors+VLLMModelDown", 0)]
    assert messages(cause, fired("VLLMHTTPErrors", 0, 9)) == kinds
    assert len(messages(cause, fired("VLLMHTTPErrors", 0, 9, model_name="qwen"))) == 4


def test_what_outlives_its_cause_is_sent_then() -> None:
    sent_ = messages(fired("VLLMModelDown", 0, 4), fired("VLLMHTTPErrors", 0, 9))
    assert (5, "changed", "VLLMHTTPErrors", 1) in sent_ or (5, "new", "VLLMHTTPErrors", 1) in sent_


def test_no_end_is_sent_while_no_samples_arrive() -> None:
    down, blackout = (
        fired("VLLMModelDown", 0, 4),
        Fired("DraftboardSamplesStopped", "critical", {}, START + 240, START + 900),
    )
    kinds = [(kind, names) for _, kind, names, _ in messages(down, blackout)]
    assert ("resolved", "VLLMModelDown") not in kinds
    assert kinds[:2] == [("new", "VLLMModelDown"), ("new", "DraftboardSamplesStopped")]


def test_alerts_of_severity_none_and_the_watchdog_reach_nobody() -> None:
    assert messages(fired("DraftboardWatchdog", 0, 9), fired("VLLMErrors", 0, 9, "none")) == []


INCIDENT = {"name": "rack", "start": "2027-01-15T08:00:00Z", "end": "2027-01-15T09:00:00Z"}
BEGIN = 1_800_000_000  # 2027-01-15T08:00:00Z


def incident(**more: Any) -> Incident:
    return Incident.model_validate_json(json.dumps(INCIDENT | more))


def notification(minutes: float, *, severity: str = "critical", firing: int = 1, **group: str) -> Notification:
    return Notification(BEGIN + 60 * minutes, severity, "new", ("VLLMErrors",), MODEL | group, firing)


@pytest.mark.parametrize(
    ("minutes", "outcome"),
    [(-31, "missed"), (-30, "early"), (0, "in time"), (10, "in time"), (10.1, "late"), (60, "late"), (60.1, "missed")],
)
def test_a_message_is_early_in_time_late_or_too_late(minutes: float, outcome: str) -> None:
    (told,), _ = compared([incident()], [notification(minutes)], late=Duration(600), early=Duration(1800))
    assert told.outcome == outcome


@pytest.mark.parametrize(
    ("message", "fits"),
    [
        (notification(5), True),
        (notification(5, model_name="qwen"), False),
        (notification(5, severity="warning"), False),
        (notification(5, firing=0), False),
    ],
    ids=["a page", "another model", "a warning", "an end"],
)
def test_only_a_page_on_the_same_labels_that_says_that_something_fires_counts(
    message: Notification, fits: bool
) -> None:
    about = incident(labels={"model_name": "llama"})
    (told,), _ = compared([about], [message], late=Duration(600), early=Duration(1800))
    assert (told.outcome == "in time") == fits


def over(minutes: float, **group: str) -> Notification:
    return Notification(BEGIN + 60 * minutes, "critical", "resolved", ("VLLMErrors",), MODEL | group, 0)


@pytest.mark.parametrize(
    ("end", "outcome", "false"),
    [(over(-5), "missed", 1), (over(0), "missed", 1), (over(1), "early", 0), (over(-5, model_name="qwen"), "early", 0)],
    ids=["over before", "over at its start", "over after", "another is over"],
)
def test_a_page_that_was_over_before_an_incident_began_said_nothing_of_it(
    end: Notification, outcome: str, false: int
) -> None:
    (told,), wrong = compared([incident()], [notification(-20), end], late=Duration(600), early=Duration(1800))
    assert (told.outcome, len(wrong)) == (outcome, false)


def test_a_page_without_an_incident_is_false_and_a_warning_is_not() -> None:
    found = [notification(-600), notification(-600, severity="warning"), notification(5)]
    assert compared([incident()], found, late=Duration(600), early=Duration(1800))[1] == (found[0],)


SERIES = 'count(ALERTS{alertname="DraftboardWatchdog"})'


class Memory:
    """A Prometheus with a week of ALERTS, or with samples alone."""

    def __init__(self, alerts: Mapping[str, range], labels: Mapping[str, str], *, loaded: bool = True) -> None:
        self.alerts, self.labels, self.loaded = alerts, dict(labels), loaded

    def __call__(self, request: BaseHTTPRequestHandler) -> None:
        body = request.rfile.read(int(request.headers["Content-Length"])).decode()
        asked = {name: text[0] for name, text in parse_qs(body).items()}
        start, end, step = (float(asked[name]) for name in ("start", "end", "step"))
        grid = [start + number * step for number in range(int((end - start) / step) + 1)]
        result: list[dict[str, Any]] = []
        if asked["query"] == "count(up)" or (self.loaded and asked["query"] == SERIES):
            result = [{"metric": {}, "values": [[at, "1"] for at in grid]}]
        elif asked["query"].startswith("ALERTS{"):
            for name, minutes in self.alerts.items():
                metric = self.labels | {"__name__": "ALERTS", "alertname": name, "alertstate": "firing"}
                times = [at for at in grid if (at - START) / STEP in minutes]
                result.append({"metric": metric | {"severity": "critical"}, "values": [[at, "1"] for at in times]})
        text = json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}})
        page(text, Content_Type="application/json")(request)


AT = ("--range", "1d", "--at", str(START + 3600))


def test_the_series_of_loaded_alerts_become_messages_and_meet_incidents(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "incidents.toml").write_text(
        '[[incident]]\nname = "rack"\nstart = 2027-01-15T08:03:00Z\nend = 2027-01-15T08:30:00Z\n'
        '[[incident]]\nname = "unseen"\nstart = 2027-01-15T08:40:00Z\nend = 2027-01-15T08:50:00Z\n'
    )
    memory = Memory({"VLLMModelDown": range(5, 20), "VLLMErrors": range(-300, -290)}, MODEL)
    with answering(memory) as place:
        words = ("--prometheus", place, *AT, "--incidents", tmp_path / "incidents.toml")
        code, out, err = run(*words, "--json", capsys=capsys)
        assert (code, err) == (0, "")
        shown = run(*words, capsys=capsys)[1]
    found = json.loads(out)
    jsonschema.validate(found, json.loads(schema_of("alerts replay")))
    assert found["basis"] == "alerts"
    assert [(told["incident"], told["outcome"], told["after_seconds"]) for told in found["incidents"]] == [
        ("rack", "in time", 150.0),
        ("unseen", "missed", None),
    ]
    assert [page["alerts"] for page in found["false_pages"]] == [["VLLMErrors"]]
    assert "2 pages, 14.0 a week" in shown
    assert {("VLLMModelDown", "1", "0"), ("VLLMErrors", "1", "1")} <= {
        tuple(line.split()) for line in shown.splitlines()
    }
    assert "1 in time, 1 missed; 1 false" in shown
    assert "What it cannot know" in shown


def test_labels_of_servers_move_no_line_of_the_output(capsys: pytest.CaptureFixture[str]) -> None:
    for name in filter(None, ENCODABLE.values()):
        with answering(Memory({"VLLMModelDown": range(5, 20)}, MODEL | {"model_name": name})) as place:
            code, out, err = run("--prometheus", place, *AT, capsys=capsys)
        assert (code, err) == (0, ""), name
        assert sum("VLLMModelDown" in line for line in out.splitlines()) == 1, name
        assert re.fullmatch(r"[^\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2028\u2029]*", out), name


def test_a_server_that_scraped_nothing_is_told_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    empty = page('{"status":"success","data":{"resultType":"matrix","result":[]}}', Content_Type="application/json")
    with answering(empty) as place:
        code, out, err = run("--prometheus", place, *AT, capsys=capsys)
    assert (code, out) == (2, "")
    assert "no target was scraped in this time" in err


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[[incident]]\nname = 'a'\n", "incident.0.start is missing"),
        (
            "[[incident]]\nname = 'a'\nstart = 2027-01-15T08:00:00Z\nend = 2027-01-15T08:00:00Z\n",
            "must end after its start",
        ),
        ("[[incidents]]\n", "unknown key 'incidents'"),
        ("incident = 3", "incident = 3 is not allowed"),
    ],
)
def test_a_mistake_in_the_incidents_is_one_line(
    text: str, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "incidents.toml").write_text(text)
    code, out, err = run("--prometheus", "127.0.0.1:1", "--incidents", tmp_path / "incidents.toml", capsys=capsys)
    assert (code, out) == (2, "")
    assert says in err
    assert err.count("\n") == 1
