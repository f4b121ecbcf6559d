"""Requests of several classes to a real vLLM with the lens, and its pages as what a Prometheus would have scraped."""

import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
from prometheus_client.parser import text_string_to_metric_families

from draftboard.lab.openmetrics import series
from support.vllm_plugins import plugin_folder
from support.vllm_server import KEY, MODEL, PER_REQUEST, K, Vllm
from support.vllm_traffic import AT_A_TIME, PROMPTS

USAGE = "--enable-force-include-usage"
LENS = "--middleware draftboard_probe.Lens"
METHOD = "draft_model"
TEMPERATURES = (0.0, 1.2)
TIMES = (1, 32)
"""How often a prompt repeats its sentence: under and over 1,024 tokens, of which each byte is one."""
TOKENS = 64
PARTS, REQUESTS = 12, 12
"""Pages that are read while requests go on, and the requests of each part: a minute of a recording."""
START = 1_756_800_000
LABELS = {"job": "vllm", "instance": "a:8000", "spec_method": METHOD}
LENSED = f"{PER_REQUEST} {USAGE} {LENS}"
"""Options of a server with the lens."""
MENDED = {"mended": "vllm_mended:mend"}


def drafting(models: Path, **more: object) -> str:
    """The speculation of a server whose drafter guesses well at temperature 0 and badly at 1.2."""
    return json.dumps({"method": METHOD, "model": str(models / "draft"), "num_speculative_tokens": K, **more})


def plugged(folder: Path) -> dict[str, str]:
    """Of a server that counts tenants, in whose steps a temperature is what the request says."""
    plugin_folder(folder, "vllm.general_plugins", MENDED, "vllm_mended", "lens_layers")
    return {
        "DRAFTBOARD_LENS_HEADER": "X-Tenant",
        "MAX_MODEL_LEN": "2048",
        "PYTHONPATH": str(folder),
        "LENS_LAYERS": str(folder / "spent"),
    }


def ask(client: httpx.Client, number: int, tenant: str = "", tokens: int = TOKENS) -> None:
    """Half of the requests are streamed, in each class; no prompt begins as another one does."""
    temperature, times = TEMPERATURES[number // 2 % 2], TIMES[number // 4 % 2]
    request: dict[str, Any] = {
        "model": MODEL,
        "prompt": f"{number} " + PROMPTS[number % len(PROMPTS)] * times,
        "max_tokens": tokens,
        "temperature": temperature,
        "ignore_eos": True,
        "stream": bool(number % 2),
    }
    headers = {"X-Tenant": tenant or f"tenant-{number % 3}"}
    answer = client.post("/v1/completions", json=request, headers=headers)
    assert answer.is_success, answer.text


def client_of(server: Vllm) -> httpx.Client:
    return httpx.Client(base_url=server.url, headers={"Authorization": f"Bearer {KEY}"}, trust_env=False, timeout=300)


def ask_many(server: Vllm, numbers: range) -> None:
    with client_of(server) as client, ThreadPoolExecutor(AT_A_TIME) as several:
        list(several.map(lambda number: ask(client, number), numbers))


def sums(page: str) -> dict[tuple[str, ...], float]:
    """Of series of vLLM by name; of those of the lens by name, dimension and class."""
    found: dict[tuple[str, ...], float] = {}
    for family in text_string_to_metric_families(page):
        for sample in family.samples:
            labels = sample.labels
            key = (sample.name, labels["dimension"], labels["class"]) if "dimension" in labels else (sample.name,)
            found[key] = found.get(key, 0.0) + sample.value
    return found


def recording(pages: Sequence[str], seconds: int = 60) -> Iterator[str]:
    """What a Prometheus would have scraped, so far apart."""
    lines: dict[str, list[str]] = {}
    for number, page in enumerate(pages):
        for family in text_string_to_metric_families(page):
            for sample in family.samples:
                if sample.name.startswith(("vllm:", "draftboard_")) and not sample.name.endswith("_created"):
                    name = series(sample.name, {**sample.labels, **LABELS})
                    lines.setdefault(name, []).append(f"{name} {sample.value} {START + seconds * number}\n")
    for name in sorted(lines):
        yield from lines[name]
    yield "# EOF\n"
