"""Where alerts arrive: a webhook on loopback that keeps what Alertmanager sends."""

import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from wsgiref.types import StartResponse, WSGIEnvironment

from draftboard.lab.listening import Listener, answering, respond

_MOST_BYTES = 10_000_000


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


class Receiver:
    """All arrivals so far, in order; other threads may wait for more."""

    def __init__(self) -> None:
        self.arrivals: tuple[Arrival, ...] = ()
        self._news = threading.Condition()

    def wait_for(self, enough: Callable[[tuple[Arrival, ...]], bool], seconds: float) -> bool:
        """Wait until the arrivals are enough; False when they are not in so many seconds."""
        with self._news:
            return self._news.wait_for(lambda: enough(self.arrivals), seconds)

    def __call__(self, environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        """Take a message as Alertmanager posts it (version 4 of its webhook)."""
        length = min(int(environ["CONTENT_LENGTH"] or 0), _MOST_BYTES)
        message, now = json.loads(environ["wsgi.input"].read(length)), time.time()
        with self._news:
            self.arrivals += tuple(
                Arrival(now, message["receiver"], alert["status"], alert["labels"], alert["annotations"])
                for alert in message["alerts"]
            )
            self._news.notify_all()
        return respond(start)


@contextmanager
def receiving() -> Iterator[tuple[Receiver, str]]:
    """Listen on a free port for the time of a `with`; yields the receiver and its URL."""
    receiver = Receiver()
    with Listener("127.0.0.1", 0, receiver) as server, answering([server]):
        yield receiver, f"http://127.0.0.1:{server.server_port}/"
