"""A real vLLM whose engine process is stopped: its HTTP server lives on, and knows nothing of it."""

import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from support.vllm_server import KEY, MODEL, PATIENCE, Vllm

_ENGINE = "VLLM::EngineCor"  # The kernel keeps fifteen letters of a name.
_CONVERSATION = [{"role": "user", "content": "Why?"}]
ROUTES: Mapping[str, Mapping[str, object]] = {
    "/v1/completions": {"prompt": "Why?"},
    "/v1/chat/completions": {"messages": _CONVERSATION},
    "/v1/chat/completions/batch": {"messages": [_CONVERSATION]},
    "/v1/responses": {"input": "Why?"},
    "/v1/messages": {"messages": _CONVERSATION, "max_tokens": 16},
    "/invocations": {"prompt": "Why?"},
}
"""All that generate text without further options of the server, with a request for each."""
AT_WORK_SECONDS = 0.01
"""How long an engine works that is stopped again and again."""


@contextmanager
def stopped(server: Vllm) -> Iterator[None]:
    """Stop the engine process for the time of a `with`."""
    engine = _engine(server.process.pid)
    os.kill(engine, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(engine, signal.SIGCONT)


@contextmanager
def stopped_when(server: Vllm, happened: Callable[[], bool]) -> Iterator[None]:
    """Stop the engine once something happened: until then it works for moments, so that nothing ends unseen."""
    for _ in range(PATIENCE):
        with stopped(server):
            if happened():
                yield
                return
        time.sleep(AT_WORK_SECONDS)
    pytest.fail("vLLM: that never happened")


def ask(server: Vllm, route: str, timeout: float, **options: object) -> dict[str, object] | None:
    """The answer, or nothing where the client gave up."""
    try:
        answer = httpx.post(
            f"{server.url}{route}",
            json={"model": MODEL, **ROUTES[route], **options},
            headers={"Authorization": f"Bearer {KEY}"},
            timeout=timeout,
            trust_env=False,
        )
    except httpx.ReadTimeout:
        return None
    found: dict[str, object] = answer.raise_for_status().json()
    return found


def healthy(server: Vllm) -> bool:
    """What a liveness probe learns."""
    return httpx.get(f"{server.url}/health", timeout=5, trust_env=False).status_code == httpx.codes.OK


def _engine(server: int) -> int:
    children = {
        int(child) for thread in Path(f"/proc/{server}/task").glob("*/children") for child in thread.read_text().split()
    }
    (engine,) = (child for child in children if Path(f"/proc/{child}/comm").read_text().strip() == _ENGINE)
    return engine
