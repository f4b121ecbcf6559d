"""A switchback on a live vLLM, by routing: what it reads from a Prometheus, beside what its clients measured."""

import itertools
import json
import math
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import httpx
import pytest

from conftest import Tell, program
from draftboard import experiment as room
from draftboard.durations import Duration
from draftboard.experiment.plan import Block
from draftboard.prometheus import Server
from draftboard.reading import Lifetime, Recorded
from draftboard.report import report
from draftboard.settings import Settings
from support.known import known
from support.vllm_server import KEY, MODEL, SPECULATION, Start, Vllm

pytestmark = pytest.mark.vllm

PAIRS, BLOCK, WASHOUT = 16, 8.0, 3.0
ANSWER, AT_A_TIME = 40, 2
SCRAPE = 1
NOISE = 0.15
"""Of requests that one side counts in a block and the other does not."""


class Answer(NamedTuple):
    """As its client saw it."""

    ended: float
    token: float
    """Mean seconds of each token after the first."""


@pytest.fixture(scope="module")
def estimating(start: Start) -> Iterator[Vllm]:
    """It speculates, and estimates what its steps compute and move."""
    with start("estimating", SPECULATION, "--enable-mfu-metrics") as server:
        yield server


def ask(client: httpx.Client, number: int) -> Answer:
    request = {
        "model": MODEL,
        "prompt": [3 + (number * 7 + place * (1 + number % 3)) % 50 for place in range(39)],
        "max_tokens": ANSWER,
        "temperature": 0,
        "ignore_eos": True,
        "stream": True,
    }
    came = list[float]()
    with client.stream("POST", "/v1/completions", json=request, timeout=300) as answer:
        answer.raise_for_status()
        came.extend(time.perf_counter() for line in answer.iter_lines() if '"text"' in line)
    return Answer(time.time(), (came[-1] - came[0]) / (ANSWER - 1))


def routed(server: Vllm, until: float, numbers: Iterator[int]) -> list[Answer]:
    """Answers that came until then, of clients that each ask anew at once."""

    def one(_: int) -> list[Answer]:
        answers = list[Answer]()
        while time.time() < until:
            answers.append(ask(client, next(numbers)))
        return answers

    with (
        httpx.Client(base_url=server.url, headers={"Authorization": f"Bearer {KEY}"}, trust_env=False) as client,
        ThreadPoolExecutor(AT_A_TIME) as clients,
    ):
        return [answer for each in clients.map(one, range(AT_A_TIME)) for answer in each]


def sooner(experiment: room.Experiment, seen: dict[Block, list[Answer]]) -> float:
    """How many times sooner tokens came with the second arm: the geometric mean over pairs."""
    means = {
        (block.pair, block.arm): fmean(one.token for one in answers if block.counted <= one.ended < block.end)
        for block, answers in seen.items()
    }
    return math.exp(fmean(math.log(means[pair, 0] / means[pair, 1]) for pair in range(len(experiment.first))))


def test_a_switchback_shows_what_its_clients_measured(
    estimating: Vllm, plain_vllm: Vllm, stack_settings: Settings, tmp_path: Path, tell: Tell
) -> None:
    servers = (plain_vllm, estimating)
    rules = stack_settings.rules.model_copy(update={"scrape_interval": Duration(SCRAPE)})
    traffic = stack_settings.traffic.model_copy(update={"requests_to_compare": 5})
    settings = stack_settings.model_copy(update={"rules": rules, "traffic": traffic})
    targets = [server.url.removeprefix("http://") for server in servers]
    scrape = {"job_name": "vllm", "scrape_interval": f"{SCRAPE}s", "static_configs": [{"targets": targets}]}
    prometheus = Server(program("prometheus"), tmp_path, Duration(300), json.dumps({"scrape_configs": [scrape]}))
    with prometheus.running() as url:
        for server in servers:  # What a first request takes longer for is in no block.
            routed(server, time.time() + 1, itertools.count())
        arms = room.Arm("none", "route to the plain one"), room.Arm("ngram", "route to the drafting one")
        drawn = room.plan(arms, start=time.time(), block=BLOCK, washout=WASHOUT, pairs=PAIRS)
        room.save(drawn, tmp_path / "plan.json")
        planned, numbers = room.load(tmp_path / "plan.json"), itertools.count()
        seen = {block: routed(servers[block.arm], block.end, numbers) for block in planned.blocks()}
        source, end = Recorded(url, None, MODEL), [*planned.blocks()][-1].end
        early = room.read(planned, source, settings, planned.start + 4 * BLOCK)
        result = room.read(planned, source, settings, end)
    clients = sooner(planned, seen)
    tell("switchback on a live vLLM", f"clients {clients:.2f}; {result.pairs} pairs, {result.per_token}: {result.says}")
    assert (early.per_token, early.says, early.stop) == (None, "nothing is shown yet", False)
    if result.pairs < PAIRS:
        assert result.notes, "it says how many are missing"
    interval = known(result.per_token)
    assert interval.low <= clients <= interval.high
    assert interval.value == pytest.approx(clients, rel=NOISE), "both measured these requests"
    if result.stop:
        assert (clients > 1) == (result.says == "users wait less")


def test_vllm_estimates_operations_and_bytes_of_its_steps(estimating: Vllm, tmp_path: Path, tell: Tell) -> None:
    routed(estimating, time.time() + 3, itertools.count())
    (tmp_path / "page").write_text(estimating.page())
    (model,) = report(Lifetime(tmp_path / "page", None), method="ngram").models
    found = known(known(model.speculation).arithmetic)
    tell("operations and bytes that a live vLLM estimates", str(found))
    assert 0 < found.intensity < found.with_one_more
    assert found.bound_by_memory, "a model of few small layers does little arithmetic"
