"""The server whose outage is drilled: an idle vLLM of a model of its own, which Prometheus scrapes for a while."""

import json
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from prometheus_client import CONTENT_TYPE_LATEST

from draftboard.lab.listening import respond
from draftboard.lab.simulator.fleet import Instance, targets
from draftboard.lab.simulator.scenario import Scenario
from draftboard.lab.simulator.serve import page
from draftboard.lab.stack_drill.containers import Container
from draftboard.settings import Settings

NAME = "draftboard-drill"
"""Of its job and of its model."""
_SCENARIO = {"story": "A server that gets no requests.", "duration": "1d", "server": [{"model": NAME}]}


class DrillServer:
    """It answers scrapes while it is up; other paths are those of the channels."""

    def __init__(self, channels: WSGIApplication) -> None:
        self.up = True
        self._channels = channels
        self._started = time.time()
        self._instance = Instance(targets(Scenario.model_validate(_SCENARIO), 1)[0], self._started)

    def __call__(self, environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        """Answer a request."""
        if environ["REQUEST_METHOD"] == "POST":
            return self._channels(environ, start)
        if environ["PATH_INFO"] != "/metrics" or not self.up:
            return respond(start, status=HTTPStatus.OK if self.up else HTTPStatus.SERVICE_UNAVAILABLE)
        self._instance.advance(time.time() - self._started)
        return respond(start, page(self._instance), CONTENT_TYPE_LATEST)


@contextmanager
def scraped(prometheus: Container, place: str, settings: Settings) -> Iterator[None]:
    """Have Prometheus scrape a server at host:port for the time of a `with`.

    Its absence afterwards is normal: it is labelled as one that scales to zero.
    """
    labels = settings.labels
    own = {labels.job: NAME, labels.spec_method: settings.methods.baseline, labels.scale_to_zero: "drill"}
    path = prometheus.folder / f"{NAME}.json"
    path.write_text(json.dumps([{"targets": [place], "labels": {"job": NAME} | own}]))
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
