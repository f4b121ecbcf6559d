"""The series of a server's API process and of its HTTP frontend: what surrounds the engines."""

import numpy as np

from draftboard.catalogue import around, serving, unread
from draftboard.lab.simulator.ledger import Ledger
from draftboard.lab.simulator.request import Batch
from draftboard.lab.simulator.scenario import Server
from draftboard.lab.simulator.shape import children

# What an API server's process needs, roughly: the page has these series, and nothing is read from them.
_BYTES_PER_PROMPT_TOKEN = 4
_STREAMED_BYTES_PER_TOKEN = 220
_RESIDENT_BYTES = 1.6e9
_CPU_SECONDS_PER_REQUEST = 0.02
_COLLECTIONS_PER_REQUEST = (2.0, 0.2, 0.01)
_OBJECTS_PER_COLLECTION = 20


class Process:
    """The series that a server exposes beside those of its engines."""

    def __init__(self, server: Server, started_at: float) -> None:
        self.ledger = Ledger(children(server, engine=None))
        if server.engines == 1:
            self._begin(started_at)
        self._measured = server.engines == 1

    def _begin(self, started_at: float) -> None:
        for metric, value in (
            (around.PROCESS_START_TIME, started_at),
            (unread.RESIDENT_MEMORY, _RESIDENT_BYTES),
            (unread.VIRTUAL_MEMORY, 8 * _RESIDENT_BYTES),
            (unread.OPEN_FILES, 60.0),
            (unread.MOST_OPEN_FILES, 65_536.0),
            (unread.PYTHON, 1.0),
        ):
            self.ledger.put(metric, value)

    def rejected(self, count: int) -> None:
        """So many requests were turned away because the queue is full."""
        if count:
            self.ledger.add(serving.ADMISSION_REJECTIONS, count, "max_num_queued_reqs")
            self.ledger.add(around.HTTP_REQUESTS, count, "5xx")

    def answered(self, done: Batch) -> None:
        """Requests were answered in full."""
        if not len(done):
            return
        lasted = done["last"] - done["arrived"]
        self.ledger.add(around.HTTP_REQUESTS, len(done), "2xx")
        self.ledger.observe(unread.HTTP_DURATION, lasted)
        self.ledger.observe(unread.HTTP_DURATION_BY_HANDLER, lasted)
        self.ledger.observe(unread.HTTP_REQUEST_SIZE, done["prompt"] * _BYTES_PER_PROMPT_TOKEN)
        self.ledger.observe(unread.HTTP_RESPONSE_SIZE, done["made"] * _STREAMED_BYTES_PER_TOKEN)
        if self._measured:
            self._work(len(done))

    def _work(self, requests: int) -> None:
        self.ledger.add(unread.CPU_SECONDS, requests * _CPU_SECONDS_PER_REQUEST)
        whole = np.floor(self.ledger.values_of(around.HTTP_REQUESTS).sum() * np.array(_COLLECTIONS_PER_REQUEST))
        for generation, runs in enumerate(whole):
            self.ledger.put(unread.GC_COLLECTIONS, runs, str(generation))
            self.ledger.put(unread.GC_COLLECTED, runs * _OBJECTS_PER_COLLECTION, str(generation))
