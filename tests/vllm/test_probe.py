"""The probe in a real vLLM: it counts what the server counts, times decode steps only, and harms nobody by failing."""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from conftest import Tell
from draftboard.catalogue.probe import RUNS
from support.loopback import free_port
from support.vllm_plugins import plugin_folder
from support.vllm_server import KEY, MODEL, SPECULATION, K, Start, Vllm
from support.vllm_traffic import PROMPTS, REQUESTS, TOKENS, send

pytestmark = pytest.mark.vllm

PLUGINS = ("Witness", "BrokenStart", "BrokenRecord")
DETAILS = "--enable-logging-iteration-details"
# Prompts are computed in parts, and eight requests need more cache than there is.
CROWDED = f"{DETAILS} --max-num-batched-tokens 128 --num-gpu-blocks-override 12"
AT_A_TIME, ASKED = 8, 40
LEAST_KEPT = 0.6
"""Share of the decode steps that are known without the details: each abort and each preemption costs one or two."""
SLOW = 5.0
"""Milliseconds of a call: hundreds of times what it takes, and a part of any model's step."""

Series = Mapping[str, Mapping[tuple[str, ...], float]]
"""Of one engine: values by name and by its other labels in alphabetic order."""


def engines(page: str) -> Mapping[str, Series]:
    """What a page says of each engine."""
    found: dict[str, dict[str, dict[tuple[str, ...], float]]] = defaultdict(lambda: defaultdict(dict))
    for family in text_string_to_metric_families(page):
        for sample in family.samples:
            labels = dict(sample.labels)
            if labels.pop("model_name", None) in (MODEL, "") and (engine := labels.pop("engine", None)) is not None:
                others = tuple(text for name, text in sorted(labels.items()) if name not in RUNS)
                found[engine][sample.name][others] = found[engine][sample.name].get(others, 0) + sample.value
    return found


def own(engine: Series, name: str) -> Mapping[tuple[str, ...], float]:
    """A series of the probe that is not 0."""
    return {labels: value for labels, value in engine.get(f"draftboard_spec_{name}", {}).items() if value}


def total(engine: Series, name: str) -> float:
    return sum(engine[name].values())


def assert_drafts_are_vllms(engine: Series, k: int = K) -> None:
    positions = own(engine, "draft_tokens_per_pos_total")
    assert positions.keys() == {(str(position),) for position in range(k)}
    assert sum(positions.values()) == total(engine, "vllm:spec_decode_num_draft_tokens_total")
    assert positions["0",] == total(engine, "vllm:spec_decode_num_drafts_total") > 0
    assert own(engine, "info") == {("false", str(k), "ngram", "standard"): 1}
    assert not own(engine, "probe_errors_total")


def assert_steps_add_up(engine: Series) -> None:
    timed = own(engine, "decode_steps_total")
    assert sum(timed.values()) == own(engine, "steps_total").get(("decode",), 0)
    for name in ("seconds", "requests"):
        assert own(engine, f"decode_step_{name}_total").keys() == timed.keys()
    drafts, accepted = own(engine, "decode_step_drafts_total"), own(engine, "decode_step_accepted_tokens_total")
    assert sum(drafts.values()) <= total(engine, "vllm:spec_decode_num_drafts_total")
    assert sum(accepted.values()) <= total(engine, "vllm:spec_decode_num_accepted_tokens_total")
    assert all(k != "0" for _, k in drafts)


@dataclass(frozen=True)
class Plugins:
    """Variables with which vLLM finds the plugins of the tests, and the probe by the stack's own way."""

    folder: Path

    def only(self, *names: str, **more: str) -> dict[str, str]:
        """Load these, and not the probe."""
        return {"PYTHONPATH": str(self.folder), "VLLM_PLUGINS": ",".join(names), **more}


@pytest.fixture(scope="module")
def plugins(tmp_path_factory: pytest.TempPathFactory) -> Plugins:
    entries = {name: f"probe_plugins:{name}" for name in PLUGINS}
    folder = tmp_path_factory.mktemp("plugins")
    plugin_folder(folder, "vllm.stat_logger_plugins", entries, "probe_plugins")
    return Plugins(folder)


def crowd(server: Vllm) -> None:
    """Prompts up to 350 tokens, more than the cache holds at a time; of every fifth only the beginning is read."""

    def ask(number: int) -> None:
        prompt = f"{number} " + PROMPTS[number % len(PROMPTS)] * (1 + number % AT_A_TIME)
        request = {"model": MODEL, "prompt": prompt, "max_tokens": TOKENS, "temperature": 0, "ignore_eos": True}
        if number % 5:
            client.post("/v1/completions", json=request).raise_for_status()
            return
        with client.stream("POST", "/v1/completions", json={**request, "stream": True}) as answer:
            next(answer.iter_lines())

    headers = {"Authorization": f"Bearer {KEY}"}
    with (
        httpx.Client(base_url=server.url, headers=headers, trust_env=False, timeout=300) as client,
        ThreadPoolExecutor(AT_A_TIME) as several,
    ):
        list(several.map(ask, range(ASKED)))


def test_one_api_server_counts_what_vllm_counts_and_times_decode_steps(vllm: Vllm) -> None:
    (engine,) = engines(vllm.page()).values()
    assert_drafts_are_vllms(engine)
    assert_steps_add_up(engine)
    assert {k for _, k in own(engine, "decode_steps_total")} >= {"0", str(K)}
    (info,) = re.findall("draftboard_spec_info{(.*)} 1.0", vllm.page())
    runs = dict(re.findall('([a-z_]+)="([^"]*)"', info))
    assert re.fullmatch(r"\d+\.\d+\.\d+.*", runs["vllm_version"])
    assert (runs["kv_cache_dtype"], runs["tensor_parallel_size"], runs["model_runner"]) == ("auto", "1", "false")


def test_a_server_without_speculation_times_its_steps(plain_vllm: Vllm) -> None:
    (engine,) = engines(plain_vllm.page()).values()
    assert own(engine, "info") == {("false", "0", "none", ""): 1}
    assert {k for _, k in own(engine, "decode_steps_total")} == {"0"}
    assert "draftboard_spec_draft_tokens_per_pos_total" not in engine
    assert not own(engine, "probe_errors_total")


def test_several_api_servers_count_together_after_a_restart_too(start: Start) -> None:
    port = free_port()
    for run in ("several-servers", "restarted"):
        with start(run, SPECULATION, "--api-server-count 2", port) as server:
            send(server)
            (engine,) = engines(server.page()).values()
            assert_drafts_are_vllms(engine)
            # Which step was a decode step, no server can tell of what it sees itself.
            assert {kind for (kind,) in own(engine, "steps_total")} <= {"prefill", "unsure", "silent"}
            assert not own(engine, "decode_steps_total")


def test_data_parallel_engines_are_apart_and_their_steps_timed_by_the_details(start: Start) -> None:
    with start("data-parallel-probe", SPECULATION, f"--data-parallel-size 2 {DETAILS}") as server:
        send(server)
        found = engines(server.page())
    assert found.keys() == {"0", "1"}
    for engine in found.values():
        assert_drafts_are_vllms(engine)
        assert_steps_add_up(engine)
        assert own(engine, "decode_steps_total")


@dataclass(frozen=True)
class Watched:
    """What the witness wrote of each step, and the page after the last."""

    steps: list[dict[str, Any]]
    engine: Series

    @property
    def decoding(self) -> list[dict[str, Any]]:
        """Those of decoding alone, by the details."""
        return [step for step in self.steps if step["told"][0] == "decode"]


@pytest.fixture(scope="module")
def watched(start: Start, plugins: Plugins, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    file = tmp_path_factory.mktemp("witness") / "steps.jsonl"
    with start("watched", SPECULATION, CROWDED, variables=plugins.only("Witness", WITNESSED=str(file))) as server:
        crowd(server)
        (engine,) = engines(server.page()).values()
        yield Watched([json.loads(line) for line in file.read_text().splitlines()], engine)


def test_the_load_has_what_could_deceive_the_probe(watched: Watched) -> None:
    kinds = {step["told"][0] for step in watched.steps}
    assert kinds >= {"decode", "prefill"}
    assert any(step["preempted"] for step in watched.steps)
    assert {str(K), "mixed"} <= {k for _, k in own(watched.engine, "decode_steps_total")}


def test_no_step_passes_as_decoding_that_was_not_and_its_batch_is_exact(watched: Watched) -> None:
    claimed = [step for step in watched.steps if step["inferred"][0] == "decode"]
    assert [(step["told"], step["inferred"]) for step in claimed if step["inferred"] != step["told"]] == []
    assert len(claimed) >= LEAST_KEPT * len(watched.decoding)


def test_the_page_has_the_time_and_the_requests_of_these_steps(watched: Watched) -> None:
    sums = {
        name: sum(own(watched.engine, f"decode_step{name}_total").values()) for name in ("s", "_seconds", "_requests")
    }
    steps = watched.decoding
    assert sums["s"] == len(steps)
    assert sums["_seconds"] == pytest.approx(sum(step["gap"] for step in steps))
    assert sums["_requests"] == sum(step["told"][1] for step in steps)
    assert_drafts_are_vllms(watched.engine)
    assert_steps_add_up(watched.engine)


def test_a_step_takes_longer_than_its_model(watched: Watched) -> None:
    assert sum(step["gap"] for step in watched.decoding) > sum(step["elapsed"] for step in watched.decoding)


def test_a_call_takes_little_of_a_step(watched: Watched, tell: Tell) -> None:
    steps, engine = watched.decoding, watched.engine
    call, period, model = (
        1000 * value
        for value in (
            median(step["recorded"] for step in watched.steps),
            fmean(step["gap"] for step in steps),
            fmean(step["elapsed"] for step in steps),
        )
    )
    latency = "vllm:inter_token_latency_seconds"
    mean = 1000 * total(engine, f"{latency}_sum") / total(engine, f"{latency}_count")
    kept = sum(step["inferred"][0] == "decode" for step in watched.steps)
    tell(
        "probe: what a call takes, and what it tells",
        f"call {1000 * call:.0f} us (median of {len(watched.steps):,}), {call / period:.2%} of the mean decode step of "
        f"{period:.1f} ms, the model {model:.1f} ms; mean inter-token latency of the page {mean:.1f} ms; "
        f"known without details: {kept:,} of {len(steps):,} decode steps",
    )
    assert call < SLOW


def test_a_probe_that_fails_harms_nobody(start: Start, plugins: Plugins) -> None:
    with start("broken", SPECULATION, variables=plugins.only("BrokenStart", "BrokenRecord")) as server:
        assert len(send(server)) == REQUESTS
        page, log = server.page(), server.log
    errors = engines(page)["0"]["draftboard_spec_probe_errors_total"]
    assert total(engines(page)["0"], "vllm:spec_decode_num_drafts_total") > 0
    assert sum(errors.values()) > 2
    assert log.count("draftboard probe: recording failed") == 2
