"""Real llama.cpp servers with two tiny models, their traffic, and a Prometheus that scrapes them."""

import ctypes
import os
import signal
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
from support.loopback import free_port
from support.scraped import Scraper
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

    def send(self, requests: int, tokens: int = 96, model: str = "tiny") -> None:
        """Complete prompts one after the other; `timings` of each response add up to the truth."""
        for number in range(requests):
            body = {
                "prompt": _PROMPTS[number % len(_PROMPTS)],
                "max_tokens": tokens,
                "ignore_eos": True,
                "model": model,
            }
            answer = httpx.post(f"{self.url}/v1/completions", json=body | {"temperature": 0}, timeout=120)
            for name, count in answer.raise_for_status().json()["timings"].items():
                self.truth[name] = self.truth.get(name, 0.0) + count

    def page(self) -> str:
        """What Prometheus reads."""
        return httpx.get(f"{self.url}/metrics", timeout=30).raise_for_status().text

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
def stopped(server: Llama) -> Iterator[None]:
    """Its process stands still for the time of a `with`."""
    server.process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        server.process.send_signal(signal.SIGCONT)


_SEIZE, _INTERRUPT, _DETACH = 0x4206, 0x4207, 17  # Of ptrace(2).


@contextmanager
def hung(server: Llama) -> Iterator[None]:
    """The thread that generates stands still for the time of a `with`, while those of HTTP live on."""
    trace = ctypes.CDLL(None, use_errno=True).ptrace
    for request in (_SEIZE, _INTERRUPT):
        assert trace(request, server.process.pid, 0, 0) == 0, os.strerror(ctypes.get_errno())
    os.waitpid(server.process.pid, 0)  # The report that it stands still, which would read as its end.
    try:
        yield
    finally:
        trace(_DETACH, server.process.pid, 0, 0)


@contextmanager
def serving(folder: Path, *flags: str | Path) -> Iterator[Llama]:
    """A server for the time of a `with`."""
    if not (server := LLAMA / "bin/llama-server").exists():
        pytest.fail(f"{server} is missing: run make test-dialects", pytrace=False)
    port = free_port()
    command = [server, "--port", str(port), *FLAGS, *flags]
    with (folder / f"{port}.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    llama = Llama(f"http://127.0.0.1:{port}", process)
    try:
        until(lambda: llama.healthy, "loads its model")
        yield llama
    finally:
        stop(process)


def target(server: Llama, model_name: str, spec_method: str) -> dict[str, object]:
    """A server as a scrape job lists it."""
    labels = {"model_name": model_name, "spec_method": spec_method}
    return {"targets": [server.url.removeprefix("http://")], "labels": labels}


@contextmanager
def scraping(folder: Path, settings: Settings, jobs: Sequence[Mapping[str, object]]) -> Iterator[Scraper]:
    """A Prometheus that scrapes every second, and evaluates the rules."""
    built = render(settings)
    for path in (RECORDING, ALERTING):
        (folder / Path(path).name).write_text(built[path])
    configuration = {
        "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
        "rule_files": ["*.rules.yaml"],
        "scrape_configs": jobs,
    }
    server = Server(program("prometheus"), folder, settings.rules.rate_window, yaml.safe_dump(configuration))
    with ExitStack() as stack:
        yield Scraper(stack.enter_context(Client(stack.enter_context(server.running()))), settings)
