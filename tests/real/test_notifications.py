"""Alerts posted to a real Alertmanager with the generated configuration: who is told what, and how often."""

import json
import re
import signal
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from functools import partial
from http import HTTPStatus
from pathlib import Path
from subprocess import Popen
from typing import Any
from wsgiref.types import StartResponse, WSGIEnvironment

import httpx
import pytest
import yaml

from conftest import program
from draftboard.alerts import ALERTS, WATCHDOG, Alert
from draftboard.build import stack
from draftboard.lab.listening import Listener, answering, respond
from draftboard.lab.notified import Fired, Notification, sent
from draftboard.prometheus import start_alertmanager, stop
from draftboard.settings import Settings
from support.hostile import ENCODABLE
from support.loopback import free_port
from support.mail import receiving_mail
from support.rulefiles import loaded
from support.waiting import until

pytestmark = pytest.mark.prometheus

PATIENCE = 300
POLL = 0.05
CHANNELS = {severity: ["slack"] for severity in ("critical", "warning", "info")}
SOON = {"group_wait": "2s", "group_interval": "1s", "group_interval_critical": "1s", "heartbeat_interval": "1s"}
SCOPE = {"cluster": "eu-1", "namespace": "prod"}
STOCK_INHIBITIONS = """
- source_matchers: ['severity = critical']
  target_matchers: ['severity =~ warning|info']
  equal: [namespace, alertname]
- source_matchers: ['severity = warning']
  target_matchers: ['severity = info']
  equal: [namespace, alertname]
- source_matchers: ['alertname = InfoInhibitor']
  target_matchers: ['severity = info']
  equal: [namespace]
- target_matchers: ['alertname = InfoInhibitor']
"""
"""The inhibition rules of kube-prometheus and its Helm chart."""


class Inbox:
    """All messages to any channel, in order; some channels first refuse a number of them, with 500."""

    def __init__(self) -> None:
        self.messages: tuple[tuple[str, Any], ...] = ()
        self.refuses = Counter[str]()
        self.mails: tuple[EmailMessage, ...] = ()
        self._news = threading.Condition()

    def __call__(self, environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        content = json.loads(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])))
        with self._news:
            channel = environ["PATH_INFO"].strip("/")
            if self.refuses[channel]:
                self.refuses[channel] -= 1
                return respond(start, status=HTTPStatus.INTERNAL_SERVER_ERROR)
            self.messages += ((environ["PATH_INFO"], content),)
            self._news.notify_all()
        return respond(start, b"ok")

    def to(self, channel: str) -> list[Any]:
        return [content for path, content in self.messages if path == f"/{channel}"]

    @property
    def titles(self) -> list[str]:
        """Of the messages to Slack."""
        return [content["attachments"][0]["title"] for content in self.to("slack")]

    def until(self, holds: Callable[[], bool], what: str) -> None:
        with self._news:
            assert self._news.wait_for(holds, PATIENCE), f"{what} never came; heard: {self.titles}"

    def until_titles(self, count: int) -> None:
        self.until(lambda: len(self.titles) >= count, f"message {count}")


@dataclass
class Delivery:
    """An Alertmanager, and what it has sent."""

    folder: Path
    port: int
    inbox: Inbox
    running: list[Popen[bytes]] = field(default_factory=list)

    def start(self) -> None:
        self.running = [start_alertmanager(program("alertmanager"), self.folder, self.port)]

    def restart(self) -> None:
        """A reboot: Prometheus, which would repeat its alerts, has forgotten them."""
        stop(self.running.pop())
        self.start()

    def reload(self) -> None:
        self.running[0].send_signal(signal.SIGHUP)

    def post(self, *alerts: dict[str, Any]) -> None:
        self._api("POST", json=alerts).raise_for_status()

    def known(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._api("GET").json()
        return found

    def held_back(self) -> set[str]:
        """Names of the alerts that others silence, with the server where they have one."""
        return {
            " ".join(filter(None, (one["labels"]["alertname"], one["labels"].get("instance"))))
            for one in self.known()
            if one["status"]["inhibitedBy"]
        }

    def _api(self, method: str, **content: Any) -> httpx.Response:
        return httpx.request(method, f"http://127.0.0.1:{self.port}/api/v2/alerts", timeout=10, **content)


Configured = Callable[..., Delivery]


@contextmanager
def _delivering(folder: Path, document: dict[str, Any], extra: str, pagerduty: bool) -> Iterator[Delivery]:
    inbox = Inbox()
    with Listener("127.0.0.1", 0, inbox) as server, answering([server]):
        url = f"http://127.0.0.1:{server.server_port}"
        secrets = {"slack_webhook_url": f"{url}/slack", "heartbeat_url": f"{url}/heartbeat"}
        secrets["alert_webhook_url"] = f"{url}/webhook"
        secrets["pagerduty_routing_key"] = "key"
        notify = {**CHANNELS, **SOON, **document.pop("notify", {})}
        email = {"email": mail} if (mail := document.pop("email", None)) else {}
        settings = Settings.model_validate({"stack": {"secrets": str(folder), "notify": notify, **email}, **document})
        configuration = loaded(stack.text(stack.ALERTMANAGER, settings, ""))
        configuration["inhibit_rules"] = (configuration["inhibit_rules"] or []) + (loaded(extra) or [])
        if settings.stack.email:
            configuration["global"]["smtp_require_tls"] = False
        if pagerduty:
            configuration["global"]["pagerduty_url"] = f"{url}/pagerduty"
        texts = {"alertmanager.yml": yaml.safe_dump(configuration), **secrets}
        texts["templates/draftboard.tmpl"] = stack.text(stack.MESSAGES, settings, "")
        for name, text in texts.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text)
        delivery = Delivery(folder, free_port(), inbox)
        delivery.start()
        try:
            yield delivery
        finally:
            for process in delivery.running:
                stop(process)


@pytest.fixture
def configured(tmp_path: Path) -> Iterator[Configured]:
    """Start an Alertmanager with these settings, for the time of a test."""
    opened = []

    def start(*, inhibitions: str = "", pagerduty: bool = False, **document: Any) -> Delivery:
        opened.append(_delivering(tmp_path, document, inhibitions, pagerduty))
        return opened[-1].__enter__()

    yield start
    for one in opened:
        one.__exit__(None, None, None)


def firing(name: str, *, severity: str = "critical", **labels: str) -> dict[str, Any]:
    """An alert as Prometheus posts it."""
    now = datetime.now(UTC)
    return {
        "labels": {"alertname": name, "severity": severity, "job": "vllm", **SCOPE, **labels},
        "annotations": {
            "summary": f"{name} of {' '.join(labels.values())}",
            "description": f"{' '.join(labels.values())} fails",
            "runbook_url": f"https://r/{name}.md",
        },
        "startsAt": now.isoformat(),
        "endsAt": (now + timedelta(hours=1)).isoformat(),
    }


def over(alert: dict[str, Any]) -> dict[str, Any]:
    return {**alert, "endsAt": datetime.now(UTC).isoformat()}


def down(server: str, **labels: str) -> dict[str, Any]:
    """A server of a model is down."""
    return firing("VLLMTargetDown", severity="warning", **{"model_name": "llama", "instance": server, **labels})


def outage() -> dict[str, Any]:
    """Too many of them are."""
    return firing("VLLMModelDown", model_name="llama")


OUTAGE, OUTAGE_OVER = "CRITICAL: VLLMModelDown of llama", "Resolved: VLLMModelDown of llama"


def another_model(delivery: Delivery, name: str = "other") -> str:
    """The title of an alert that is posted now, once it is told: what waited before it is told and written down."""
    title = f"CRITICAL: VLLMErrors of {name}"
    delivery.post(firing("VLLMErrors", model_name=name))
    delivery.inbox.until(lambda: title in delivery.inbox.titles, "the other model's alert")
    return title


def test_300_servers_down_are_one_message_that_says_how_many_and_one_more_when_they_are_back(
    configured: Configured,
) -> None:
    delivery = configured(notify={"group_wait": "8s"})  # A busy machine takes seconds to sort in 300 alerts.
    servers = [down(f"gpu-{number}:8000") for number in range(300)]
    delivery.post(*servers)
    delivery.inbox.until_titles(1)
    other = another_model(delivery)
    what = "300 alerts: VLLMTargetDown: llama in eu-1/prod"
    assert delivery.inbox.titles == [f"WARNING: {what}", other]
    text = delivery.inbox.to("slack")[0]["attachments"][0]["text"]
    assert text.count("What to do:") == 5
    assert "... 300 in all" in text

    delivery.post(*map(over, servers))
    delivery.inbox.until_titles(3)
    assert delivery.inbox.titles[2] == f"Resolved: {what}"


def test_300_servers_down_that_are_an_outage_of_their_model_are_that_one_page(configured: Configured) -> None:
    delivery = configured()
    servers = [down(f"gpu-{number}:8000") for number in range(300)]
    # What is judged while only some of these are known would be told: the cause comes first and ends last.
    delivery.post(outage(), *servers)
    delivery.inbox.until_titles(1)
    other = another_model(delivery)
    assert delivery.inbox.titles == [OUTAGE, other]
    assert len(delivery.held_back()) == 300

    delivery.post(*map(over, [*servers, outage()]))
    delivery.inbox.until_titles(3)
    third = another_model(delivery, "third")
    assert delivery.inbox.titles == [OUTAGE, other, OUTAGE_OVER, third]


def test_servers_of_two_clusters_and_of_two_models_are_messages_of_their_own(configured: Configured) -> None:
    delivery = configured()
    elsewhere = [down(f"gpu-{number}:8000", cluster="us-1") for number in range(2)]
    delivery.post(*elsewhere, down("a:8000"), down("b:8000", model_name="qwen"))
    delivery.inbox.until_titles(3)
    assert set(delivery.inbox.titles) == {
        "WARNING: 2 alerts: VLLMTargetDown: llama in us-1/prod",
        "WARNING: VLLMTargetDown of llama a:8000",
        "WARNING: VLLMTargetDown of qwen b:8000",
    }


def test_a_page_that_explains_another_arrives_and_so_does_the_page_of_another_model(configured: Configured) -> None:
    delivery = configured()
    pages = [firing("VLLMHTTPErrors", model_name=model) for model in ("llama", "qwen")]
    cause = firing("VLLMModelDown", model_name="llama")
    delivery.post(cause, *pages)
    delivery.inbox.until_titles(2)
    assert delivery.held_back() == {"VLLMHTTPErrors"}
    assert set(delivery.inbox.titles) == {"CRITICAL: VLLMModelDown of llama", "CRITICAL: VLLMHTTPErrors of qwen"}

    delivery.post(over(cause))
    delivery.inbox.until(
        lambda: any("VLLMHTTPErrors" in title and "llama" in title for title in delivery.inbox.titles), "the page"
    )


def test_a_warning_holds_back_no_page(configured: Configured) -> None:
    """Requests that a queue limit rejects by design are 503s, and failures beside them are failures."""
    delivery = configured()
    delivery.post(
        firing("VLLMAdmissionRejected", severity="warning", model_name="llama"),
        firing("VLLMHTTPErrors", model_name="llama"),
    )
    delivery.inbox.until(lambda: "CRITICAL: VLLMHTTPErrors of llama" in delivery.inbox.titles, "the page")
    assert delivery.held_back() == set()


def test_while_no_samples_arrive_neither_an_outage_nor_its_end_is_sent(configured: Configured) -> None:
    """The rules see no target any more: an outage ends for them, whatever users see."""
    delivery, alert = configured(), outage()
    delivery.post(alert)
    delivery.inbox.until_titles(1)
    delivery.post(firing("DraftboardSamplesStopped"))
    delivery.inbox.until(lambda: len(delivery.inbox.titles) > 1, "that samples stopped")
    delivery.post(over(alert), firing("DraftboardRulesFail", instance="prometheus:9090"))
    delivery.inbox.until(lambda: any("RulesFail" in title for title in delivery.inbox.titles), "a later alert")
    assert OUTAGE_OVER not in delivery.inbox.titles


def test_a_cause_that_settings_made_an_info_holds_back_no_page(configured: Configured) -> None:
    delivery = configured(alerts={"VLLMModelDown": {"severity": "info"}})
    delivery.post(
        firing("VLLMModelDown", severity="info", model_name="llama"), firing("VLLMHTTPErrors", model_name="llama")
    )
    delivery.inbox.until(lambda: "CRITICAL: VLLMHTTPErrors of llama" in delivery.inbox.titles, "the page")
    assert delivery.held_back() == set()


def carried(alert: Alert, settings: Settings) -> dict[str, str]:
    return dict.fromkeys({*alert.level.labels(settings), *alert.signal.by} - SCOPE.keys() - {"job"}, "x")


def test_when_everything_fires_at_once_each_silence_begins_at_an_alert_that_is_told(configured: Configured) -> None:
    delivery, settings = configured(), Settings()
    severity = {alert.name: alert.severity for alert in ALERTS}
    delivery.post(*(firing(alert.name, severity=alert.severity, **carried(alert, settings)) for alert in ALERTS))
    delivery.inbox.until_titles(1)
    by_print = {one["fingerprint"]: one for one in delivery.known()}
    assert len(by_print) == len(ALERTS)
    for one in by_print.values():
        seen = set[str]()
        while causes := one["status"]["inhibitedBy"]:
            assert one["fingerprint"] not in seen, f"{one['labels']['alertname']} silences itself"
            seen.add(one["fingerprint"])
            one = by_print[causes[0]]  # noqa: PLW2901  (from a symptom to its cause)
        assert not seen or severity[one["labels"]["alertname"]] != "none"


def test_the_heartbeat_survives_the_stock_inhibitions_of_kube_prometheus(configured: Configured) -> None:
    delivery = configured(notify={"heartbeat": True}, inhibitions=STOCK_INHIBITIONS)
    (watchdog,) = (alert for alert in ALERTS if alert.name == WATCHDOG)
    nowhere = dict.fromkeys([*SCOPE, "job"], "")
    delivery.post(
        firing("InfoInhibitor", severity="none", **nowhere),
        firing("SomeInfo", severity="info", **nowhere),
        firing(WATCHDOG, severity=watchdog.severity, **nowhere),
    )
    delivery.inbox.until(lambda: len(delivery.inbox.to("heartbeat")) >= 2, "a second beat")
    assert delivery.held_back() == {"InfoInhibitor", "SomeInfo"}
    assert delivery.inbox.titles == []


def test_an_alert_of_severity_none_is_known_and_told_to_nobody(configured: Configured) -> None:
    delivery = configured()
    delivery.post(firing("VLLMTargetDown", severity="none", instance="a:8000"))
    other = another_model(delivery)
    assert delivery.inbox.titles == [other]
    assert {one["labels"]["alertname"]: one["receivers"] for one in delivery.known()} == {
        "VLLMTargetDown": [{"name": "none"}],
        "VLLMErrors": [{"name": "critical"}],
    }


def test_the_outage_after_one_that_is_over_is_told_although_both_were_restarted(configured: Configured) -> None:
    delivery, alert = configured(), outage()
    delivery.post(alert)
    delivery.inbox.until_titles(1)
    delivery.post(over(alert))
    delivery.inbox.until_titles(2)
    other = another_model(delivery)
    delivery.restart()
    delivery.post(outage())
    delivery.inbox.until_titles(4)
    assert delivery.inbox.titles == [OUTAGE, OUTAGE_OVER, other, OUTAGE]


def test_a_reload_forgets_no_end_that_waits_so_that_the_next_outage_is_told(configured: Configured) -> None:
    delivery, alert = configured(notify={"group_interval_critical": "6s"}), outage()
    delivery.post(alert)
    other = another_model(delivery)
    delivery.post(over(alert))
    delivery.reload()
    delivery.inbox.until_titles(3)
    delivery.post(outage())
    delivery.inbox.until_titles(4)
    assert delivery.inbox.titles == [OUTAGE, other, OUTAGE_OVER, OUTAGE]


def test_a_restart_forgets_an_end_that_waits_and_takes_the_next_outage_for_the_one_that_was_told(
    configured: Configured,
) -> None:
    """The risk of a reboot that the documentation names; the shorter the interval of a group, the smaller it is."""
    delivery, alert = configured(notify={"group_interval_critical": "1h"}), outage()
    delivery.post(alert)
    delivery.inbox.until(lambda: bool(delivery.inbox.titles), "the outage is told")
    before = another_model(delivery, "before")
    delivery.post(over(alert))
    delivery.restart()
    delivery.post(outage())
    assert delivery.inbox.titles == [OUTAGE, before]
    after = another_model(delivery, "after")
    assert delivery.inbox.titles == [OUTAGE, before, after]


@pytest.mark.parametrize("grafana", [True, False], ids=["with a dashboard", "without"])
def test_pagerduty_gets_links_class_and_component(configured: Configured, grafana: bool) -> None:
    links = {"links": {"grafana": "https://g.example"}} if grafana else {}
    delivery = configured(pagerduty=True, notify={"critical": ["pagerduty"]}, **links)
    alert = firing("VLLMErrors", model_name="llama")
    alert["annotations"] |= {"dashboard_url": "https://g.example/d/draftboard-latency"} if grafana else {}
    delivery.post(alert)
    delivery.inbox.until(lambda: bool(delivery.inbox.to("pagerduty")), "a page")
    (event,) = delivery.inbox.to("pagerduty")
    runbook = {"href": "https://r/VLLMErrors.md", "text": "What to do"}
    dashboard = {"href": "https://g.example/d/draftboard-latency", "text": "Dashboard"}
    assert event["links"] == [runbook, dashboard][: 1 + grafana]
    payload = event["payload"]
    assert (payload["class"], payload["component"], payload["severity"]) == ("VLLMErrors", "llama", "critical")
    assert payload["summary"] == "CRITICAL: VLLMErrors of llama"


def test_the_component_of_several_servers_without_a_model_is_their_job(configured: Configured) -> None:
    delivery = configured(pagerduty=True, notify={"critical": ["pagerduty"]})
    stuck = [firing("VLLMRequestsUnanswered", instance=f"{server}:8000") for server in "ab"]
    delivery.post(*stuck)
    delivery.inbox.until(lambda: bool(delivery.inbox.to("pagerduty")), "a page")
    payload = delivery.inbox.to("pagerduty")[0]["payload"]
    assert (payload["class"], payload["component"]) == ("VLLMRequestsUnanswered", "job vllm")


EVERYWHERE = ["webhook", "slack", "pagerduty"]


def counted(inbox: Inbox, status: str) -> dict[str, int]:
    """By receiver: messages of a status. One alert is one message."""
    kinds = {
        "webhook": [told["status"] for told in inbox.to("webhook")],
        "slack": ["resolved" if title.startswith("Resolved") else "firing" for title in inbox.titles],
        "pagerduty": [event["event_action"] for event in inbox.to("pagerduty")],
    }
    return {name: sum(bool(re.fullmatch(status, one)) for one in found) for name, found in kinds.items()}


def told_of(inbox: Inbox, status: str, count: int) -> bool:
    """Whether every receiver has had so many messages of a status."""
    return min(counted(inbox, status).values()) >= count


def test_an_outage_whose_predecessors_end_was_lost_reaches_every_receiver_within_a_repeat(
    configured: Configured,
) -> None:
    """Alertmanager is down across a recovery: Prometheus stops to repeat the end after 15 minutes."""
    soon = {"group_wait": "1s", "group_interval_critical": "1s", "repeat_critical": "3s"}
    delivery = configured(pagerduty=True, notify={"critical": EVERYWHERE, **soon})
    delivery.post(outage())
    delivery.inbox.until(lambda: told_of(delivery.inbox, "firing|trigger", 1), "the outage everywhere")
    delivery.restart()
    before = counted(delivery.inbox, "firing|trigger")
    delivery.post(outage())
    delivery.inbox.until(
        lambda: all(count > before[name] for name, count in counted(delivery.inbox, "firing|trigger").items()),
        "the second outage everywhere",
    )
    assert sum(counted(delivery.inbox, "[Rr]esolved?").values()) == 0


@pytest.mark.parametrize("broken", EVERYWHERE)
@pytest.mark.parametrize(
    "times",
    [
        pytest.param(3, id="within one try"),
        pytest.param(12, id="longer than Alertmanager tries at once", marks=pytest.mark.long),
    ],
)
def test_a_receiver_that_answers_500_gets_the_page_later_and_holds_back_no_other(
    broken: str, times: int, configured: Configured
) -> None:
    delivery = configured(pagerduty=True, notify={"critical": EVERYWHERE})
    inbox, others = delivery.inbox, set(EVERYWHERE) - {broken}
    inbox.refuses[broken] = times
    delivery.post(outage())
    inbox.until(lambda: all(counted(inbox, "firing|trigger")[name] for name in others), "the page to the others")
    assert inbox.refuses[broken], "the others were told before the broken one recovered"
    inbox.until(lambda: told_of(inbox, "firing|trigger", 1), "the page everywhere")
    delivery.post(over(outage()))
    inbox.until(lambda: told_of(inbox, "[Rr]esolved?", 1), "its end everywhere")
    assert counted(inbox, "firing|trigger") == dict.fromkeys(EVERYWHERE, 1)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inbox]:
    """What each receiver was told of alerts whose model and text are hostile."""
    names, mails = sorted({text for text in ENCODABLE.values() if text}), list[EmailMessage]()
    with receiving_mail(mails.append) as place:
        email = {"to": "oncall@example.com", "sender": "draftboard@example.com", "smarthost": place}
        document = {"notify": {"critical": [*EVERYWHERE, "email"]}, "email": email}
        with _delivering(tmp_path_factory.mktemp("hostile"), document, "", pagerduty=True) as delivery:
            alerts = [firing(f"VLLMErrors{number}", model_name=name) for number, name in enumerate(names)]
            delivery.post(*alerts)
            delivery.inbox.until(lambda: told_of(delivery.inbox, "firing|trigger", len(names)), "every alert")
            # Of an alert that ends before its mail was sent, Alertmanager sends none.
            until(lambda: len(mails) >= len(names), "every mail of an alert")
            delivery.post(*map(over, alerts))
            delivery.inbox.until(lambda: told_of(delivery.inbox, "[Rr]esolved?", len(names)), "every end")
            until(lambda: len(mails) >= 2 * len(names), "every mail of an end")
            delivery.inbox.mails = tuple(mails)
            yield delivery.inbox


MAIL_HEADERS = {"content-type", "date", "from", "message-id", "mime-version", "subject", "to"}


@pytest.mark.long
@pytest.mark.xdist_group("hostile_notifications")
def test_no_label_adds_a_header_a_part_or_a_line_to_the_subject_of_a_mail(hostile: Inbox) -> None:
    for mail in hostile.mails:
        assert {name.lower() for name in mail} == MAIL_HEADERS, mail.as_string()
        assert len(list(mail)) == len(MAIL_HEADERS), mail.as_string()
        assert mail["To"] == "oncall@example.com"
        assert re.match("(CRITICAL|Resolved): VLLMErrors", mail["Subject"]), mail["Subject"]
        (part,) = mail.iter_parts() if mail.is_multipart() else (mail,)
        assert part.get_content_type() == "text/plain"


@pytest.mark.long
@pytest.mark.xdist_group("hostile_notifications")
def test_slack_is_given_no_mention_and_no_link_of_a_server(hostile: Inbox) -> None:
    shown = [attachment for told in hostile.to("slack") for attachment in told["attachments"]]
    for text in (attachment[part] for attachment in shown for part in ("title", "text", "fallback")):
        assert not re.search("[<>]|&(?!amp;|lt;|gt;)", text), text


@pytest.mark.long
@pytest.mark.xdist_group("hostile_notifications")
def test_pagerduty_is_given_the_words_of_a_server_as_they_are(hostile: Inbox) -> None:
    details = [event["payload"]["custom_details"] for event in hostile.to("pagerduty")]
    assert {type(one["what"]) for one in details} == {str}
    assert sum("{{user}}-lora" in one["what"] for one in details) == len(("its alert", "its end"))


def past(alert: str, since: int, until: int, severity: str = "critical", **labels: str) -> Fired:
    """An alert that fired from one minute to another, as a replay finds it."""
    return Fired(alert, severity, {"job": "vllm", **SCOPE, "model_name": "llama", **labels}, since * 60, until * 60)


PAST = (
    past("VLLMHTTPErrors", 1, 4),
    past("VLLMErrors", 2, 3),  # joins the group and leaves it before the other one
    past("VLLMModelDown", 6, 8),
    past("VLLMHTTPErrors", 6, 10),  # muted by its cause until that ends
    *(past("VLLMTargetDown", 6, until, "warning", instance=f"gpu-{until}:8000") for until in (7, 9)),
    past("VLLMErrors", 7, 9, model_name="qwen"),
    past("VLLMQueueGrowing", 2, 12, "warning", model_name="qwen"),
    past("VLLMTargetDown", 4, 5, "warning", model_name="qwen", instance="gpu-1:8000"),
    past("VLLMModelDown", 12, 13),  # a second outage of the same model
)
Told = dict[tuple[str, str], list[tuple[tuple[str, ...], int]]]
"""By model and severity the names and the number of the alerts that fire, a message after another."""


def of_replay(messages: Iterable[Notification]) -> Told:
    told: Told = defaultdict(list)
    for one in messages:
        told[one.group["model_name"], one.severity].append(
            (tuple(sorted(one.alerts)) if one.firing else (), one.firing)
        )
    return told


def of_alertmanager(inbox: Inbox) -> Told:
    told: Told = defaultdict(list)
    for message in inbox.to("webhook"):
        labels = [one["labels"] for one in message["alerts"] if one["status"] == "firing"]
        shared = message["groupLabels"]["model_name"], message["commonLabels"]["severity"]
        told[shared].append((tuple(sorted({one["alertname"] for one in labels})), len(labels)))
    return told


def arrived(inbox: Inbox, due: Told) -> bool:
    told = of_alertmanager(inbox)
    return all(len(told[key]) >= len(messages) for key, messages in due.items())


@pytest.mark.long
def test_a_replay_names_the_messages_of_a_real_alertmanager(configured: Configured) -> None:
    minutely = {"group_wait": "30s", "group_interval": "1m", "group_interval_critical": "1m"}
    replayed = sent(PAST, Settings.model_validate({"stack": {"notify": minutely}}), step=60)
    delivery = configured(notify={severity: ["webhook"] for severity in CHANNELS})
    posted: dict[Fired, dict[str, Any]] = {}
    for minute in range(15):
        begun = [one for one in PAST if one.since == minute * 60]
        posted |= {one: firing(one.alert, severity=one.severity, **one.labels) for one in begun}
        ended = [over(posted[one]) for one in PAST if one.until == (minute - 1) * 60]
        if begun or ended:
            delivery.post(*(posted[one] for one in begun), *ended)
        due = of_replay(one for one in replayed if one.at < (minute + 1) * 60)
        delivery.inbox.until(partial(arrived, delivery.inbox, due), f"what a replay finds at minute {minute}: {due}")
    delivery.post(firing("VLLMErrors", model_name="last"))
    last = ("last", "critical")
    delivery.inbox.until(lambda: last in of_alertmanager(delivery.inbox), "what is posted last")
    assert {key: told for key, told in of_alertmanager(delivery.inbox).items() if key != last} == of_replay(replayed)
