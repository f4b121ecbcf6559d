"""VictoriaMetrics on loopback: one node as packaged, or a cluster of programs in a folder."""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from subprocess import Popen

import httpx

from conftest import program
from draftboard.prometheus import Program, stop
from support.loopback import free_port

SERVES = re.compile(r"started server at (http://[\d.:]+)")
STORES, COPIES = 3, 2
KEPT = "-retentionPeriod=100y"  # a simulated past may be old
LOOPBACK = "-httpListenAddr=127.0.0.1:0"
FRESH = ("-search.disableCache", "-search.latencyOffset=1s")
"""Answers hold what was written a second ago, of any time."""


@dataclass(frozen=True)
class Store:
    """Where it is written to and read, without `/api/v1`, and its processes that hold samples, by address."""

    write: str
    read: str
    holders: dict[str, Popen[bytes]]

    def take(self, samples: bytes) -> None:
        """Store samples in Prometheus' format with times; queries find them when this returns."""
        httpx.post(f"{self.write}/api/v1/import/prometheus", content=samples, timeout=120).raise_for_status()
        for address in self.holders:
            httpx.get(f"{address}/internal/force_flush", timeout=60).raise_for_status()


def start(folder: Path, name: str, *flags: str, binary: Path | None = None) -> tuple[Popen[bytes], str]:
    """Start a program of VictoriaMetrics; returns its process and address."""
    command: tuple[str | Path, ...] = (binary or program(name), LOOPBACK, *flags)
    started = Program(name=name, command=command, ready=SERVES, help="run `make test-victoria`")
    process, found = started.start(folder / f"{name}{len(list(folder.glob('*.log')))}.log")
    return process, found[1]


@contextmanager
def storing(folder: Path, built: Path | None, scrape: str) -> Iterator[Store]:
    """A cluster of the programs in a folder, or one node, for a `with`. Of two samples in a scrape it keeps one."""
    dedup = f"-dedup.minScrapeInterval={scrape}"
    with ExitStack() as stack:

        def run(name: str, *flags: str) -> tuple[Popen[bytes], str]:
            process, address = start(folder, name, *flags, binary=built and built / name)
            stack.callback(stop, process)
            return process, address

        if built is None:
            process, address = run("victoria-metrics", f"-storageDataPath={folder / 'data'}", KEPT, dedup, *FRESH)
            yield Store(address, address, {address: process})
            return
        holders, places = {}, [(free_port(), free_port()) for _ in range(STORES)]
        for number, (into, out) in enumerate(places):
            listen = f"-vminsertAddr=127.0.0.1:{into}", f"-vmselectAddr=127.0.0.1:{out}"
            process, address = run("vmstorage", f"-storageDataPath={folder / f'data{number}'}", *listen, KEPT, dedup)
            holders[address] = process
        copies = f"-replicationFactor={COPIES}"
        _, write = run("vminsert", _nodes([into for into, _ in places]), copies)
        cache = f"-cacheDataPath={folder / 'cache'}"
        whole = (copies, "-search.denyPartialResponse")
        _, read = run("vmselect", _nodes([out for _, out in places]), cache, *whole, dedup, *FRESH)
        yield Store(f"{write}/insert/0/prometheus", f"{read}/select/0/prometheus", holders)


def cluster() -> Path | None:
    """The folder of a cluster's programs, where the environment names one."""
    return Path(os.environ["VM_BIN"]).resolve() if os.environ.get("VM_BIN") else None


def _nodes(ports: Sequence[int]) -> str:
    return "-storageNode=" + ",".join(f"127.0.0.1:{port}" for port in ports)
