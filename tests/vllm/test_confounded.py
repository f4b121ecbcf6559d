"""Five loads on two real servers, of which all but one are not alike: no verdict may be one that the clients refute."""

import re
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from statistics import fmean

import httpx
import pytest

from conftest import Tell
from draftboard.reading import growth, read, together
from draftboard.report import ModelReport, Reading, verdict_of
from draftboard.settings import Settings
from draftboard.signals.verdicts import MEASURED
from support.vllm_server import KEY, MODEL, Vllm

pytestmark = pytest.mark.vllm

REQUESTS, AT_A_TIME, ANSWER = 90, 3, 40
SHORT, LONG = 39, 772
FAIR_RUNS = 4
NOISE = 0.15
"""Of the clients' own times, on cores that others use too."""


@dataclass(frozen=True)
class Load:
    """Requests of one kind: tokens of each prompt, and of the answers in turn."""

    prompt: int = SHORT
    answers: Sequence[int] = (ANSWER,)


FAIR = Load()


@dataclass(frozen=True)
class Timed:
    """Mean seconds of whole answers, as clients measured them."""

    token: float
    """Of each token after the first."""
    answer: float


@dataclass(frozen=True)
class Seen:
    """What came of a load on both servers at once."""

    report: ModelReport
    own: Timed
    baseline: Timed | None

    @property
    def sooner(self) -> float:
        """How many times sooner tokens come than the baseline's."""
        assert self.baseline
        return self.baseline.token / self.own.token

    @property
    def sooner_whole(self) -> float:
        """The same of whole answers."""
        assert self.baseline
        return self.baseline.answer / self.own.answer

    def __str__(self) -> str:
        clients = f"clients: tokens {self.sooner:.2f}, answers {self.sooner_whole:.2f}; " if self.baseline else ""
        return f"{clients}{verdict_of(self.report)}; {self.report.verdict.reasons[0]}"


def times(server: Vllm, load: Load) -> Timed:
    """Of answers that are whole."""

    def one(number: int) -> tuple[float, float] | None:
        tokens = load.answers[number % len(load.answers)]
        request = {
            "model": MODEL,
            "prompt": [3 + (number * 7 + place * (1 + number % 3)) % 50 for place in range(load.prompt)],
            "max_tokens": tokens,
            "temperature": 0,
            "ignore_eos": True,
            "stream": True,
        }
        began, came = time.perf_counter(), list[float]()
        with client.stream("POST", "/v1/completions", json=request, timeout=300) as answer:
            answer.raise_for_status()
            came.extend(time.perf_counter() for line in answer.iter_lines() if '"text"' in line)
        return ((came[-1] - came[0]) / (tokens - 1), came[-1] - began) if tokens == ANSWER else None

    with (
        httpx.Client(base_url=server.url, headers={"Authorization": f"Bearer {KEY}"}, trust_env=False) as client,
        ThreadPoolExecutor(AT_A_TIME) as several,
    ):
        return Timed(*map(fmean, zip(*filter(None, several.map(one, range(REQUESTS))), strict=True)))


def seen(drafting: Vllm, plain: Vllm, own: Load, baseline: Load | None, settings: Settings) -> Seen:
    servers, loads = (drafting, plain), (own, baseline)
    before, began = [read(one.page(), one.url) for one in servers], time.monotonic()
    with ThreadPoolExecutor(len(servers)) as both:
        ours, theirs = both.map(lambda one, load: times(one, load) if load else None, servers, loads)
    seconds = time.monotonic() - began
    after = [read(one.page(), one.url) for one in servers]
    grown = together([growth(*pages, seconds) for pages in zip(before, after, strict=True)])
    report = Reading(after, grown, settings, "ngram").report()
    (model,) = (one for one in report.models if one.sample)
    assert ours
    return Seen(model, ours, theirs)


def assert_not_refuted(found: Seen) -> None:
    says = found.report.verdict.says or ""
    if found.baseline is None:
        return
    if "wait less" in says:
        assert min(found.sooner, found.sooner_whole) > 1 - NOISE, found
    if "pays" in says:
        assert found.sooner > 1 - NOISE, found
    if "wait longer" in says or "costs" in says:
        assert found.sooner < 1 + NOISE, found


EXPERIMENTS = {
    "answers": (Load(answers=(ANSWER, 1, 1)), FAIR, "variants not alike: answers"),
    "prompts of the baseline": (FAIR, Load(prompt=LONG), "variants not alike: prompts"),
    "prompts": (Load(prompt=LONG), FAIR, "variants not alike: prompts"),
    "alone": (FAIR, None, None),
    "fair": (FAIR, FAIR, None),
}
"""By name: the load of the drafting server, that of its baseline, and what is withheld."""


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_no_verdict_is_one_that_clients_refute(
    name: str, vllm: Vllm, plain_vllm: Vllm, stack_settings: Settings, tell: Tell
) -> None:
    own, baseline, withheld = EXPERIMENTS[name]
    # Cores that others use lengthen the steps of one side alone: a fair load shows a verdict in one of a few runs.
    for _ in range(FAIR_RUNS if withheld is None and baseline else 1):
        found = seen(vllm, plain_vllm, own, baseline, stack_settings)
        tell("verdicts on loads that are not alike", f"{name}: {found}")
        assert_not_refuted(found)
        if found.report.verdict.basis == MEASURED:
            break
    if withheld:
        assert found.report.verdict.withheld == withheld, found
        assert re.search(rf"{withheld.rpartition(' ')[2]} of \d+ against \d+ tokens", str(found)), found
        assert found.report.measured_speedup is None
    elif baseline is None:
        assert "measured" not in (found.report.verdict.says or ""), found
    else:
        assert found.report.verdict.basis == MEASURED, found
