"""The engine process stops, while its server answers probes and scrapes as ever: the alerts tell, and resolve."""

import re
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import product

import pytest

from draftboard.catalogue import Metric, around, latency, serving
from draftboard.reading import Page, read
from draftboard.settings import Settings, load
from draftboard.signals.requests import GENERATING
from support.hung import AT_WORK_SECONDS, ROUTES, ask, healthy, stopped, stopped_when
from support.loopback import free_port
from support.scraped import Scraper, scraping
from support.vllm_server import SPECULATION, Start, Vllm

pytestmark = pytest.mark.vllm

RULES = """
[rules]
scrape_interval = "1s"
evaluation_interval = "1s"
window = "10s"
down_after = "5s"

[alerts.VLLMEngineStuck]
for = "3s"

[alerts.VLLMRequestsUnanswered]
for = "3s"
"""
TOLD_SECONDS = 15
"""By then the first alert has fired: window, pending period, and a scrape and an evaluation."""
LONGEST, AT_A_TIME = 8192, 32
"""Tokens of a prompt, and of one step: as many steps as a prompt of 131,072 tokens in steps of 512."""
OPTIONS = f"--max-model-len {LONGEST} --max-num-batched-tokens {AT_A_TIME}"
HELD, ROUNDS = 4, 5
ENOUGH = 5
"""Values of the filling cache that are seen."""
ANSWERS, IMPATIENT = 300.0, 2.0
"""Seconds that a client waits."""


@dataclass(frozen=True)
class Watched:
    """A server and the Prometheus that scrapes it."""

    server: Vllm
    prometheus: Scraper
    clients: ThreadPoolExecutor

    @property
    def page(self) -> Page:
        """As it is now."""
        return read(self.server.page(), "page")

    def ask(self, route: str, timeout: float, **options: object) -> Future[dict[str, object] | None]:
        """One request, while others wait."""
        return self.clients.submit(ask, self.server, route, timeout, **options)

    def give_up(self) -> None:
        """A client for each route, with and without a stream, that does not wait for long."""
        asked = [self.ask(route, IMPATIENT, stream=stream) for route, stream in product(ROUTES, (False, True))]
        assert not any(one.result() for one in asked)


@pytest.fixture(scope="module")
def watched(start: Start, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    folder, port = tmp_path_factory.mktemp("hung"), free_port()
    (folder / "settings.toml").write_text(RULES)
    settings: Settings = load(folder / "settings.toml")
    with (
        start("hangs", SPECULATION, OPTIONS, port) as server,
        scraping(folder, settings, port, "ngram") as prometheus,
        ThreadPoolExecutor(HELD + 2 * len(ROUTES)) as clients,
    ):
        yield Watched(server, prometheus, clients)


def total(page: Page, metric: Metric, **labels: str) -> float:
    return sum(value for found, value in page.of(metric).items() if labels.items() <= dict(found).items())


def counted(page: Page) -> float:
    return total(page, around.HTTP_REQUESTS)


def test_a_hang_that_begins_before_the_first_request_is_told_once_clients_give_up(watched: Watched) -> None:
    watched.prometheus.wait_until_firing(set())
    with stopped(watched.server):
        patient = watched.ask("/v1/completions", ANSWERS)
        for _ in range(ROUNDS):
            watched.give_up()
        watched.prometheus.wait_until_firing({"VLLMRequestsUnanswered"})
        page = watched.page
        by_route = {route: total(page, around.HTTP_REQUESTS, handler=route, status="2xx") for route in ROUTES}
        assert by_route == dict.fromkeys(ROUTES, 2 * ROUNDS)  # Not who still waits.
        assert sum(by_route.values()) == counted(page)
        assert total(page, latency.TIME_TO_FIRST_TOKEN.count) == 0
        assert total(page, serving.REQUESTS_RUNNING) == total(page, serving.REQUESTS_WAITING) == 0
        assert healthy(watched.server)
    assert patient.result()
    watched.prometheus.wait_until_firing(set())


@pytest.mark.parametrize("route", ROUTES)
def test_the_signal_counts_every_route_that_generates(route: str) -> None:
    assert re.fullmatch(GENERATING, route)


def test_a_hang_that_holds_requests_is_told_and_they_end_when_it_goes_on(watched: Watched) -> None:
    held = [
        watched.ask("/v1/completions", ANSWERS, max_tokens=LONGEST // 4, ignore_eos=True, temperature=1.2)
        for _ in range(HELD)
    ]
    with stopped_when(watched.server, lambda: total(watched.page, serving.REQUESTS_RUNNING) == HELD):
        watched.prometheus.wait_until_firing({"VLLMEngineStuck"})
        before = watched.page
        watched.give_up()
        watched.server.wait("they count", lambda: counted(watched.page) - counted(before) == 2 * len(ROUTES))
        after = watched.page
        assert total(after, around.HTTP_REQUESTS, status="2xx") == counted(after)
        for page in (before, after):
            assert total(page, serving.REQUESTS_RUNNING) == HELD
            assert total(page, serving.REQUESTS_WAITING) == 0
        for metric in (serving.GENERATION_TOKENS, serving.REQUESTS_FINISHED):
            assert total(before, metric) == total(after, metric)
        assert healthy(watched.server)
    assert all(one.result() for one in held)
    assert total(watched.page, serving.REQUESTS_FINISHED, finished_reason="abort") == 0
    watched.prometheus.wait_until_firing(set())


def test_a_long_prompt_fills_the_cache_and_is_no_hang(watched: Watched) -> None:
    """The engine works for moments: the prompt outlasts the alert's pending period."""
    generated = total(watched.page, serving.GENERATION_TOKENS)
    answer = watched.ask("/v1/completions", ANSWERS, prompt=[7] * (LONGEST - 1), max_tokens=1)
    used, began, fired = list[float](), time.monotonic(), set[str]()
    while not answer.done() and not (time.monotonic() - began > 2 * TOLD_SECONDS and len(set(used)) > ENOUGH):
        with stopped(watched.server):
            page = watched.page
            if total(page, serving.GENERATION_TOKENS) == generated and total(page, serving.REQUESTS_RUNNING):
                used.append(total(page, serving.KV_CACHE_USAGE))
            fired |= watched.prometheus.firing
            time.sleep(1)
        time.sleep(AT_WORK_SECONDS)
    assert answer.result()
    assert time.monotonic() - began > TOLD_SECONDS
    assert used == sorted(used)
    assert len(set(used)) > ENOUGH
    assert not fired
