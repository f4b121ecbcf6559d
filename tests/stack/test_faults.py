"""Volumes that are damaged, restored or of another user, hostile servers and pages: what the stack does with them."""

import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count

import httpx
import pytest

from draftboard.lab.drill import Receiver
from stack.checkout import Checkout, checkout, remove_volumes
from stack.engine import Engine
from stack.stand_ins import images
from support.waiting import until

pytestmark = pytest.mark.stack

SERVICES = ("prometheus", "alertmanager", "grafana")
SAMPLES, SILENCES = "draftboard_prometheus-data", "draftboard_alertmanager-data"
FOREIGN = {"Origin": "https://evil.example", "Host": "evil.example"}
NEW_SERIES = 49_000
"""A scrape: just within its limits."""
WATCHED = 240.0  # seconds, in which 49,000 new series a scrape used to fill 512 MB


class Churning(BaseHTTPRequestHandler):
    """A page with new values of a label, and new series and labels, each time."""

    page = count()

    def do_GET(self) -> None:
        number = next(Churning.page)
        new = [f'{number}-{line}"}} 1' for line in range(NEW_SERIES // 2)]
        lines = [f'own_{number}{{model_name="m",a_{number}="{one}' for one in new]
        lines += [f'vllm:num_requests_running{{model_name="m",engine="0",user="{one}' for one in new]
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.end_headers()
        self.wfile.write(("\n".join(lines) + "\n").encode())

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@pytest.fixture(scope="module")
def stack(
    docker: Engine, webhook: tuple[Receiver, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Checkout]:
    """Monitoring of a hostile server, with half a gigabyte."""
    found = checkout(tmp_path_factory.mktemp("faults"), docker)
    found.made("secrets")
    host = httpx.URL(webhook[1]).host
    with ThreadingHTTPServer((host, 0), Churning) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        target = f"{host}:{server.server_port}"
        found.configure(COMPOSE_PROFILES="monitoring", VLLM_TARGET=target, PROMETHEUS_MEMORY="512m")
        found.made("up")
        found.until_healthy(*SERVICES)
        yield found
        found.made("down")
        server.shutdown()
    remove_volumes(docker)


def in_volume(stack: Checkout, volume: str, command: str) -> str:
    """What a command of root prints, with the volume as its folder."""
    image = images()["prometheus"]
    words = ("run", "--rm", "--network=none", "--user=0:0", f"--volume={volume}:/data", "--workdir=/data")
    return stack.docker.docker(*words, "--entrypoint=sh", image, "-c", command)


def test_no_page_of_another_origin_reads_prometheus_and_none_reaches_alertmanager(stack: Checkout) -> None:
    answer = httpx.get(stack.url("prometheus", "/api/v1/query?query=up"), headers=FOREIGN)
    assert "access-control-allow-origin" not in answer.headers
    assert stack.docker.docker("port", stack.container("alertmanager")) == ""


def test_new_series_in_each_scrape_leave_prometheus_as_it_is(stack: Checkout) -> None:
    started, begun = stack.inspect("prometheus", "{{.State.StartedAt}}"), time.monotonic()
    until(lambda: time.monotonic() - begun > WATCHED, "the time of many scrapes", WATCHED + 30)
    assert stack.inspect("prometheus", "{{.State.StartedAt}}") == started
    (pages,) = stack.prometheus("query?query=max(scrape_samples_scraped{job='vllm'})")["result"]
    assert int(pages["value"][1]) == NEW_SERIES
    (head,) = stack.prometheus("query?query=prometheus_tsdb_head_series")["result"]
    assert int(head["value"][1]) < NEW_SERIES / 2


def test_files_that_root_left_in_a_volume_are_given_to_the_owner(stack: Checkout) -> None:
    stack.made("down")
    in_volume(stack, SAMPLES, "chown -R 0:0 .")
    stack.made("up")
    stack.until_healthy(*SERVICES)
    assert in_volume(stack, SAMPLES, "find . -user 0") == ""


def test_a_file_of_another_user_is_named(stack: Checkout) -> None:
    stack.made("down")
    in_volume(stack, SAMPLES, "touch strange && chown 4242:4242 strange")
    done = stack.make("up")
    assert done.returncode
    assert "/volumes/prometheus/strange belongs to user 4242" in done.stderr
    in_volume(stack, SAMPLES, "rm strange")
    stack.made("up")


@pytest.mark.parametrize("name", ["nflog", "silences"])
def test_a_damaged_file_of_alertmanager_is_set_aside_and_named(stack: Checkout, name: str) -> None:
    stack.made("down")
    in_volume(stack, SILENCES, f"head -c 4096 /dev/urandom >{name} && chmod 644 {name}")
    done = stack.make("up")
    assert done.returncode == 0, done.stderr
    assert f"/alertmanager/{name} was damaged" in done.stderr
    stack.until_healthy("alertmanager")
    assert f"{name}.damaged-" in in_volume(stack, SILENCES, "ls")


def test_a_restored_backup_has_the_samples_from_before(stack: Checkout) -> None:
    """As docs/operate/scale.md says, with the image that is there."""
    until(lambda: stack.prometheus("query?query=count_over_time(up[1h])")["result"], "samples")
    before = time.time()
    stack.made("down")
    in_volume(stack, SAMPLES, "tar czf /tmp/all.tgz . && rm -rf /data/* && tar xzf /tmp/all.tgz && chown -R 0:0 .")
    stack.made("up")
    stack.until_healthy(*SERVICES)
    query = f"query?time={before}&query=count(up)"
    assert stack.prometheus(query)["result"]
