"""What scraped series and records take on disk: writes that section of the page on performance.

`make bench` does, too: this part alone takes two minutes.
"""

import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from conftest import OBJECTIVES, program, replayed
from draftboard.build import render
from draftboard.durations import Duration
from draftboard.lab import openmetrics
from draftboard.lab.replay import Replay
from draftboard.lab.simulator.backfill import backfill
from draftboard.lab.simulator.fleet import targets
from draftboard.prometheus import Promtool, Series
from draftboard.rules import RECORDED_BYTES, SCRAPED_BYTES
from draftboard.settings import load
from scripts.performance import rewrite, table
from support.fleets import SIMULATED, simulated
from support.rulefiles import groups

SPAN = Duration(6 * 3600)
DAY = 86_400
TEXT = """## Disk

{engines} engines of five models, simulated for {span}: all that is scraped, and what rules make of it with four SLOs.
`promtool` writes both to blocks of two hours. Prometheus merges these, and most of the index goes.

{table}
Measured on {date}. Ratios of counters compress less than counters. A real vLLM 0.32 has 249 series an engine, with its
scrapes, many of which stand still and take little. `draftboard build` prices records at {recorded:g} bytes a sample,
and `draftboard doctor --cost` what is scraped at {scraped:g}.

"""


@dataclass(frozen=True)
class Stored:
    """So many series and samples of a span, in so many bytes."""

    series: int
    samples: int
    chunks: int
    index: int

    def cells(self) -> tuple[str, ...]:
        """Of its column."""
        days = DAY / SPAN.seconds
        return (
            f"{self.series:,}",
            f"{self.samples * days / 1e6:.2f} M",
            f"{self.chunks / self.samples:.2f}",
            f"{self.index / self.samples:.2f}",
            f"{(self.chunks + self.index) * days / 1e6:.1f} MB",
        )


def stored(text: Path) -> Stored:
    """An OpenMetrics file as blocks in a folder beside it."""
    folder, series, samples = text.with_suffix(""), set[str](), 0
    with text.open() as lines:
        for line in lines:
            if not line.startswith("#"):
                samples += 1
                series.add(line.rsplit(" ", 2)[0])
    Promtool(program("promtool")).load_openmetrics(text, folder)
    chunks, index = (sum(one.stat().st_size for one in folder.glob(of)) for of in ("*/chunks/*", "*/index"))
    return Stored(len(series), samples, chunks, index)


def made(replay: Replay) -> Iterator[str]:
    """Lines of all records, at the pace of their groups, each series' in one piece."""
    for group in groups(render(replay.settings)):
        pace = Duration.parse(group["interval"]).seconds
        for rule in group["rules"]:
            if "record" in rule:
                for one in replay.client.query_range(
                    f'{{__name__="{rule["record"]}"}}', replay.start, replay.end, pace
                ):
                    yield from _lines(one)
    yield "# EOF\n"


def _lines(one: Series) -> Iterator[str]:
    name = openmetrics.series(one.labels["__name__"], one.unnamed)
    return (f"{name} {value!r} {at:.0f}\n" for at, value in one.samples)


def measured() -> str:
    """The section."""
    settings = load(OBJECTIVES)
    until = int(time.time()) // 3600 * 3600
    times = range(until - SPAN.seconds, until, settings.rules.scrape_interval.seconds)
    with tempfile.TemporaryDirectory(prefix="draftboard-bench-") as name:
        recording, records = Path(name) / "recording.om", Path(name) / "records.om"
        backfill(targets(simulated(), seed=1), times, recording)
        with replayed(recording, settings) as replay, records.open("w") as out:
            out.writelines(made(replay))
        columns = [stored(one).cells() for one in (recording, records)]
    heads = ("series", "samples a day", "bytes of chunks a sample", "bytes of index a sample", "a day")
    rows = zip(heads, *columns, strict=True)
    return TEXT.format(
        engines=SIMULATED,
        span=SPAN,
        table=table(["", "scraped", "records"], rows),
        date=datetime.now(UTC).date(),
        recorded=RECORDED_BYTES,
        scraped=SCRAPED_BYTES,
    )


if __name__ == "__main__":
    rewrite(measured())
