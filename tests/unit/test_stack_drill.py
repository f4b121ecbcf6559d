"""`draftboard drill --stack` without Docker: what it routes where, what it puts back, and what fails it."""

import io
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from rich.console import Console

from draftboard.build import stack
from draftboard.errors import DraftboardError
from draftboard.lab.listening import Listener
from draftboard.lab.listening import answering as listening
from draftboard.lab.receivers import Message, StandIns
from draftboard.lab.stack_drill import StackDrill, document
from draftboard.lab.stack_drill.containers import Container, Stack
from draftboard.lab.stack_drill.result import Moment
from draftboard.lab.stack_drill.routing import channels, rerouted, route_of, with_stand_ins
from draftboard.lab.stack_drill.server import NAME, DrillServer, scraped
from draftboard.lab.stack_drill.steps import Drill, OverdueError
from draftboard.output import no_progress, show
from draftboard.prometheus import Client
from draftboard.settings import Settings
from support import command_line
from support.hostile import CORPUS, assert_words
from support.loopback import Answer, answering, page
from support.rulefiles import loaded

run = partial(command_line.run, "drill", "--stack")
MATCHER = f'job="{NAME}"'
URL = "http://172.18.0.1:9"
EMAIL = {"to": "oncall@example.com", "sender": "draftboard@example.com", "smarthost": "smtp.example.com:587"}
EVERYWHERE = ["webhook", "slack", "email", "pagerduty"]


def configured(*critical: str) -> dict[str, Any]:
    """The generated configuration of Alertmanager."""
    table = {"notify": {"critical": critical, "warning": ["slack"], "heartbeat": True}, "email": EMAIL}
    found: dict[str, Any] = loaded(stack.text(stack.ALERTMANAGER, Settings.model_validate({"stack": table}), ""))
    return found


def of_drill(configuration: dict[str, Any]) -> list[dict[str, Any]]:
    before = {one["name"] for one in configured("webhook")["receivers"]}
    return [one for one in configuration["receivers"] if one["name"] not in before]


def test_no_receiver_of_a_drill_has_a_real_address_or_key() -> None:
    made = with_stand_ins(configured(*EVERYWHERE), MATCHER, URL, real=False)
    text = yaml.safe_dump(of_drill(made))
    assert "_file" not in text
    assert "email" not in text
    by_receiver = {"critical": ("webhook", "slack", "pagerduty"), "warning": ("slack",)}
    by_receiver |= dict.fromkeys(("info", "none", "heartbeat"), ("webhook",))
    places = {f"{URL}/{receiver}/{channel}" for receiver, channels in by_receiver.items() for channel in channels}
    assert {*re.findall(r"\b(?:api_)?url: (\S+)", text)} == places


@pytest.mark.parametrize("real", [False, True])
def test_alerts_of_a_drill_take_the_routes_of_all_alerts_to_stand_ins_and_only_if_asked_the_real_ones_too(
    real: bool,
) -> None:
    before = configured(*EVERYWHERE)
    made = with_stand_ins(before, MATCHER, URL, real=real)
    first, *others = made["route"]["routes"]
    assert (first["matchers"], first["continue"]) == ([MATCHER], real)
    assert others == before["route"]["routes"]
    kept = {key: value for key, value in made["route"].items() if key != "routes"}
    assert kept == {key: value for key, value in before["route"].items() if key != "routes"}
    assert [{**one, "receiver": one["receiver"].removeprefix(f"{NAME}-")} for one in first["routes"]] == [
        {**one, "routes": []} for one in before["route"]["routes"]
    ]
    assert {one["receiver"] for one in first["routes"]} <= {one["name"] for one in of_drill(made)}


def test_a_receiver_without_a_channel_that_has_a_stand_in_gets_a_webhook() -> None:
    for critical in ((), ("email",)):
        made = with_stand_ins(configured(*critical), MATCHER, URL, real=False)
        assert channels(made, route_of(made, "critical")["receiver"]) == ("webhook",)


def test_the_page_must_reach_every_channel_of_its_severity_and_repeats_as_its_route_says() -> None:
    made = with_stand_ins(configured(*EVERYWHERE), MATCHER, URL, real=False)
    route = route_of(made, "critical")
    assert channels(made, route["receiver"]) == ("webhook", "slack", "pagerduty")
    assert (route["repeat_interval"], route["group_wait"]) == ("30m", "30s")


@dataclass(frozen=True)
class Recorded(Container):
    """A container that writes down what is done to it."""

    done: list[str] = field(default_factory=list)

    def run(self, *words: str) -> str:
        self.done.append(words[0])
        return ""

    def reload(self) -> None:
        self.done.append("reload")


def recorded(folder: Path) -> Recorded:
    return Recorded("alertmanager", "1", folder, "127.0.0.1", True, "")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    text = stack.text(stack.ALERTMANAGER, Settings(), "made by a test")
    (tmp_path / "alertmanager.yml").write_text(text)
    return tmp_path


@pytest.mark.parametrize("ended", [None, KeyboardInterrupt, SystemExit])
def test_the_configuration_is_put_back_byte_for_byte_however_the_drill_ends(
    folder: Path, ended: type[BaseException] | None
) -> None:
    path, container = folder / "alertmanager.yml", recorded(folder)
    before = path.read_bytes()
    try:
        with rerouted(container, MATCHER, URL, real=False):
            assert path.read_bytes() != before
            if ended:
                raise ended
    except (KeyboardInterrupt, SystemExit):
        pass
    assert path.read_bytes() == before
    assert [one.name for one in folder.iterdir()] == ["alertmanager.yml"]
    assert container.done == ["amtool", "reload", "reload"]


@pytest.mark.parametrize("text", ["", "[]", "{", "route: {}", "receivers: 1\nroute: {}", "route: 1\nreceivers: []"])
def test_a_configuration_that_is_none_is_one_line_and_stays(text: str, folder: Path) -> None:
    path, container = folder / "alertmanager.yml", recorded(folder)
    path.write_text(text)
    with (
        pytest.raises(DraftboardError, match=r"alertmanager\.yml: not a configuration of Alertmanager: build it again"),
        rerouted(container, MATCHER, URL, real=False),
    ):
        pass
    assert ([one.name for one in folder.iterdir()], path.read_text(), container.done) == (
        ["alertmanager.yml"],
        text,
        [],
    )


def test_a_drill_puts_back_what_one_that_was_killed_has_left(folder: Path) -> None:
    path = folder / "alertmanager.yml"
    before = path.read_bytes()
    with rerouted(recorded(folder), MATCHER, URL, real=False):
        left = {one.name: one.read_bytes() for one in folder.iterdir()}
    for name, content in left.items():
        (folder / name).write_bytes(content)
    with rerouted(recorded(folder), MATCHER, URL, real=False) as configuration:
        assert len(of_drill(configuration)) == len(configuration["receivers"]) / 2
    assert path.read_bytes() == before


def test_a_second_drill_of_a_stack_is_refused_and_harms_not_the_first(folder: Path) -> None:
    with rerouted(recorded(folder), MATCHER, URL, real=False):
        during = {one.name: one.read_bytes() for one in folder.iterdir()}
        with (
            pytest.raises(DraftboardError, match="another drill of this stack runs"),
            rerouted(recorded(folder), MATCHER, URL, real=True),
        ):
            pass
        assert {one.name: one.read_bytes() for one in folder.iterdir()} == during


def test_what_was_built_since_a_drill_was_killed_stays(folder: Path) -> None:
    path = folder / "alertmanager.yml"
    with rerouted(recorded(folder), MATCHER, URL, real=False):
        backup = next(one for one in folder.iterdir() if one != path).read_bytes()
    (folder / "alertmanager.yml.before-drill").write_bytes(backup)
    newer = path.read_bytes() + b"# newer\n"
    path.write_bytes(newer)
    with rerouted(recorded(folder), MATCHER, URL, real=False):
        pass
    assert path.read_bytes() == newer


def test_the_target_says_that_its_absence_is_normal_and_is_gone_after_the_drill(tmp_path: Path) -> None:
    with scraped(recorded(tmp_path), "172.18.0.1:9", Settings()):
        (written,) = tmp_path.iterdir()
        assert json.loads(written.read_text()) == [
            {"targets": ["172.18.0.1:9"], "labels": {"job": NAME, "spec_method": "none", "scale_to_zero": "drill"}}
        ]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("channel", ["webhook", "slack", "pagerduty"])
@pytest.mark.parametrize(
    "body",
    [
        "",
        "x",
        "[" * 100_000,
        "[]",
        "{}",
        '{"attachments": []}',
        '{"attachments": [{"title": 1}]}',
        '{"event_action": 1}',
    ],
)
def test_a_stand_in_takes_no_message_that_is_none_and_hears_the_next(
    body: str, channel: str, capsys: pytest.CaptureFixture[str]
) -> None:
    heard = StandIns()
    with Listener("127.0.0.1", 0, heard) as server, listening([server]):
        place = f"http://127.0.0.1:{server.server_port}/critical/{channel}"
        assert httpx.post(place, content=body).status_code == 400
        page = {"status": "firing", "commonLabels": {"alertname": "A"}, "event_action": "trigger", "dedup_key": "A"}
        assert httpx.post(place, json={**page, "attachments": [{"title": "A"}]}).status_code == 200
    assert [(one.channel, one.status, one.title) for one in heard.arrivals] == [(channel, "firing", "A")]
    assert capsys.readouterr() == ("", "")


PAGED = {"receiver": "critical"}


def drill_of(heard: StandIns, url: str = "http://127.0.0.1:9") -> Drill:
    nobody = recorded(Path())
    stack, server = Stack("p", nobody, nobody), DrillServer(heard)
    return Drill(stack, Client(url), server, "127.0.0.1:9", heard, ("slack",), PAGED, Settings(), no_progress, began=0)


def told(*messages: tuple[float, str, str]) -> list[str]:
    """What is wrong with messages: second, channel, status; outages last from 0 to 100 and from 200 to 300."""
    heard = StandIns()
    heard.arrivals = tuple(Message(at, "critical", channel, status, "") for at, channel, status in messages)  # type: ignore[arg-type]
    drill = drill_of(heard)
    drill.outages = [0, 200]
    drill.done = [Moment(at, "drill", f"outage {number} ends") for number, at in ((1, 100), (2, 300))]
    return list(drill.wrong_ends())


def test_an_end_is_wrong_between_a_page_and_the_end_of_its_outage_and_nowhere_else() -> None:
    page, end, again = (10, "slack", "firing"), (110, "slack", "resolved"), (210, "slack", "firing")
    assert told(page, end, again, (310, "slack", "resolved")) == []
    assert told(page, (99, "slack", "resolved")) == ["slack: `resolved` 1m39s after outage 1 began, which went on"]
    # The end of the first, told late, before the second is: its reader learns of the second next.
    assert told(page, (205, "slack", "resolved"), again) == []
    assert told(page, (99, "webhook", "resolved")) == [], "a channel that is none of the page's"


FOUND = StackDrill(
    "draftboard",
    "alertmanager",
    60,
    "critical",
    ("webhook", "pagerduty"),
    (Moment(0.0, "drill", "outage 1 begins"), Moment(301.2, "pagerduty", "firing: CRITICAL: Servers of a model fail.")),
    ("webhook: no message `firing` of outage 1 within 900 s",),
    passed=False,
)


def test_a_terminal_of_80_columns_shows_who_was_sent_what_and_when_and_what_failed() -> None:
    console = Console(width=80, file=io.StringIO(), record=True)
    show(document(FOUND), console)
    shown = console.export_text()
    assert "failed" in shown.splitlines()[0]
    assert re.search(r"5m1s +pagerduty +firing: CRITICAL", shown)
    assert "webhook: no message `firing` of outage 1 within 900 s" in shown


NETWORKS = {"m": {"Gateway": "127.0.0.1", "IPAddress": "127.0.0.2"}}
TARGETS, CONFIGURATION = "/etc/prometheus/targets", "/etc/alertmanager"
Docker = Callable[..., None]


def described(
    project: str, service: str, mounted: str, source: str, *, running: bool = True, published: str = ""
) -> dict[str, Any]:
    labels = {"com.docker.compose.project": project, "com.docker.compose.service": service}
    host, _, port = published.rpartition(":")
    return {
        "Id": "1",
        "Config": {"Labels": labels},
        "Mounts": [{"Destination": mounted, "Source": source}],
        "State": {"Running": running},
        "NetworkSettings": {
            "Networks": NETWORKS,
            "Ports": {"9090/tcp": [{"HostIp": host, "HostPort": port}] if port else None},
        },
    }


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Docker:
    """Have a program `docker` answer that these containers exist; it does nothing else."""

    def answers(*containers: dict[str, Any]) -> None:
        (tmp_path / "inspected.json").write_text(json.dumps(containers))
        ids = " ".join("1" for _ in containers)
        script = (
            f"#!/bin/sh\ncase $1 in ps) echo {ids} ;; inspect) cat {tmp_path}/inspected.json ;; *) exit 1 ;; esac\n"
        )
        (tmp_path / "docker").write_text(script)
        (tmp_path / "docker").chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path), prepend=":")

    return answers


def whole(project: str, source: str, *, running: bool = True, published: str = "") -> tuple[dict[str, Any], ...]:
    return (
        described(project, "prometheus", TARGETS, source, published=published),
        described(project, "alertmanager", CONFIGURATION, source, running=running),
    )


@pytest.mark.parametrize(
    ("containers", "options", "says"),
    [
        ([], [], "no stack runs on this Docker: start it with `make up` or `make up-demo`"),
        ([described("other", "prometheus", "/data", "/")], [], "no stack runs on this Docker"),
        ([*whole("a", "/"), *whole("b", "/")], [], "2 stacks run: name one, --project a or b"),
        (whole("a", "/"), ["--project", "b"], "--project b: no stack of this name; running: a"),
        (whole("a", "/", running=False), [], "alertmanager of a does not run: start it with `make up`"),
        (whole("a", "/nowhere"), [], "/nowhere of prometheus is not on this machine: run the drill on Docker's own"),
    ],
)
def test_what_is_missing_is_one_line_before_anything_is_changed(
    containers: list[dict[str, Any]], options: list[str], says: str, docker: Docker, capsys: pytest.CaptureFixture[str]
) -> None:
    docker(*containers)
    code, out, err = run(*options, capsys=capsys)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"draftboard: {says}")


def in_data(**data: object) -> Answer:
    return page(json.dumps({"status": "success", "data": data}), Content_Type="application/json")


def ruled(**rule: object) -> Answer:
    return in_data(groups=[{"name": "g", "rules": [rule]}])


NO_API = "not a Prometheus server (HTTP {} for /api/v1/rules): give Prometheus' own address"
OTHER_SHAPE = "unexpected response: row 0.rules{} does not match Prometheus' HTTP API"
ABSENT = "VLLMModelDown is not among the rules, with a severity: the drill needs it. See `make reload`"
ANSWERS = {
    "nothing": (page(""), NO_API.format(200)),
    "no JSON": (page("ready"), NO_API.format(200)),
    "the page of a proxy": (page("<html>\x1b[2JSign in</html>", Content_Type="text/html"), NO_API.format(200)),
    "an error of a proxy": (page("<html></html>", 502), "no response (HTTP 502): see the log of the server"),
    "a login": (page("", 302, Location="https://sso.example.com/?t=1"), "redirects to https://sso.example.com"),
    "a list": (page("[]"), NO_API.format(200)),
    "nested JSON": (page("[" * 100_000), NO_API.format(200)),
    "no data": (page('{"status": "success"}'), NO_API.format(200)),
    "a list of data": (page('{"status": "success", "data": []}'), NO_API.format(200)),
    "no groups": (in_data(), NO_API.format(200)),
    "groups by name": (in_data(groups={"g": []}), NO_API.format(200)),
    "a group without rules": (in_data(groups=[{"name": "g"}]), OTHER_SHAPE.format("")),
    "a rule without a name": (ruled(type="alerting"), OTHER_SHAPE.format(".0.name")),
    "a list of labels": (ruled(name="VLLMModelDown", labels=["severity"]), OTHER_SHAPE.format(".0.labels")),
    "a number": (ruled(name="VLLMModelDown", labels={"severity": 1}), OTHER_SHAPE.format(".0.labels.severity")),
    "no labels": (ruled(name="VLLMModelDown"), ABSENT),
    "another rule": (ruled(name="x", labels={"severity": "critical"}), ABSENT),
}


@pytest.mark.parametrize(("answer", "says"), ANSWERS.values(), ids=ANSWERS)
def test_what_is_no_answer_of_prometheus_is_one_line_before_anything_is_changed(
    answer: Answer, says: str, docker: Docker, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path: path.read_bytes() for path in folder.iterdir()}
    with answering(answer) as place:
        docker(*whole("a", str(folder), published=place))
        code, out, err = run(capsys=capsys)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"draftboard: http://{place}: {says}")
    assert_words(err)
    assert before.items() <= {path: path.read_bytes() for path in folder.iterdir() if path.is_file()}.items()


@pytest.mark.parametrize("text", [*CORPUS.values()][::12], ids=repr)
def test_an_error_that_prometheus_answers_is_one_line(
    text: str, docker: Docker, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with answering(page(json.dumps({"status": "error", "error": text}), Content_Type="application/json")) as place:
        docker(*whole("a", str(folder), published=place))
        code, out, err = run(capsys=capsys)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert_words(err)


def test_the_drill_reads_prometheus_on_its_published_port_else_in_its_network() -> None:
    def url(published: str) -> str:
        found = Container.of(described("a", "prometheus", TARGETS, "/", published=published), "prometheus")
        assert found
        return found.url

    places = ("127.0.0.1:9091", "0.0.0.0:9090", ":::9090", "::1:9090", "192.0.2.1:9090", "")
    assert [url(one) for one in places] == [
        "http://127.0.0.1:9091",
        "http://127.0.0.1:9090",
        "http://127.0.0.1:9090",
        "http://[::1]:9090",
        "http://192.0.2.1:9090",
        "http://127.0.0.2:9090",
    ]


OWN = {"alertname": "VLLMModelDown", "job": NAME}


@pytest.mark.parametrize(
    ("labels", "state", "fires"),
    [
        ({**OWN, "severity": "critical"}, "firing", True),
        (OWN, "pending", False),
        ({**OWN, "job": "vllm"}, "firing", False),
        ({**OWN, "alertname": "VLLMTargetDown"}, "firing", False),
    ],
)
def test_the_page_fires_where_the_drills_own_alert_does(labels: dict[str, str], state: str, *, fires: bool) -> None:
    with answering(in_data(alerts=[{"labels": labels, "state": state}])) as place:
        assert drill_of(StandIns(), place).fires() is fires


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (page("<html>"), r"not a Prometheus server \(HTTP 200 for /api/v1/alerts\)"),
        (in_data(alerts=[{"labels": OWN}]), "unexpected response: row 0.state does not match"),
        (page("Service Unavailable", 503), r"no response \(HTTP 503\)"),
    ],
    ids=["no JSON", "another shape", "it starts"],
)
def test_while_prometheus_does_not_answer_nothing_has_ended_and_what_is_late_has_the_reason(
    answer: Answer, says: str
) -> None:
    with answering(answer) as place:
        drill = drill_of(StandIns(), place)
        with pytest.raises(OverdueError, match=rf"not within 0s: the end: http://{place}: {says}"):
            drill.until(lambda: not drill.fires(), "the end", 0)


def test_without_docker_the_line_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    code, out, err = run(capsys=capsys)
    assert (code, out) == (2, "")
    assert err == "draftboard: docker: cannot be run: No such file or directory: install Docker, or add it to PATH\n"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["drill"], "name a SCENARIO, or --stack, and not both"),
        (["drill", "idle", "--stack"], "name a SCENARIO, or --stack, and not both"),
        (["drill", "idle", "--away", "2m"], "--kill, --away, --project and --real-receivers require --stack"),
        (["drill", "--stack", "--speed", "60"], "--stack runs in real time: it takes no --speed"),
    ],
)
def test_options_that_do_not_fit_are_refused(words: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = command_line.run(*words, capsys=capsys)
    assert (code, err.splitlines()[-1]) == (2, f"Error: {says}")
