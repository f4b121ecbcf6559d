"""Waiting for what servers do by themselves."""

import time
from collections.abc import Callable

BETWEEN_LOOKS = 0.1


def until(holds: Callable[[], object], what: str, seconds: float = 300) -> None:
    """Return as soon as it holds; fail with its words when it never does."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"in {seconds} s never: {what}"
        time.sleep(BETWEEN_LOOKS)
