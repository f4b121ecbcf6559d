"""Live servers over HTTP: each instance on a port of its own, as vLLM would be."""

import json
import selectors
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from draftboard.errors import DraftboardError
from draftboard.lab.simulator.fleet import Target
from draftboard.lab.simulator.instance import Clock, Instance
from draftboard.lab.simulator.page import CONTENT_TYPE, page

_Answer = tuple[HTTPStatus, str, bytes]
_NOT_HERE: _Answer = (HTTPStatus.NOT_FOUND, "text/plain", b"Here are /metrics, /health and /targets.\n")
_RESTARTING: _Answer = (HTTPStatus.SERVICE_UNAVAILABLE, "text/plain", b"The server restarts.\n")
_LAST_PORT = 65_535


@dataclass(frozen=True)
class Address:
    """Where the first instance listens; each further one has the next port, or any free one where port is 0."""

    host: str
    port: int

    def at(self, index: int) -> int:
        """The port of an instance."""
        return self.port + index if self.port else 0


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True
    timeout = 0  # a connection that is gone again is not waited for


class _Quiet(WSGIRequestHandler):
    timeout = 10  # who connects and asks nothing keeps no thread

    def log_message(self, *_: Any) -> None:  # noqa: ANN401  (as the base class has it)
        """Scrapes are no news."""


class _Site:
    """What one instance answers. Its time goes on when it is asked."""

    def __init__(self, instance: Instance, now: Callable[[], float], listed: Callable[[str], bytes]) -> None:
        self._instance = instance
        self._now = now
        self._listed = listed
        self._asked = threading.Lock()

    def __call__(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        status, kind, body = self._answer(environ["PATH_INFO"], environ.get("HTTP_HOST", ""))
        start(f"{status.value} {status.phrase}", [("Content-Type", kind), ("Content-Length", str(len(body)))])
        return [body]

    def _answer(self, path: str, asked_as: str) -> _Answer:
        match path.rstrip("/"):
            case "/metrics":
                return self._metrics()
            case "/health":
                return HTTPStatus.OK, "text/plain", b""
            case "/targets":
                return HTTPStatus.OK, "application/json", self._listed(asked_as.rpartition(":")[0])
            case _:
                return _NOT_HERE

    def _metrics(self) -> _Answer:
        with self._asked:
            self._instance.advance(self._now())
            return (HTTPStatus.OK, CONTENT_TYPE, page(self._instance)) if self._instance.up else _RESTARTING


@contextmanager
def serving(targets: Sequence[Target], address: Address, speed: float) -> Iterator[list[str]]:
    """Serve all targets for the time of a `with`; yields where each listens, as host:port.

    Raises:
        DraftboardError: a port is taken or not allowed.
    """
    last = address.at(len(targets) - 1)
    if last > _LAST_PORT:
        raise DraftboardError(
            f"--port {address.port}: {len(targets)} servers need ports up to {last}, and the last is {_LAST_PORT}: "
            "name a lower one",
        )
    started, clock = time.monotonic(), Clock(time.time(), speed)
    servers: list[_Server] = []

    def now() -> float:
        return (time.monotonic() - started) * speed

    def listed(host: str) -> bytes:
        return _discovery(targets, [f"{host or address.host}:{server.server_port}" for server in servers])

    with ExitStack() as stack:
        for index, target in enumerate(targets):
            site = _Site(target.start(clock), now, listed)
            servers.append(stack.enter_context(_listening(site, address.host, address.at(index))))
        stack.enter_context(_answering(servers))
        yield [f"{address.host}:{server.server_port}" for server in servers]


def _discovery(targets: Sequence[Target], places: Sequence[str]) -> bytes:
    """The targets as Prometheus' HTTP service discovery wants them, with the labels that vLLM does not export.

    They are named as the one who asks names this host: who listens everywhere has no name of its own.
    """
    groups = [
        {
            "targets": [place],
            "labels": {name: text for name, text in target.labels.items() if name not in {"job", "instance"}},
        }
        for target, place in zip(targets, places, strict=True)
    ]
    return json.dumps(groups, indent=2).encode()


def _listening(site: _Site, host: str, port: int) -> _Server:
    try:
        return make_server(host, port, site, _Server, _Quiet)
    except OSError as error:
        raise DraftboardError(f"{host}:{port}: cannot listen: {error.strerror}; name another --port") from None


@contextmanager
def _answering(servers: Sequence[_Server]) -> Iterator[None]:
    """One thread waits for all of them at once, so that a hundred ports cost no more than one and end together."""
    ending, ended = socket.socketpair()

    def answer() -> None:
        with selectors.DefaultSelector() as ready:
            ready.register(ended, selectors.EVENT_READ)
            for server in servers:
                ready.register(server, selectors.EVENT_READ, server)
            while asked := [key.data for key, _ in ready.select()]:
                if None in asked:
                    return
                for server in asked:
                    server.handle_request()

    with ending, ended:
        thread = threading.Thread(target=answer, name="simulated servers", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ending.send(b"\0")
            thread.join()
