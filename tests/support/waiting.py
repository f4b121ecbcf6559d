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
    """Wait until each group of the shortest interval was evaluated once, begun after now; returns the time then."""
    since = time.time()

    def begun_later() -> bool:
        groups = httpx.get(f"{client.url}/api/v1/rules").json()["data"]["groups"]
        shortest = min(group["interval"] for group in groups)
        last = [group["lastEvaluation"] for group in groups if group["interval"] == shortest]
        return min(map(datetime.fromisoformat, last)).timestamp() > since

    until(begun_later, "every group of rules is evaluated")
    return time.time()
