"""Five loads on two real servers, of which all but one are not alike: no verdict may be one that the clients refute."""

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from statistics import fmean

import httpx
import pytest

from conftest import Tell
from draftboard.reading import growth, read, together
from draftboard.report import ModelReport, Reading, verdict_of
from draftboard.settings import Settings
from support.vllm_server import KEY, MODEL, Vllm

pytestmark = pytest.mark.vllm

REQUESTS, AT_A_TIME, ANSWER = 45, 3, 40
SHORT, LONG = 39, 1027
NOISE = 0.15
"""Of the clients' own times, on cores that others use too."""


@dataclass(frozen=True)
class Load:
    """Requests of one kind: tokens of each prompt, and of the answers in turn."""

    prompt: int = SHORT
    answers: Sequence[int] = (ANSWER,)


FAIR = Load()


@dataclass(frozen=True)
class Seen:
    """What came of a load on both servers at once."""

    report: ModelReport
    clients: float | None
    """Time of a token of whole answers, as the clients measured it: the baseline's over the other one's."""

    def __str__(self) -> str:
        clients = "-" if self.clients is None else f"{self.clients:.2f}"
        return f"clients {clients}; {verdict_of(self.report)}; {self.report.verdict.reasons[0]}"


def times(server: Vllm, load: Load) -> Iterator[float]:
    """Of each token of answers that are whole."""

    def one(number: int) -> float | None:
        tokens = load.answers[number % len(load.answers)]
        request = {
            "model": MODEL,
            "prompt": [3 + (number * 7 + place * (1 + number % 3)) % 50 for place in range(load.prompt)],
            "max_tokens": tokens,
            "temperature": 0,
            "ignore_eos": True,
        }
        began = time.perf_counter()
        client.post("/v1/completions", json=request, timeout=300).raise_for_status()
        return (time.perf_counter() - began) / tokens if tokens == ANSWER else None

    with (
        httpx.Client(base_url=server.url, headers={"Authorization": f"Bearer {KEY}"}, trust_env=False) as client,
        ThreadPoolExecutor(AT_A_TIME) as several,
    ):
        yield from (seconds for seconds in several.map(one, range(REQUESTS)) if seconds is not None)


def seen(drafting: Vllm, plain: Vllm, own: Load, baseline: Load | None, settings: Settings) -> Seen:
    servers, loads = (drafting, plain), (own, baseline)
    before, began = [read(one.page(), one.url) for one in servers], time.monotonic()
    with ThreadPoolExecutor(len(servers)) as both:
        found = list(both.map(lambda pair: list(times(*pair)) if pair[1] else [], zip(servers, loads, strict=True)))
    seconds = time.monotonic() - began
    after = [read(one.page(), one.url) for one in servers]
    grown = together([growth(*pages, seconds) for pages in zip(before, after, strict=True)])
    report = Reading(after, grown, settings, "ngram").report()
    (model,) = (one for one in report.models if one.sample)
    clients = fmean(found[1]) / fmean(found[0]) if all(found) else None
    return Seen(model, clients)


def assert_not_refuted(found: Seen) -> None:
    says = found.report.verdict.says or ""
    if found.clients is not None:
        assert not ("wait less" in says and found.clients < 1 - NOISE), found
        assert not ("wait longer" in says and found.clients > 1 + NOISE), found
        assert not ("measured by steps" in says and "pays" in says and found.clients < 1 - NOISE), found


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
    found = seen(vllm, plain_vllm, own, baseline, stack_settings)
    tell("verdicts on loads that are not alike", f"{name}: {found}")
    assert_not_refuted(found)
    if withheld:
        assert found.report.verdict.withheld == withheld, found
        assert found.report.measured_speedup is None
    elif baseline is None:
        assert "measured" not in (found.report.verdict.says or ""), found
    else:
        assert found.report.measured_speedup is not None, found
