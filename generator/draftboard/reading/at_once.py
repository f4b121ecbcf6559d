"""Requests at once, in threads: httpx' own way to do so, asyncio, takes twice the CPU time for each."""

import socket
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

R = TypeVar("R")
_AT_ONCE = 32
"""More starve the client, whose time is the servers' too."""
_WATCH = 0.1  # Seconds between looks at the deadlines.
_CONNECTED = ("connect_tcp.complete", "start_tls.complete")  # Ends of what httpcore calls these steps.


@dataclass(eq=False)
class Deadline:
    """When a request must be over: httpx' timeouts begin anew with every byte."""

    seconds: float
    _until: float = field(init=False)
    _connection: socket.socket | None = None

    def __post_init__(self) -> None:
        self._until = time.monotonic() + self.seconds

    @property
    def is_over(self) -> bool:
        """Whether it has passed."""
        return time.monotonic() >= self._until

    @property
    def extensions(self) -> dict[str, Any]:
        """Of a request of httpx: tell this of its connection."""
        return {"trace": self._trace}

    def _trace(self, event: str, info: Mapping[str, Any]) -> None:
        if event.endswith(_CONNECTED):
            self._connection = info["return_value"].get_extra_info("socket")

    def cut(self) -> None:
        """End the connection, on which another thread waits."""
        if self._connection:
            with suppress(OSError):  # It may have ended already.
                socket.socket.shutdown(self._connection, socket.SHUT_RDWR)


@dataclass(eq=False)
class AtOnce(Generic[R]):
    """A few requests at a time, each with a deadline from its turn on. Errors are raised when all are over."""

    get: Callable[[int, Deadline], R]  # By number.
    count: int
    seconds: float  # Of each.
    _todo: SimpleQueue[int] = field(default_factory=SimpleQueue)
    _done: SimpleQueue[tuple[int, Callable[[], R]]] = field(default_factory=SimpleQueue)
    _open: set[Deadline] = field(default_factory=set)

    def results(self) -> list[R]:
        """In the order of the numbers."""
        for number in range(self.count):
            self._todo.put(number)
        for _ in range(min(self.count, _AT_ONCE)):
            threading.Thread(target=self._work, daemon=True).start()  # An interrupt waits for none of them.
        found: dict[int, Callable[[], R]] = {}
        try:
            while len(found) < self.count:
                with suppress(Empty):
                    number, outcome = self._done.get(timeout=_WATCH)
                    found[number] = outcome
                for late in [one for one in tuple(self._open) if one.is_over]:
                    late.cut()
        finally:
            self._stop()
        return [found[number]() for number in range(self.count)]

    def _work(self) -> None:
        with suppress(Empty):
            while True:
                number = self._todo.get_nowait()
                deadline = Deadline(self.seconds)
                self._open.add(deadline)
                self._done.put((number, self._outcome(number, deadline)))
                self._open.discard(deadline)

    def _outcome(self, number: int, deadline: Deadline) -> Callable[[], R]:
        """Returns the result, or raises what it raised."""
        try:
            result = self.get(number, deadline)
        except BaseException as error:  # noqa: BLE001  (raised where the results are asked for)
            failed = error

            def outcome() -> R:
                raise failed

            return outcome
        return lambda: result

    def _stop(self) -> None:
        with suppress(Empty):
            while True:
                self._todo.get_nowait()
        for one in tuple(self._open):
            one.cut()
