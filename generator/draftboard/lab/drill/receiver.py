"""Where alerts arrive: a webhook on loopback that keeps what Alertmanager tells it."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_MOST_BYTES = 10_000_000


@dataclass(frozen=True)
class Arrival:
    """One alert in one message."""

    at: float
    """Unix seconds of the message."""
    receiver: str
    """By its name in Alertmanager's configuration."""
    status: str
    """`firing` or `resolved`."""
    labels: dict[str, str]
    annotations: dict[str, str]

    @property
    def name(self) -> str:
        """Of the alert."""
        return self.labels["alertname"]


class Receiver:
    """What has arrived so far, in order; other threads may wait for more."""

    def __init__(self) -> None:
        self._arrivals: list[Arrival] = []
        self._news = threading.Condition()

    @property
    def arrivals(self) -> list[Arrival]:
        """All of them until now."""
        with self._news:
            return list(self._arrivals)

    def wait_for(self, enough: Callable[[list[Arrival]], bool], seconds: float) -> bool:
        """Wait until what has arrived is enough; False when it is not in so many seconds."""
        with self._news:
            return self._news.wait_for(lambda: enough(self._arrivals), seconds)

    def take(self, message: dict[str, Any]) -> None:
        """A message as Alertmanager posts it (version 4 of its webhook)."""
        now = time.time()
        with self._news:
            self._arrivals += [
                Arrival(now, message["receiver"], alert["status"], alert["labels"], alert["annotations"])
                for alert in message["alerts"]
            ]
            self._news.notify_all()


@contextmanager
def receiving() -> Iterator[tuple[Receiver, str]]:
    """Listen on a free port for the time of a `with`; yields the receiver and its URL."""
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        timeout = 10

        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            if length > _MOST_BYTES:
                self.send_error(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
                return
            receiver.take(json.loads(self.rfile.read(length)))
            self.send_response(HTTPStatus.OK)
            self.end_headers()

        def log_message(self, *_: Any) -> None:  # noqa: ANN401  (as the base class has it)
            """What arrives is told elsewhere."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, name="receiver", daemon=True)
        thread.start()
        try:
            yield receiver, f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()
