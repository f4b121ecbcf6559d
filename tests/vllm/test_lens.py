"""The lens in a real vLLM: its classes add up to what the server counts, streams too, and it costs a request little.

What its pages counted is then told by the report, the records of the page and the alert, as a Prometheus has them.
"""

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median

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
from support import grafana
from support.lensed import (
    LENSED,
    PARTS,
    REQUESTS,
    START,
    TOKENS,
    ask,
    ask_many,
    client_of,
    drafting,
    plugged,
    recording,
    sums,
)
from support.replays import behind
from support.vllm_server import MODEL, Start, Vllm
from support.vllm_traffic import AT_A_TIME, PROMPTS

pytestmark = pytest.mark.vllm

LAYERS, PAIRS = 20, 60
"""Lenses that a header puts around a request (`lens_layers.py`), and how often one is compared with one without."""
TENANTS = 10_000
CLASSES = tuple(f"{temperature}, up to {prompt}" for temperature in ("0", "up to 1.2") for prompt in (1024, 4096))
VLLM_COUNTERS = {
    "drafts": "vllm:spec_decode_num_drafts_total",
    "draft_tokens": "vllm:spec_decode_num_draft_tokens_total",
    "accepted_tokens": "vllm:spec_decode_num_accepted_tokens_total",
    "prompt_tokens": "vllm:prompt_tokens_total",
    "generation_tokens": "vllm:generation_tokens_total",
}


Pages = tuple[Vllm, list[str], Path]
"""The server, what its page said while it was asked, and the folder of its plugins."""


@pytest.fixture(scope="module")
def pages(start: Start, models: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pages]:
    """A server with lens and probe, and with more lenses for requests that want them."""
    plugins = tmp_path_factory.mktemp("plugins")
    words = f"{LENSED} --middleware lens_layers.Layers"
    with start("lens", drafting(models), words, variables=plugged(plugins)) as server:
        read = [server.page()]
        for part in range(PARTS):
            ask_many(server, range(part * REQUESTS, (part + 1) * REQUESTS))
            read.append(server.page())
        yield server, read, plugins


def test_classes_add_up_to_vllms_counters_and_part_what_the_mean_hides(pages: Pages, tell: Tell) -> None:
    found = sums(pages[1][-1])
    for name, counter in VLLM_COUNTERS.items():
        for by in ("temperature", "prompt", "temperature and prompt", "name", "header"):
            of_classes = sum(
                value for key, value in found.items() if key[:2] == (f"draftboard_spec_class_{name}_total", by)
            )
            assert of_classes == found[counter,], (name, by)
    assert found.get(("draftboard_spec_lens_unmeasured_total",), 0) == 0
    names = [key[2] for key in found if key[:2] == ("draftboard_spec_class_requests_total", "header")]
    assert sorted(names) == ["tenant-0", "tenant-1", "tenant-2"]
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
    pages: Pages, files: Mapping[str, str], tmp_path: Path, tell: Tell
) -> None:
    settings = Settings()
    (alert,) = (alert for alert in ALERTS if alert.name == "SpecDecodeClassLoses")
    condition = alert.condition(Scope(settings))
    coverage = promql_of(classes.lens_coverage, Scope(settings))
    shown = panel_queries(files)
    source, end = tmp_path / "run.om", START + 60 * PARTS
    source.write_text("".join(recording(pages[1])))
    rules, _ = behind([condition, coverage, *shown.values()], settings)
    with replayed(source, settings, rules=rules) as replay:
        (seen,) = replay.client.query(coverage, end)
        (overall,) = replay.client.query(shown["Draft acceptance"], end)
        of_page = {
            one.labels["class"]: one.samples[0][1]
            for one in replay.client.query(shown["Draft acceptance by class"], end)
            if one.labels["dimension"] == "temperature and prompt"
        }
        fires = {(one.labels["dimension"], one.labels["class"]) for one in replay.client.query(condition, end)}
        said = report(Recorded(replay.client.url, Duration(600), at=end), settings)
        text = as_markdown(document(said, settings, engines=False))
    assert seen.samples[0][1] == pytest.approx(1, abs=0.02)
    assert sorted(of_page) == sorted(CLASSES)
    mean = overall.samples[0][1]
    assert min(of_page[of] for of in CLASSES[:2]) > 1.3 * mean
    assert max(of_page[of] for of in CLASSES[2:]) < mean
    assert ("temperature", "up to 1.2") in fires
    assert ("temperature", "0") not in fires
    (model,) = said.models
    assert model.speculation
    assert {one.name for one in model.classes if one.dimension == "temperature and prompt"} == set(CLASSES)
    assert "Whom does speculation help?" in text
    shown_of = "; ".join(f"temperature {of} tokens: {of_page[of]:.3f}" for of in CLASSES)
    tell("lens: the panels of the page", f"acceptance {mean:.3f}; {shown_of}")
    (worst,) = (line for line in text.splitlines() if line.startswith(("Loses: ", "Helped least: ")))
    tell("lens: the report of a real vLLM", f"acceptance {model.speculation.acceptance:.3f}; {worst}")
    tell("lens: the alert of a real vLLM", f"holds for {sorted(fires)}")


def panel_queries(files: Mapping[str, str]) -> dict[str, str]:
    """What the page of draft lengths sends for acceptance by model and by class."""
    page = grafana.dashboards(files)["dashboards/draftboard-depth.json"]
    (panels,) = (panels for row, panels in grafana.rows(page).items() if row == "Whom does speculation help?")
    return {one["title"]: grafana.substituted(one["targets"][0]["expr"], page, "5m") for one in panels}


def test_killed_clients_broken_json_a_header_of_10_mb_and_many_tenants_harm_nobody(pages: Pages, tell: Tell) -> None:
    server = pages[0]
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
        with ThreadPoolExecutor(AT_A_TIME) as several:
            list(several.map(lambda tenant: ask(client, 0, f"many-{tenant}", tokens=1), range(TENANTS)))
    page = server.page()
    found = sums(page)
    assert 'reason="failed"' not in page
    names = {key[2] for key in found if key[:2] == ("draftboard_spec_class_requests_total", "header")}
    assert len(names) == 17
    others = found["draftboard_spec_class_requests_total", "header", "_OTHER"]
    # Of the first sixteen three came before, and the header of 10 MB is one of the others.
    assert others == TENANTS - 13 + 1
    lines = sum(line.startswith("draftboard_spec_class_") and "_total{" in line for line in page.splitlines())
    tell(
        "lens: many tenants", f"{TENANTS:,} tenants, all answered: 16 classes and {others:,.0f} others; {lines} series"
    )


@pytest.mark.parametrize("stream", [True, False])
def test_what_it_costs_a_request_is_measured_beside_requests_without_it(pages: Pages, tell: Tell, stream: bool) -> None:
    """In one process, in turns: whatever else slows the machine slows both."""
    server, _, plugins = pages
    request = {
        "model": MODEL,
        "prompt": PROMPTS[0],
        "max_tokens": TOKENS,
        "temperature": 0,
        "ignore_eos": True,
        "stream": stream,
    }
    (spent := plugins / "spent").unlink(missing_ok=True)
    before = requests_of(server)
    with client_of(server) as client:
        for number in range(2 * PAIRS):
            lenses = LAYERS * (number % 2)
            answer = client.post("/v1/completions", json=request, headers={"X-Lenses": str(lenses)}).raise_for_status()
    # Its own lens counts each request, and so do those around half of them.
    assert requests_of(server) - before == PAIRS * (2 + LAYERS)
    took = [(int(lenses), float(seconds)) for lenses, seconds in map(str.split, spent.read_text().splitlines())]
    without, with_them = ([seconds for lenses, seconds in took if lenses == of] for of in (0, LAYERS))
    costs = sorted(1e6 * (more - less) / LAYERS for less, more in zip(without, with_them, strict=True))
    # Ranks between which the median lies in 95 of 100 samples, whatever the distribution.
    low = int(PAIRS / 2 - 0.98 * PAIRS**0.5)
    tell(
        f"lens: what it costs {'a streamed' if stream else 'a plain'} answer of {TOKENS} tokens",
        f"processor time of the event loop: median {median(costs):.0f} us ({costs[low]:.0f} to {costs[-1 - low]:.0f}, "
        f"{PAIRS} pairs) beside {1e3 * median(without):.1f} ms without it; {answer.text.count('data: ')} events",
    )


def requests_of(server: Vllm) -> float:
    """Requests that lenses counted so far, one after the other."""
    found = sums(server.page())
    return sum(value for key, value in found.items() if key[:2] == ("draftboard_spec_class_requests_total", "prompt"))
