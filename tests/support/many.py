"""Many simulated servers in a process of their own: healthy ones that count, hanging ones and hostile ones.

`python -m support.many HEALTHY MODELS HANGING HOSTILE` prints their addresses on a line, and serves until its input
ends.
"""

import asyncio
import re
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

PAGE = Path(__file__).parent.parent / "data" / "v0.32.0-ngram-load.prom"
_COUNTED = re.compile(r"^(vllm:\S+_(?:total|bucket|sum|count)\{.*\}) (\S+)$", re.MULTILINE)
_HUGE = 17_000_000
_TICK = 0.25


def page(model: str, times: float) -> str:
    """The recorded page of another model, with counters of a load that ran so many times."""
    text = PAGE.read_text().replace('model_name="tiny"', f'model_name="{model}"')
    return _COUNTED.sub(lambda line: f"{line[1]} {float(line[2]) * times}", text)


async def _serve(healthy: int, models: int, hanging: int, hostile: int) -> None:
    began = time.monotonic()
    kept: dict[tuple[str, int], bytes] = {}

    def response(model: str) -> bytes:
        tick = int((time.monotonic() - began) / _TICK)
        if (model, tick) not in kept:
            for old in [key for key in kept if key[0] == model]:
                del kept[old]
            body = page(model, 1 + tick * _TICK / 10).encode()
            kept[model, tick] = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        return kept[model, tick]

    def client_of(number: int, kind: str) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                await reader.readuntil(b"\r\n\r\n")
                if kind == "healthy":
                    writer.write(response(f"m{number % models}"))
                elif kind == "hostile":
                    writer.write(_hostile(number))
                else:
                    await asyncio.sleep(3_600)
                await writer.drain()
            except (OSError, asyncio.IncompleteReadError):
                pass
            finally:
                writer.close()

        return answer

    kinds = ["healthy"] * healthy + ["hanging"] * hanging + ["hostile"] * hostile
    servers = [await asyncio.start_server(client_of(number, kind), "127.0.0.1", 0) for number, kind in enumerate(kinds)]
    sys.stdout.write(" ".join(f"127.0.0.1:{each.sockets[0].getsockname()[1]}" for each in servers) + "\n")
    sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.read)


def _hostile(number: int) -> bytes:
    """Too much, compressed without being asked to, words, a redirect, or numbers that no server has."""
    bodies = (
        b"HTTP/1.1 200 OK\r\n\r\n" + b'vllm:a{b="c"} 1\n' * (_HUGE // 16),
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\n\x1f\x8b\x08\x00",
        b"220 mail.example ESMTP\r\n",
        b"HTTP/1.1 302 Found\r\nLocation: http://other.example/\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n\r\nvllm:spec_decode_num_drafts_total 1e308\n",
    )
    return bodies[number % len(bodies)]


@contextmanager
def serving(healthy: int, models: int = 5, *, hanging: int = 0, hostile: int = 0) -> Iterator[list[str]]:
    """Addresses, in the order of the arguments, for the time of a `with`."""
    command = [sys.executable, "-m", "support.many", *map(str, (healthy, models, hanging, hostile))]
    with subprocess.Popen(
        command, cwd=Path(__file__).parent.parent, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin
        assert process.stdout
        try:
            yield process.stdout.readline().split()
        finally:
            process.stdin.close()


if __name__ == "__main__":
    asyncio.run(_serve(*map(int, sys.argv[1:])))
