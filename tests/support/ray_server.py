"""A real Ray Serve with replicas of vLLM on the CPU, and what its clients were answered."""

import os
import shutil
import signal
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from conftest import ROOT
from draftboard.prometheus.process import stop
from support.loopback import free_port
from support.waiting import until

PYTHON = ROOT / ".venv-vllm/bin/python"
K, TOKENS, WORKERS = 4, 48, 8
START_SECONDS = 900  # Its own limits are raised likewise: it gives up on a busy machine.
LIMITS = {"RAY_DASHBOARD_STARTUP_TIMEOUT_S": "600", "RAY_gcs_server_request_timeout_seconds": "300"}
ENGINE = "VLLM::EngineCore"


@dataclass
class Ray:
    """A running node, and what its replicas answered."""

    url: str
    port: int
    process: subprocess.Popen[bytes]
    clients: ThreadPoolExecutor
    requests: Counter[str] = field(default_factory=Counter)
    tokens: Counter[str] = field(default_factory=Counter)

    def send(self, requests: int) -> list[Future[str]]:
        """Send requests, several at a time; each result is the replica that answered."""
        return [self.clients.submit(self._ask, number) for number in range(requests)]

    def _ask(self, number: int) -> str:
        body = {"prompt": f"the cat sat on mat {number} and the cat sat on mat {number}", "max_tokens": TOKENS}
        answer = httpx.post(f"{self.url}/v1/completions", json=body, timeout=600).raise_for_status().json()
        replica = str(answer["replica"])
        self.requests[replica] += 1
        self.tokens[replica] += answer["tokens"]
        return replica

    def page(self) -> str:
        """What Prometheus reads."""
        return httpx.get(f"http://127.0.0.1:{self.port}/metrics", timeout=60).raise_for_status().text

    @property
    def engines(self) -> list[int]:
        """The processes of engines."""
        return [pid for pid in _descendants(self.process.pid) if ENGINE in _command(pid)]

    @contextmanager
    def hung(self, engine: int) -> Iterator[None]:
        """An engine's process stands still for the time of a `with`."""
        os.kill(engine, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(engine, signal.SIGCONT)


def _descendants(pid: int) -> Iterator[int]:
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, task.read_text().split()):
            yield child
            with suppress(OSError):
                yield from _descendants(child)


def _command(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text()
    return ""


@contextmanager
def ray_serving(folder: Path, replicas: int) -> Iterator[Ray]:
    """A node for the time of a `with`; skips where Ray or vLLM are not installed."""
    if not PYTHON.exists() or subprocess.run([PYTHON, "-c", "import ray.serve, vllm"], check=False).returncode:
        pytest.skip("Ray or vLLM are not installed: see the output of make test-dialects")
    script, models = ROOT / "tests/support/tiny_model.py", folder / "models"
    subprocess.run([PYTHON, script, models], check=True, capture_output=True)
    port, metrics = free_port(), free_port()
    temporary = tempfile.mkdtemp(prefix="ray")  # Paths of its sockets are short.
    words = (ROOT / "tests/support/ray_app.py", models / "target", temporary, replicas, K, port, metrics)
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"} | LIMITS
    environment["PATH"] = f"{PYTHON.parent}:{environment['PATH']}"
    with (folder / "ray.log").open("wb") as log:
        process = subprocess.Popen([PYTHON, *map(str, words)], env=environment, cwd=folder, stdout=log, stderr=log)
    try:
        with ThreadPoolExecutor(WORKERS) as clients:
            ray = Ray(f"http://127.0.0.1:{port}", metrics, process, clients)
            until(lambda: _ready(ray, folder), "Ray Serve is ready", START_SECONDS)
            yield ray
    finally:
        stop(process)
        shutil.rmtree(temporary, ignore_errors=True)


def _ready(ray: Ray, folder: Path) -> bool:
    log = (folder / "ray.log").read_text(errors="replace")
    assert ray.process.poll() is None, log[-3000:]
    return "is ready at" in log
