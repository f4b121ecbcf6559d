"""Hostile exporters: the limits of the generated prometheus.yml apply, and other servers stay monitored."""

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from http.server import BaseHTTPRequestHandler

import httpx
import pytest

from conftest import program
from draftboard.lab.drill import Programs, Wiring, wired
from draftboard.prometheus import Client
from draftboard.settings import Settings
from support.loopback import Answer, answering

pytestmark = [pytest.mark.prometheus, pytest.mark.xdist_group("drill")]

PATIENCE = 300
# Also the time limit of a scrape: long enough for a loaded machine.
SCRAPE_INTERVAL = "5s"
SILENT = "never answers"
TIMED_OUT = "context deadline exceeded"
CHUNK = b"# " + b"x" * 65_533 + b"\n"


def _page(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Type", "text/plain; version=0.0.4")
    handler.end_headers()


def server_error(handler: BaseHTTPRequestHandler) -> None:
    handler.send_error(500)


def garbage(handler: BaseHTTPRequestHandler) -> None:
    _page(handler)
    handler.wfile.write(bytes(range(255, 0, -1)) * 100)


def hundred_megabytes(handler: BaseHTTPRequestHandler) -> None:
    _page(handler)
    for _ in range(100 * 1024 * 1024 // len(CHUNK)):
        handler.wfile.write(CHUNK)


def a_million_label_values(handler: BaseHTTPRequestHandler) -> None:
    _page(handler)
    handler.wfile.write(series('vllm:num_requests_running{{user="{}"}} 1\n', 1_000_000))


@cache
def series(line: str, number: int) -> bytes:
    """As many lines as given, each with its own number."""
    return "".join(line.format(each) for each in range(number)).encode()


def too_many_samples(handler: BaseHTTPRequestHandler) -> None:
    """Within the body size limit, over the sample limit."""
    _page(handler)
    handler.wfile.write(series('vllm:num_requests_running{{model_name="{}"}} 1\n', 6_000))


def a_huge_label(handler: BaseHTTPRequestHandler) -> None:
    _page(handler)
    handler.wfile.write(f'vllm:num_requests_running{{model_name="{"v" * 5_000}"}} 1\n'.encode())


HOSTILE: dict[str, tuple[Answer, str]] = {
    "server error": (server_error, "500"),
    "garbage": (garbage, "expected a valid start token"),
    "100 MB": (hundred_megabytes, "body size limit exceeded"),
    "a million label values": (a_million_label_values, "limit exceeded"),
    "6,000 samples": (too_many_samples, "sample limit exceeded"),
    "a label of 5,000 characters": (a_huge_label, "label_value_length_limit exceeded"),
}


@dataclass
class Watched:
    """What Prometheus has said about a healthy server and hostile ones."""

    wiring: Wiring
    errors: dict[str, set[str]]
    """Scrape errors of each hostile target: on a busy machine some are time limits."""
    drafting: bool = False
    """Draft counters of the healthy server were current at the end."""

    def complete(self) -> bool:
        """Whether every hostile target has been refused for its reason, and the healthy one has not."""
        reasons = {name: says for name, (_, says) in HOSTILE.items()} | {SILENT: TIMED_OUT}
        return self.drafting and all(
            any(says in error for error in self.errors[name]) for name, says in reasons.items()
        )


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    """One healthy server and hostile ones, until each hostile one has been refused for its reason."""
    programs = Programs(program("prometheus"), program("alertmanager"))
    rules = {"scrape_interval": SCRAPE_INTERVAL, "evaluation_interval": SCRAPE_INTERVAL}
    settings = Settings.model_validate({"rules": rules, "stack": {"scrape": {"labels": ["is"]}}})
    ending = threading.Event()
    with ExitStack() as stack:
        wiring = stack.enter_context(
            wired(settings, programs, tmp_path_factory.mktemp("hostile"), "http://127.0.0.1:9/")
        )
        places = {name: stack.enter_context(answering(answer)) for name, (answer, _) in HOSTILE.items()}
        places[SILENT] = stack.enter_context(answering(lambda _: _ended(ending)))
        stack.callback(ending.set)
        wiring.watch("hostile", [{"targets": [place], "labels": {"is": name}} for name, place in places.items()])
        wiring.start_prometheus()
        wiring.start_simulator("healthy-eagle3", speed=60)
        found = Watched(wiring, {name: set() for name in places})
        deadline = time.monotonic() + PATIENCE
        while not found.complete() and time.monotonic() < deadline:
            for name, error in errors(wiring).items():
                found.errors[name] |= {error}
            found.drafting = drafting(wiring)
            threading.Event().wait(0.1)
        yield found


def _ended(ending: threading.Event) -> None:
    ending.wait(PATIENCE)


def errors(wiring: Wiring) -> dict[str, str]:
    """Last scrape error of each hostile target; empty before its first scrape."""
    found = httpx.get(f"{wiring.prometheus_url}/api/v1/targets").json()["data"]["activeTargets"]
    return {one["labels"]["is"]: one["lastError"] for one in found if "is" in one["labels"]}


def drafting(wiring: Wiring) -> bool:
    """Whether draft counters of the healthy server are current."""
    with Client(wiring.prometheus_url) as client:
        return bool(client.query('vllm:spec_decode_num_drafts_total{is=""}', time.time()))


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_page_is_rejected_with_its_reason(watched: Watched, name: str) -> None:
    _, says = HOSTILE[name]
    assert any(says in error for error in watched.errors[name]), watched.errors[name]


def test_a_server_that_never_answers_times_out(watched: Watched) -> None:
    assert any(TIMED_OUT in error for error in watched.errors[SILENT]), watched.errors[SILENT]


def test_no_sample_of_a_hostile_page_is_stored(watched: Watched) -> None:
    with Client(watched.wiring.prometheus_url) as client:
        stored = client.query('count by (__name__) (last_over_time({is!=""}[1h]))', time.time())
    assert {one.labels["__name__"] for one in stored} <= {"up"} | {
        f"scrape_{what}"
        for what in ("duration_seconds", "samples_scraped", "samples_post_metric_relabeling", "series_added")
    }


def test_other_servers_stay_monitored(watched: Watched) -> None:
    assert watched.drafting
