"""Volumes that are damaged or of another user, hostile servers and pages: what the stack does with them."""

import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count

import httpx
import pytest
import yaml

from draftboard.lab.receivers import Arrival, Receiver
from stack.checkout import Checkout, checkout, remove_volumes
from stack.engine import Engine
from support.waiting import until

pytestmark = pytest.mark.stack

SERVICES = ("prometheus", "alertmanager", "grafana")
SAMPLES, SILENCES = "draftboard_prometheus-data", "draftboard_alertmanager-data"
FOREIGN = {"Origin": "https://evil.example", "Host": "evil.example"}
PLAIN = b'vllm:num_requests_running{model_name="m",engine="0"} 1\n'
OUTAGE = {"alertname": "VLLMTargetDown", "instance": "many"}
WARNED = 540.0  # seconds: the silence of a server, the pending period of its alert, and evaluations
SETTINGS = (
    '[stack.scrape]\nmodels = {}\n[stack.notify]\ncritical = ["webhook"]\nwarning = ["webhook"]\ngroup_wait = "5s"\n'
)


class Churning(BaseHTTPRequestHandler):
    """New models in each page: in `/many` too many for one, after some plain pages; in `/few` as many as fit."""

    pages = count()

    def do_GET(self) -> None:
        number, lines = next(Churning.pages), 49_000 if self.path == "/many" else 2_400
        models = (f'vllm:num_requests_running{{model_name="{number}-{line}",engine="0"}} 1\n' for line in range(lines))
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.end_headers()
        self.wfile.write(PLAIN if self.path == "/many" and number < 10 else "".join(models).encode())

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@pytest.fixture(scope="module")
def stack(
    docker: Engine, webhook: tuple[Receiver, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Checkout]:
    """Monitoring of two hostile servers, with half a gigabyte."""
    found = checkout(tmp_path_factory.mktemp("faults"), docker)
    found.made("secrets")
    (found.deploy / "secrets/alert_webhook_url").write_text(webhook[1])
    host = httpx.URL(webhook[1]).host
    with ThreadingHTTPServer((host, 0), Churning) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        target = f"{host}:{server.server_port}"
        pages = {name: {"__metrics_path__": f"/{name}", "instance": name} for name in ("many", "few")}
        targets = [{"targets": [target], "labels": labels} for labels in pages.values()]
        (found.deploy / "prometheus/targets/hostile.yaml").write_text(yaml.safe_dump(targets))
        found.build(SETTINGS.format([]))
        found.configure(
            COMPOSE_PROFILES="monitoring", VLLM_TARGET="127.0.0.1:9", PROMETHEUS_MEMORY="512m", BUILD_FOLDER="built"
        )
        found.made("up")
        found.until_healthy(*SERVICES)
        yield found
        found.made("down")
        server.shutdown()
    remove_volumes(docker)


def fires(stack: Checkout, labels: Mapping[str, str]) -> bool:
    """Whether an alert with these labels fires."""
    firing = (one["labels"] for one in stack.prometheus("alerts")["alerts"] if one["state"] == "firing")
    return any(labels.items() <= one.items() for one in firing)


def test_no_page_of_another_origin_reads_prometheus_and_none_reaches_alertmanager(stack: Checkout) -> None:
    answer = httpx.get(stack.url("prometheus", "/api/v1/query?query=up"), headers=FOREIGN)
    assert "access-control-allow-origin" not in answer.headers
    assert stack.docker.docker("port", stack.container("alertmanager")) == ""


def test_servers_that_invent_models_are_named_while_prometheus_lives_with_half_a_gigabyte(stack: Checkout) -> None:
    started = stack.inspect("prometheus", "{{.State.StartedAt}} {{.RestartCount}}")
    churning = {"alertname": "DraftboardSeriesChurn", "instance": "few", "about": "models"}
    until(lambda: fires(stack, churning), "the churn is named", WARNED)
    until(lambda: fires(stack, OUTAGE), "the server whose page is refused is named", WARNED)
    until(lambda: fires(stack, OUTAGE | {"instance": "few"}), "the server that is scraped no more is named", WARNED)
    until(lambda: added(stack) == ["0"], "no series is new", WARNED)
    assert stack.inspect("prometheus", "{{.State.StartedAt}} {{.RestartCount}}") == started


def added(stack: Checkout) -> list[str]:
    """New series of the last two minutes."""
    rows = stack.prometheus("query?query=increase(prometheus_tsdb_head_series_created_total[2m])")["result"]
    return [row["value"][1] for row in rows]


def test_of_a_server_that_invents_models_only_listed_ones_are_stored(stack: Checkout) -> None:
    stack.build(SETTINGS.format('["m"]'))
    stack.docker.docker("restart", stack.container("prometheus"))  # It scrapes again what filled its memory.
    stack.until_healthy("prometheus")
    query = "query?query=scrape_samples_post_metric_relabeling{instance='few'} and up == 1"
    until(lambda: [row["value"][1] for row in stack.prometheus(query)["result"]] == ["0"], "nothing more is stored")


def is_outage(arrival: Arrival, status: str) -> bool:
    return arrival.status == status and arrival.name in {"VLLMTargetDown", "VLLMModelDown", "VLLMModelGone"}


def test_an_outage_fires_on_in_whatever_order_its_messengers_are_restarted(
    stack: Checkout, webhook: tuple[Receiver, str]
) -> None:
    receiver, _ = webhook
    assert receiver.wait_for(lambda arrivals: any(is_outage(one, "firing") for one in arrivals), WARNED)
    for order in (("prometheus", "alertmanager"), ("alertmanager", "prometheus")):
        for service in order:
            stack.docker.docker("kill", stack.container(service))
            stack.docker.docker("start", stack.container(service))
            stack.until_healthy(service)
    stack.docker.docker("restart", *map(stack.container, ("prometheus", "alertmanager")))
    stack.until_healthy(*SERVICES)
    until(lambda: fires(stack, OUTAGE), "it fires again", WARNED)
    # An end would be told within a round of notifications.
    assert not receiver.wait_for(lambda arrivals: any(is_outage(one, "resolved") for one in arrivals), 90)


def test_files_that_root_left_in_a_volume_are_given_to_the_owner(stack: Checkout) -> None:
    stack.made("down")
    stack.in_volume(SAMPLES, "chown -R 0:0 .")
    stack.made("up")
    stack.until_healthy(*SERVICES)
    assert stack.in_volume(SAMPLES, "find . -user 0") == ""


def test_a_file_of_another_user_is_named(stack: Checkout) -> None:
    stack.made("down")
    stack.in_volume(SAMPLES, "touch strange && chown 4242:4242 strange")
    done = stack.make("up")
    assert done.returncode
    assert "/volumes/prometheus/strange belongs to user 4242" in done.stderr
    stack.in_volume(SAMPLES, "rm strange")
    stack.made("up")


@pytest.mark.parametrize("name", ["nflog", "silences"])
def test_a_damaged_file_of_alertmanager_is_set_aside_and_named(stack: Checkout, name: str) -> None:
    stack.made("down")
    stack.in_volume(SILENCES, f"head -c 4096 /dev/urandom >{name} && chmod 644 {name}")
    done = stack.make("up")
    assert done.returncode == 0, done.stderr
    assert f"/alertmanager/{name} was damaged" in done.stderr
    stack.until_healthy("alertmanager")
    assert f"{name}.damaged-" in stack.in_volume(SILENCES, "ls")
