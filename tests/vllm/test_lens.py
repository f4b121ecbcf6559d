"""The lens in a real vLLM: its classes add up to what the server counts, streams too, and it costs a request little.

What its pages counted is then told by the report, the records of the page and the alert, as a Prometheus has them.
"""

import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import httpx
import pytest

from conftest import Tell, replayed
from draftboard.alerts import ALERTS
from draftboard.durations import Duration
from draftboard.expr.to_promql import promql_of
from draftboard.output import as_markdown
from draftboard.reading import Recorded
from draftboard.report import document, report
from draftboard.settings import Settings
from draftboard.signals import Scope, classes
from support.lensed import (
    LENS,
    LENSED,
    PARTS,
    REQUESTS,
    START,
    USAGE,
    VARIABLES,
    ask,
    ask_many,
    client_of,
    recording,
    sums,
)
from support.replays import behind
from support.vllm_server import MODEL, PER_REQUEST, SPECULATION, Start, Vllm

pytestmark = pytest.mark.vllm

CLASSES = tuple(f"{temperature}, up to {prompt}" for temperature in ("0", "up to 1.2") for prompt in (1024, 4096))
VLLM_COUNTERS = {
    "drafts": "vllm:spec_decode_num_drafts_total",
    "draft_tokens": "vllm:spec_decode_num_draft_tokens_total",
    "accepted_tokens": "vllm:spec_decode_num_accepted_tokens_total",
    "prompt_tokens": "vllm:prompt_tokens_total",
    "generation_tokens": "vllm:generation_tokens_total",
}


@pytest.fixture(scope="module")
def pages(start: Start) -> Iterator[tuple[Vllm, list[str]]]:
    """A server with lens and probe, and its pages while it was asked."""
    with start("lens", SPECULATION, LENSED, variables=VARIABLES) as server:
        read = [server.page()]
        for part in range(PARTS):
            ask_many(server, range(part * REQUESTS, (part + 1) * REQUESTS))
            read.append(server.page())
        yield server, read


def test_classes_add_up_to_vllms_counters_and_part_what_the_mean_hides(
    pages: tuple[Vllm, list[str]], tell: Tell
) -> None:
    found = sums(pages[1][-1])
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
        of: found["draftboard_spec_class_accepted_tokens_total", "temperature and prompt", of]
        / found["draftboard_spec_class_draft_tokens_total", "temperature and prompt", of]
        for of in CLASSES
    }
    overall = found[VLLM_COUNTERS["accepted_tokens"],] / found[VLLM_COUNTERS["draft_tokens"],]
    assert min(rates[of] for of in CLASSES[:2]) > overall > max(rates[of] for of in CLASSES[2:])
    shown = "; ".join(f"temperature {of}: {rate:.3f}" for of, rate in rates.items())
    tell("lens: acceptance by class on a real vLLM", f"overall {overall:.3f} hides {shown}")


def test_the_page_the_report_and_the_alert_tell_the_classes(
    pages: tuple[Vllm, list[str]], tmp_path: Path, tell: Tell
) -> None:
    settings = Settings()
    (alert,) = (alert for alert in ALERTS if alert.name == "SpecDecodeClassLoses")
    condition = alert.condition(Scope(settings))
    shown = [promql_of(one, Scope(settings)) for one in (classes.class_acceptance, classes.class_share)]
    coverage = promql_of(classes.lens_coverage, Scope(settings))
    source, end = tmp_path / "run.om", START + 60 * PARTS
    source.write_text("".join(recording(pages[1])))
    rules, _ = behind([condition, *shown, coverage], settings)
    with replayed(source, settings, rules=rules) as replay:
        (seen,) = replay.client.query(coverage, end)
        table = {
            one.labels["class"]: one.samples[0][1]
            for one in replay.client.query(shown[0], end)
            if one.labels["dimension"] == "temperature and prompt"
        }
        fires = {(one.labels["dimension"], one.labels["class"]) for one in replay.client.query(condition, end)}
        said = report(Recorded(replay.client.url, Duration(600), at=end), settings)
        text = as_markdown(document(said, settings, engines=False))
    assert seen.samples[0][1] == pytest.approx(1, abs=0.02)
    assert sorted(table) == sorted(CLASSES)
    assert min(table[of] for of in CLASSES[:2]) > max(table[of] for of in CLASSES[2:])
    assert ("temperature", "up to 1.2") in fires
    assert ("temperature", "0") not in fires
    (model,) = said.models
    assert model.speculation
    assert {one.name for one in model.classes if one.dimension == "temperature and prompt"} == set(CLASSES)
    assert "Whom does speculation help?" in text
    (worst,) = (line for line in text.splitlines() if line.startswith(("Loses: ", "Helped least: ")))
    tell("lens: the report of a real vLLM", f"acceptance {model.speculation.acceptance:.3f}; {worst}")
    tell("lens: the alert of a real vLLM", f"holds for {sorted(fires)}")


def test_killed_clients_broken_json_a_header_of_10_mb_and_many_tenants_harm_nobody(
    pages: tuple[Vllm, list[str]],
) -> None:
    server, _ = pages
    with client_of(server) as client:
        request = {"model": MODEL, "prompt": "a", "max_tokens": 600, "temperature": 0, "ignore_eos": True}
        with client.stream("POST", "/v1/completions", json={**request, "stream": True}) as answer:
            next(answer.iter_lines())
        server.wait(
            "the killed client is counted",
            lambda: sums(server.page()).get(("draftboard_spec_lens_unmeasured_total",), 0) == 1,
        )
        broken = client.post("/v1/completions", content=b'{"prompt": ', headers={"Content-Type": "application/json"})
        assert broken.is_client_error
        # vLLM takes even that, and answers.
        long = client.post("/v1/completions", json={**request, "max_tokens": 1}, headers={"X-Tenant": "x" * 10**7})
        assert long.is_success
        for tenant in range(100):
            ask(client, 0, f"many {tenant}", tokens=1)
    found = sums(server.page())
    assert found.get(("draftboard_spec_lens_errors_total",), 0) == 0
    names = {key[2] for key in found if key[:2] == ("draftboard_spec_class_requests_total", "header")}
    assert len(names) == 17
    assert "other" in names


def test_it_costs_a_request_little(start: Start, tell: Tell) -> None:
    """Requests in turns with and without the lens, on two servers of the same options; a machine may favour one.

    So the processor time of the servers' front ends is told, too, which the engines are not part of.
    """

    def took(client: httpx.Client) -> float:
        begin = time.perf_counter()
        ask(client, 1)
        return time.perf_counter() - begin

    words = f"{PER_REQUEST} {USAGE}"
    with (
        start("with-lens", SPECULATION, f"{words} {LENS}", variables=VARIABLES) as seen,
        start("without-lens", SPECULATION, words, variables=VARIABLES) as unseen,
        client_of(seen) as one,
        client_of(unseen) as other,
    ):
        for _ in range(4):
            took(one), took(other)
        before = [worked(server) for server in (seen, unseen)]
        pairs = [(took(one), took(other)) for _ in range(36)]
        worked_for = [
            (worked(server) - begin) / len(pairs) for server, begin in zip((seen, unseen), before, strict=True)
        ]
        assert "draftboard_spec_class" not in unseen.page()
    with_lens, without = (median(pair[side] for pair in pairs) for side in (0, 1))
    tell(
        "lens: a streamed request of 64 tokens",
        f"median {1000 * with_lens:.1f} ms with it, {1000 * without:.1f} ms without; processor time of the front end "
        f"{1000 * worked_for[0]:.1f} ms with it, {1000 * worked_for[1]:.1f} ms without",
    )


def worked(server: Vllm) -> float:
    """Processor seconds of the server's front end so far."""
    return sums(server.page())["process_cpu_seconds_total",]
