"""Waiting for what servers do by themselves."""

import time
from collections.abc import Callable
from datetime import datetime

import httpx

from draftboard.prometheus import Client

BETWEEN_LOOKS = 0.1


def until(holds: Callable[[], object], what: str, seconds: float = 300) -> None:
    """Return as soon as it holds; fail with its words when it never does."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"in {seconds} s never: {what}"
        time.sleep(BETWEEN_LOOKS)


def sampled(client: Client, expr: str) -> float:
    """Wait until an expression has a sample; returns the time for which it had one."""
    looked_at: list[float] = []

    def has_sample() -> bool:
        looked_at.append(time.time())
        return bool(client.query(expr, looked_at[-1]))

    until(has_sample, expr)
    return looked_at[-1]


def evaluated(client: Client) -> float:
    """Wait until each group of rules was evaluated once, begun after now; returns the time then."""
    since = time.time()

    def last_evaluations() -> list[float]:
        groups = httpx.get(f"{client.url}/api/v1/rules").json()["data"]["groups"]
        return [datetime.fromisoformat(group["lastEvaluation"]).timestamp() for group in groups]

    until(lambda: min(last_evaluations()) > since, "every group of rules is evaluated")
    return time.time()
