"""HTTP servers on threads of their own: simulated vLLM servers, and the webhook of a drill."""

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http import HTTPStatus
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer
from wsgiref.types import StartResponse, WSGIApplication

from draftboard.errors import DraftboardError


class _Handler(WSGIRequestHandler):
    timeout = 10  # a client that sends nothing keeps no thread

    def log_message(self, *_: object) -> None:
        """Log nothing: requests come every second."""


class Listener(ThreadingMixIn, WSGIServer):
    """A bound port. It answers for the time of `answering`."""

    daemon_threads = True

    def __init__(self, host: str, port: int, answer: WSGIApplication) -> None:
        """Bind the port, or any free one where it is 0. Raise DraftboardError where that is not possible."""
        try:
            super().__init__((host, port), _Handler)
        except (OSError, TypeError) as error:  # Python's own where a host is no name that DNS could have.
            reason = getattr(error, "strerror", None) or "not the name of a host"
            raise DraftboardError(f"{host}:{port}: cannot listen: {reason}; name another --host or --port") from None
        self.set_app(answer)


def respond(start: StartResponse, body: bytes = b"", kind: str = "text/plain", status: int = 200) -> list[bytes]:
    """A complete answer."""
    start(f"{status} {HTTPStatus(status).phrase}", [("Content-Type", kind), ("Content-Length", str(len(body)))])
    return [body]


@contextmanager
def answering(listeners: Sequence[Listener]) -> Iterator[None]:
    """Answer at all ports for the time of a `with`."""
    for one in listeners:
        threading.Thread(target=one.serve_forever, daemon=True).start()
    try:
        yield
    finally:
        with ThreadPoolExecutor(len(listeners)) as pool:  # one after the other they take half a second each
            list(pool.map(Listener.shutdown, listeners))
