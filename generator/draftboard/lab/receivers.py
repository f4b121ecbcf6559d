"""Receivers of alerts on this machine, which write down what they are sent."""

import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Generic, Literal, TypeVar
from wsgiref.types import StartResponse, WSGIEnvironment

from draftboard.lab.listening import Listener, answering, respond

_MOST_BYTES = 10_000_000
_T = TypeVar("_T")
Status = Literal["firing", "resolved"]


@dataclass(frozen=True)
class Arrival:
    """One alert in one message: at which Unix time, to which receiver, and whether it is `firing` or `resolved`."""

    at: float
    receiver: str
    status: str
    labels: dict[str, str]
    annotations: dict[str, str]

    @property
    def name(self) -> str:
        """Of the alert."""
        return self.labels["alertname"]


@dataclass(frozen=True)
class Message:
    """One message to a receiver by a channel, as its reader sees it; at a Unix time."""

    at: float
    receiver: str
    channel: str
    status: Status
    title: str


class _Inbox(Generic[_T]):
    """All arrivals so far, in order; other threads may wait for more."""

    def __init__(self) -> None:
        self.arrivals: tuple[_T, ...] = ()
        self._news = threading.Condition()

    def wait_for(self, enough: Callable[[tuple[_T, ...]], bool], seconds: float) -> bool:
        """Wait until the arrivals are enough; False when they are not in so many seconds."""
        with self._news:
            return self._news.wait_for(lambda: enough(self.arrivals), seconds)

    def __call__(self, environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        """Take a message as Alertmanager posts it; refuse another, as any container may post here."""
        try:
            length = min(int(environ["CONTENT_LENGTH"] or 0), _MOST_BYTES)
            message, now = json.loads(environ["wsgi.input"].read(length)), time.time()
            read = tuple(self._read(environ["PATH_INFO"], message, now))
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            return respond(start, status=HTTPStatus.BAD_REQUEST)
        with self._news:
            self.arrivals += read
            self._news.notify_all()
        return respond(start, b"ok")

    def _read(self, path: str, message: Any, now: float) -> Iterator[_T]:  # noqa: ANN401  (JSON)
        raise NotImplementedError


class Receiver(_Inbox[Arrival]):
    """A webhook (version 4 of Alertmanager's), alert by alert."""

    def _read(self, path: str, message: Any, now: float) -> Iterator[Arrival]:  # noqa: ANN401, ARG002
        for alert in message["alerts"]:
            yield Arrival(now, message["receiver"], alert["status"], alert["labels"], alert["annotations"])


class StandIns(_Inbox[Message]):
    """A webhook, Slack and PagerDuty (Events API v2) of each receiver: at the paths /RECEIVER/CHANNEL."""

    def _read(self, path: str, message: Any, now: float) -> Iterator[Message]:  # noqa: ANN401
        receiver, _, channel = path.strip("/").rpartition("/")
        match channel:
            case "webhook":
                about = message["commonLabels"]
                title = about.get("alertname") or f"{len(message['alerts'])} alerts"
                yield Message(now, receiver, channel, message["status"], str(title))
            case "slack":
                title = message["attachments"][0]["title"]
                yield Message(now, receiver, channel, "resolved" if title.startswith("Resolved: ") else "firing", title)
            case "pagerduty":
                status: Status = "resolved" if message["event_action"] == "resolve" else "firing"
                title = message.get("payload", {}).get("summary") or message["dedup_key"]
                yield Message(now, receiver, channel, status, str(title))


@contextmanager
def receiving() -> Iterator[tuple[Receiver, str]]:
    """Listen on a free port for the time of a `with`; yields the receiver and its URL."""
    receiver = Receiver()
    with Listener("127.0.0.1", 0, receiver) as server, answering([server]):
        yield receiver, f"http://127.0.0.1:{server.server_port}/"
