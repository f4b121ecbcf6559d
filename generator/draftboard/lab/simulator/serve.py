"""Live servers over HTTP: each instance on a port of its own, with the page that vLLM would have."""

import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from itertools import groupby
from math import isnan
from operator import attrgetter
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from draftboard.catalogue import Kind, Presence
from draftboard.errors import DraftboardError
from draftboard.lab.listening import Listener, answering, respond
from draftboard.lab.simulator.fleet import Instance, Target

_LAST_PORT = 65_535
_OF_EVERY_TARGET = {"job", "instance"}  # Prometheus sets them itself.


@dataclass
class _Page(Collector):
    instance: Instance

    def collect(self) -> Iterator[Family]:
        """Families in the catalogue's order. Pages of several processes have no `_created`, as vLLM's have none."""
        with_created, row = self.instance.server.engines == 1, self.instance.row()
        for _, group in groupby(self.instance.children, key=attrgetter("metric.name")):
            children = list(group)
            metric = children[0].metric
            family = Family(metric.family, metric.help, metric.kind.value)
            for child in (child for child in children if not isnan(row[child.at.start])):
                for (name, labels), value in zip(child.series, row[child.at].tolist(), strict=True):
                    family.add_sample(name, labels, value)
                if with_created and metric.kind is not Kind.GAUGE and metric.presence is not Presence.ONE_PROCESS:
                    family.add_sample(f"{metric.family}_created", child.labels, self.instance.created)
            if family.samples or metric.presence is Presence.HTTP:
                yield family


def page(instance: Instance) -> bytes:
    """The text of `/metrics`: the classic format, whatever a scrape accepts, as vLLM does."""
    return generate_latest(_Page(instance))


@contextmanager
def serving(targets: Sequence[Target], host: str, port: int, speed: float) -> Iterator[list[str]]:
    """Serve all targets for the time of a `with`, each at the next port, or at any if it is 0; yields host:port."""
    if port and (last := port + len(targets) - 1) > _LAST_PORT:
        needed = f"{len(targets)} servers need ports up to {last}, and the last is {_LAST_PORT}"
        raise DraftboardError(f"--port {port}: {needed}: name a lower one")
    epoch = time.time()
    listeners: list[Listener] = []

    def listed(asked_as: str) -> bytes:
        """The targets for Prometheus' HTTP service discovery, under the host's name that the client uses."""
        groups = []
        for target, one in zip(targets, listeners, strict=True):
            labels = {name: text for name, text in target.labels.items() if name not in _OF_EVERY_TARGET}
            groups.append({"targets": [f"{asked_as or host}:{one.server_port}"], "labels": labels})
        return json.dumps(groups, indent=2).encode()

    with ExitStack() as stack:
        for index, target in enumerate(targets):
            site = _site(Instance(target, epoch, speed), speed, listed)
            listeners.append(stack.enter_context(Listener(host, port and port + index, site)))
        stack.enter_context(answering(listeners))
        yield [f"{host}:{one.server_port}" for one in listeners]


def _site(instance: Instance, speed: float, listed: Callable[[str], bytes]) -> WSGIApplication:
    """What one instance answers. Its time goes on when it is scraped."""
    one_by_one, started = threading.Lock(), time.monotonic()

    def answer(environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        match environ["PATH_INFO"].rstrip("/"):
            case "/metrics":
                with one_by_one:
                    instance.advance((time.monotonic() - started) * speed)
                    if instance.up:
                        return respond(start, page(instance), CONTENT_TYPE_LATEST)
                return respond(start, b"The server restarts.\n", status=HTTPStatus.SERVICE_UNAVAILABLE)
            case "/health":
                return respond(start)
            case "/targets":
                host = environ.get("HTTP_HOST", "").rpartition(":")[0]
                return respond(start, listed(host), "application/json")
            case _:
                return respond(start, b"Here are /metrics, /health and /targets.\n", status=HTTPStatus.NOT_FOUND)

    return answer
