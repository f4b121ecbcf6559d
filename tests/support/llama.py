"""Real llama.cpp servers with two tiny models, their traffic, and a Prometheus that scrapes them."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest
import yaml

from conftest import ROOT, program
from draftboard.build import render
from draftboard.build.files import ALERTING, RECORDING
from draftboard.prometheus import Client, Server
from draftboard.prometheus.process import stop
from draftboard.settings import Settings
from support.scraped import Scraper
from support.vllm_server import free_port
from support.waiting import until

LLAMA = ROOT / ".llama"
FLAGS = ("--metrics", "-c", "4096", "-np", "2", "-t", "1", "--no-ui", "--host", "127.0.0.1")
_PROMPTS = ("the cat sat on the mat and the cat sat on the mat", "a red shoe near the rest of the house", "on and on")


@dataclass
class Llama:
    """A running server, and the sums of what it answered."""

    url: str
    process: subprocess.Popen[bytes]
    truth: dict[str, float] = field(default_factory=dict)

    def send(self, requests: int, tokens: int = 96) -> None:
        """Complete prompts one after the other; `timings` of each response add up to the truth."""
        for number in range(requests):
            body = {"prompt": _PROMPTS[number % len(_PROMPTS)], "max_tokens": tokens, "ignore_eos": True}
            answer = httpx.post(f"{self.url}/v1/completions", json=body | {"temperature": 0}, timeout=120)
            for name, count in answer.raise_for_status().json()["timings"].items():
                self.truth[name] = self.truth.get(name, 0.0) + count

    @property
    def healthy(self) -> bool:
        """Whether it has loaded its model."""
        assert self.process.poll() is None, "the server stopped"
        try:
            return httpx.get(f"{self.url}/health", timeout=5).status_code == httpx.codes.OK
        except httpx.TransportError:
            return False


def model(folder: Path, noise: float) -> Path:
    """A model; those of a little noise agree on most tokens."""
    path, script = folder / f"noise-{noise}.gguf", ROOT / "tests/scripts/tiny_gguf.py"
    command = [sys.executable, str(script), str(path), str(noise)]
    subprocess.run(command, env=os.environ | {"PYTHONPATH": str(LLAMA / "python")}, check=True)
    return path


@contextmanager
def serving(folder: Path, target: Path, *flags: str | Path) -> Iterator[Llama]:
    """A server for the time of a `with`."""
    if not (server := LLAMA / "bin/llama-server").exists():
        pytest.fail(f"{server} is missing: run make test-dialects", pytrace=False)
    port = free_port()
    command = [server, "-m", target, "--port", str(port), *FLAGS, *flags]
    with (folder / f"{port}.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    llama = Llama(f"http://127.0.0.1:{port}", process)
    try:
        until(lambda: llama.healthy, "loads its model")
        yield llama
    finally:
        stop(process)


@contextmanager
def scraping(folder: Path, settings: Settings, targets: Mapping[str, Llama]) -> Iterator[Scraper]:
    """A Prometheus that scrapes servers every second, labelled by method, and evaluates the rules."""
    built = render(settings)
    for path in (RECORDING, ALERTING):
        (folder / Path(path).name).write_text(built[path])
    static: Sequence[Mapping[str, object]] = [
        {"targets": [one.url.removeprefix("http://")], "labels": {"model_name": "tiny", "spec_method": method}}
        for method, one in targets.items()
    ]
    configuration = {
        "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
        "rule_files": ["*.rules.yaml"],
        "scrape_configs": [{"job_name": "llama", "static_configs": static}],
    }
    server = Server(program("prometheus"), folder, settings.rules.rate_window, yaml.safe_dump(configuration))
    with ExitStack() as stack:
        yield Scraper(stack.enter_context(Client(stack.enter_context(server.running()))), settings)
