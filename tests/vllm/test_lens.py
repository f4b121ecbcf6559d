"""The lens in a real vLLM: its classes add up to what the server counts, streams too, and it costs a request little."""

import time
from concurrent.futures import ThreadPoolExecutor
from statistics import median
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from conftest import Tell
from support.vllm_server import KEY, MODEL, PER_REQUEST, SPECULATION, Start, Vllm
from support.vllm_traffic import AT_A_TIME, PROMPTS

pytestmark = pytest.mark.vllm

USAGE = "--enable-force-include-usage"
LENS = "--middleware draftboard_probe.Lens"
HEADER = {"DRAFTBOARD_LENS_HEADER": "X-Tenant"}
TEMPERATURES = (0.0, 1.2)
LENGTHS = (1, 12)
"""Repetitions of a prompt: under and over no bound of a class, as the tiny model's context is 1,024 tokens."""
TOKENS = 64
VLLM_COUNTERS = {
    "drafts": "vllm:spec_decode_num_drafts_total",
    "draft_tokens": "vllm:spec_decode_num_draft_tokens_total",
    "accepted_tokens": "vllm:spec_decode_num_accepted_tokens_total",
    "prompt_tokens": "vllm:prompt_tokens_total",
    "generation_tokens": "vllm:generation_tokens_total",
}


def ask(client: httpx.Client, number: int) -> None:
    """Half of the requests are streamed, in each class."""
    temperature, length = TEMPERATURES[number // 2 % 2], LENGTHS[number // 4 % 2]
    request: dict[str, Any] = {
        "model": MODEL,
        "prompt": f"{number} " + PROMPTS[number % len(PROMPTS)] * length,
        "max_tokens": TOKENS,
        "temperature": temperature,
        "ignore_eos": True,
        "stream": bool(number % 2),
    }
    headers = {"X-Tenant": f"tenant {number % 3}"}
    client.post("/v1/completions", json=request, headers=headers).raise_for_status()


def client_of(server: Vllm) -> httpx.Client:
    return httpx.Client(base_url=server.url, headers={"Authorization": f"Bearer {KEY}"}, trust_env=False, timeout=300)


def ask_many(server: Vllm, count: int) -> None:
    with client_of(server) as client, ThreadPoolExecutor(AT_A_TIME) as several:
        list(several.map(lambda number: ask(client, number), range(count)))


def sums(server: Vllm) -> dict[tuple[str, ...], float]:
    """Of series of vLLM by name; of those of the lens by name, dimension and class."""
    found: dict[tuple[str, ...], float] = {}
    for family in text_string_to_metric_families(server.page()):
        for sample in family.samples:
            labels = sample.labels
            key = (sample.name, labels["dimension"], labels["class"]) if "dimension" in labels else (sample.name,)
            found[key] = found.get(key, 0.0) + sample.value
    return found


def test_classes_add_up_to_vllms_counters_and_part_what_the_mean_hides(start: Start, tell: Tell) -> None:
    with start("lens", SPECULATION, f"{PER_REQUEST} {USAGE} {LENS}", variables=HEADER) as server:
        ask_many(server, 48)
        found = sums(server)
        for name, counter in VLLM_COUNTERS.items():
            for by in ("temperature", "prompt", "temperature and prompt", "name", "header"):
                of_classes = sum(
                    value for key, value in found.items() if key[:2] == (f"draftboard_spec_class_{name}_total", by)
                )
                assert of_classes == found[counter,], (name, by)
        assert found.get(("draftboard_spec_lens_errors_total",), 0) == 0
        assert found.get(("draftboard_spec_lens_unmeasured_total",), 0) == 0
        names = [key[2] for key in found if key[:2] == ("draftboard_spec_class_requests_total", "header")]
        assert sorted(names) == ["tenant 0", "tenant 1", "tenant 2"]
        rates = {
            of: found["draftboard_spec_class_accepted_tokens_total", "temperature", of]
            / found["draftboard_spec_class_draft_tokens_total", "temperature", of]
            for of in ("0", "up to 1.2")
        }
        overall = found[VLLM_COUNTERS["accepted_tokens"],] / found[VLLM_COUNTERS["draft_tokens"],]
        assert rates["0"] > overall > rates["up to 1.2"]
        with client_of(server) as client:
            request = {"model": MODEL, "prompt": "a", "max_tokens": 600, "temperature": 0, "ignore_eos": True}
            with client.stream("POST", "/v1/completions", json={**request, "stream": True}) as answer:
                next(answer.iter_lines())
            server.wait(
                "the killed client is counted",
                lambda: sums(server).get(("draftboard_spec_lens_unmeasured_total",), 0) == 1,
            )
            broken = client.post(
                "/v1/completions", content=b'{"prompt": ', headers={"Content-Type": "application/json"}
            )
            assert broken.is_client_error
            ask(client, 0)
        assert sums(server).get(("draftboard_spec_lens_errors_total",), 0) == 0
        shown = ", ".join(f"temperature {of} {rate:.3f}" for of, rate in rates.items())
        tell("lens: acceptance by class on a real vLLM", f"overall {overall:.3f}: {shown}")


def test_it_costs_a_request_little(start: Start, tell: Tell) -> None:
    """Requests one after the other with and without the lens, on two servers of the same options."""

    def took(client: httpx.Client) -> float:
        begin = time.perf_counter()
        ask(client, 1)
        return time.perf_counter() - begin

    words = f"{PER_REQUEST} {USAGE}"
    with (
        start("with-lens", SPECULATION, f"{words} {LENS}", variables=HEADER) as seen,
        start("without-lens", SPECULATION, words) as unseen,
        client_of(seen) as one,
        client_of(unseen) as other,
    ):
        pairs = [(took(one), took(other)) for _ in range(40)][4:]
        with_lens, without = (median(pair[side] for pair in pairs) for side in (0, 1))
        assert "draftboard_spec_class" not in unseen.page()
    tell("lens: a request", f"median {1000 * with_lens:.1f} ms with it, {1000 * without:.1f} ms without")
