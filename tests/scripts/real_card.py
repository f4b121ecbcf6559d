"""Measure one card: what a step costs by load, beside what Draftboard assumes, infers and calibrates.

    python -m scripts.real_card OUT --vllm PROGRAM --size 8b --size 70b [--loads 1,4,16,64] [--k 2 --k 5]

It starts a plain server and one for each K, with probe and lens, on models of random weights that it makes: nothing is
fetched. OUT gets `card.json` and `card.md`. `--size tiny` runs on a CPU. Not run on a GPU yet.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import threading
from contextlib import ExitStack
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

from conftest import ROOT
from draftboard.access import Access
from draftboard.calibrate import Load, calibrated, of_load
from draftboard.calibrate.result import Row
from draftboard.calibrate.windows import Measured, Window
from draftboard.errors import DraftboardError
from draftboard.reading import Page, growth, in_parts
from draftboard.reading.fetch import scrape
from draftboard.report import Reading
from draftboard.settings import Settings
from draftboard.sweep import Plan
from support.vllm_server import Vllm, serving

METHOD = "ngram"
SIZES: dict[str, dict[str, int]] = {
    "tiny": {},
    "1b": {"hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 16, "num_attention_heads": 32},
    "8b": {"hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32},
    "70b": {"hidden_size": 8192, "intermediate_size": 28672, "num_hidden_layers": 20, "num_attention_heads": 64},
}
"""Keys of a Llama's configuration; of the largest a quarter of its layers."""
CPU = "--enforce-eager --dtype float32"
GPU = "--load-format dummy --dtype bfloat16 --no-enforce-eager --async-scheduling"
LENS = "--middleware draftboard_probe.Lens"
HEAD = """\
| model | K | load | batch | assumed | own curve | calibrated by other loads | measured (95 %) |
|---|--:|--:|--:|--:|--:|--:|--:|
"""


class Watcher:
    """Pages of a server while it works."""

    def __init__(self, server: Vllm) -> None:
        self.pages: list[tuple[Page, ...]] = []
        self._url, self._ended = server.url, threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(1.0):
            self.pages.append(scrape([self._url]))


def made(size: str, vllm: Path, folder: Path) -> Path:
    """A folder with a model of that size; above `tiny` a configuration, whose weights vLLM makes up."""
    subprocess.run([vllm.parent / "python", ROOT / "tests/support/tiny_model.py", folder], check=True)
    path = folder / "target/config.json"
    if keys := SIZES[size]:
        config = json.loads(path.read_text()) | keys | {"num_key_value_heads": 8, "max_position_embeddings": 32768}
        path.write_text(json.dumps(config))
    return folder / "target"


def measure(size: str, ks: list[int], loads: tuple[int, ...], vllm: Path, rounds: int) -> list[dict[str, Any]]:
    """A row for each K and load."""
    settings, words = Settings(), f"--max-num-seqs {2 * max(loads)} {CPU if size == 'tiny' else GPU}"
    rows: list[dict[str, Any]] = []
    with ExitStack() as stack:
        work = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        model = made(size, vllm, work / "model")
        share = {"GPU_MEMORY_UTILIZATION": "0.4"}

        def started(name: str, speculation: str = "") -> Vllm:
            (work / name).mkdir()
            given = {"program": vllm, "model": model, "settings": settings, "variables": share}
            return stack.enter_context(
                serving(work / name, speculation=speculation, words=f"{words} {LENS}", **given)  # type: ignore[arg-type]
            )

        plain = started("plain")
        for k in ks:
            wanted = {"method": METHOD, "num_speculative_tokens": k, "prompt_lookup_max": 4, "prompt_lookup_min": 1}
            candidate = started(f"k{k}", json.dumps(wanted))
            rows += [{"size": size, "k": k, **row} for row in compared(plain, candidate, loads, rounds, settings)]
    return rows


def compared(
    plain: Vllm, candidate: Vllm, loads: tuple[int, ...], rounds: int, settings: Settings
) -> list[dict[str, Any]]:
    """Each load, with what is assumed of it, inferred from the server's own steps, calibrated, and measured."""
    plan = Plan(server=plain.url, method=METHOD, max_tokens=96, access=Access.of_api_server(candidate.key_file))
    by_load: dict[int, list[Page]] = {}
    windows: list[Window] = []
    for load in loads:
        with Watcher(candidate) as watcher:
            found = of_load(plain.url, [candidate.url], Load(plan=plan, concurrency=(load,), rounds=rounds), settings)
        by_load[load] = [page for (page,) in watcher.pages]
        windows += found.windows
    whole = replace(found, windows=tuple(windows))
    every = [page for pages in by_load.values() for page in pages]
    return [
        {
            "load": row.load,
            "batch": row.batch,
            "measured": [row.speedup.low, row.speedup.value, row.speedup.high],
            "assumed": expected(by_load[row.load], [], settings),
            "own": expected(by_load[row.load], every, settings),
            "calibrated": predicted(
                row, replace(whole, windows=tuple(one for one in windows if one.load != row.load)), settings
            ),
        }
        for row in calibrated(whole, settings).rows
    ]


def expected(pages: list[Page], every: list[Page], settings: Settings) -> list[float] | None:
    """The range of the expected speedup at the load of some pages, by the steps of all; None where there is none."""
    reading = Reading([pages[-1]], growth(pages[0], pages[-1]), settings, METHOD, in_parts(every) if every else ())
    (model,) = reading.report().models
    found = model.speculation.assumed if model.speculation else None
    return [found.speedup.low, found.speedup.high] if found and found.speedup else None


def predicted(row: Row, others: Measured, settings: Settings) -> float | None:
    """The speedup that the costs at other loads give at this one; None where it lies outside of them."""
    try:
        points = sorted((one.batch, one.together.value) for one in calibrated(others, settings).costs.points)
    except DraftboardError:
        return None
    for (below, low), (above, high) in pairwise(points):
        if below <= row.batch <= above:
            cost = low + (high - low) * (row.batch - below) / (above - below)
            return row.tokens_per_step.value / (row.coverage * cost + 1 - row.coverage)
    return None


def table(rows: list[dict[str, Any]]) -> str:
    """The rows side by side."""

    def cell(value: Any) -> str:
        if isinstance(value, list):
            low, *middle, high = value
            return f"{middle[0]:.2f} ({low:.2f} to {high:.2f})" if middle else f"{low:.2f} to {high:.2f}"
        return "-" if value is None else f"{value:.2f}" if isinstance(value, float) else str(value)

    columns = ("size", "k", "load", "batch", "assumed", "own", "calibrated", "measured")
    return HEAD + "".join(f"| {' | '.join(cell(row[name]) for name in columns)} |\n" for row in rows)


def main() -> None:
    parser = argparse.ArgumentParser(prog="real_card", description=__doc__.partition("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--vllm", type=Path, required=True, help="the program, in its virtual environment")
    parser.add_argument("--size", action="append", choices=SIZES, required=True)
    parser.add_argument("--k", action="append", type=int)
    parser.add_argument("--loads", default="1,4,16,64")
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    loads = tuple(int(load) for load in given.loads.split(","))
    vllm = given.vllm.absolute()  # It is started in another folder.
    rows = [row for size in given.size for row in measure(size, given.k or [2, 5], loads, vllm, given.rounds)]
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "card.json").write_text(json.dumps(rows, indent=1) + "\n")
    (given.out / "card.md").write_text(table(rows))
    sys.stdout.write(table(rows))


if __name__ == "__main__":
    main()
