"""What a browser receives when it opens the page on many engines: three thousand of them fit the limit."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest

from conftest import program
from draftboard.durations import Duration
from draftboard.lab import openmetrics
from draftboard.prometheus.process import Promtool, Server
from draftboard.settings import Settings
from draftboard.signals.health import HEALTH, WELL
from support import grafana
from support.opened import queries, variables
from support.rulefiles import series_in

pytestmark = [pytest.mark.prometheus, pytest.mark.long]

ENGINES, MODELS = 3_000, 30
UNWELL, RECOVERED = 300, 300
"""Engines that have been down for hours, and those that are well again; they alone have a past."""
END, EVERY = 1_800_000_000, 240
SHOWN, LOOKBACK = Duration(6 * 3600), Duration(300)
MOST = 300_000
"""Bytes of a view, without compression."""
TABLE, ROWS = "Engines by health", 50
OFFERED = "engine:vllm_generation_tokens:rate5m"
"""What variables read."""


class Engine(NamedTuple):
    """An engine, the worst first."""

    number: int

    @property
    def labels(self) -> Mapping[str, str]:
        return {
            "cluster": "eu-1",
            "namespace": "serving",
            "job": "vllm",
            "instance": f"10.0.0.{self.number}:8000",
            "model_name": f"org/model-{self.number % MODELS}",
            "engine": "0",
            "spec_method": "eagle3",
        }

    def samples(self, record: str) -> Iterator[tuple[int, float]]:
        times, is_drawn = range(END - SHOWN.seconds, END + 1, EVERY), self.number < UNWELL + RECOVERED
        for at in times if is_drawn else times[-2:]:
            if record == "engine:vllm_health:enum_rate5m":
                is_down = self.number < UNWELL or (is_drawn and at < END - SHOWN.seconds // 2)
                yield at, HEALTH["down"].value if is_down else WELL
            elif is_drawn:  # The lowest and the highest of all.
                yield at, (self.number + at % 3_600 / 7) / (UNWELL + RECOVERED)
            else:
                yield at, 0.9


def recording(records: list[str]) -> str:
    lines = (
        f"{openmetrics.series(record, engine.labels)} {value} {at}\n"
        for record in records
        for engine in map(Engine, range(ENGINES))
        for at, value in engine.samples(record)
    )
    return "".join((*lines, "# EOF\n"))


class Received(NamedTuple):
    """What was sent to the browser."""

    size: dict[str, int]  # Bytes by variable and panel.
    rows: list[frozenset[str]]  # Instances in each answer of the table.


def received(url: str, page: grafana.Json, settings: Settings) -> Received:
    found, rows = dict[str, int](), []
    with httpx.Client(base_url=url, headers={"Accept-Encoding": "identity"}, timeout=60) as http:
        for label, series in variables(page):
            answer = http.get(
                f"/api/v1/label/{label}/values", params={"match[]": series, "start": END - SHOWN.seconds, "end": END}
            )
            found[f"${label}"] = len(answer.raise_for_status().content)
        for query in queries(page, settings, SHOWN):
            sent: dict[str, object] = {"query": query.expr, "time": END}
            if query.step:
                sent |= {"start": END - SHOWN.seconds, "end": END, "step": query.step}
            answer = http.post("/api/v1/query_range" if query.step else "/api/v1/query", data=sent)
            found[query.title] = found.get(query.title, 0) + len(answer.raise_for_status().content)
            if query.title == TABLE:
                rows.append(frozenset(one["metric"]["instance"] for one in answer.json()["data"]["result"]))
    return Received(found, rows)


def test_a_view_of_three_thousand_engines_stays_below_300_kb(
    files: Mapping[str, str], tmp_path: Path, settings: Settings
) -> None:
    page = grafana.dashboards(files)["dashboards/draftboard-fleet.json"]
    read = (query.expr for query in queries(page, settings, SHOWN))
    records = {OFFERED} | {name for expr in read for name in series_in(expr) if name.startswith("engine:")}
    server = Server(program("prometheus"), tmp_path, LOOKBACK)
    (tmp_path / "recording.om").write_text(recording(sorted(records)))
    Promtool(program("promtool")).load_openmetrics(tmp_path / "recording.om", server.storage)
    with server.running() as url:
        size, rows = received(url, page, settings)
    assert sum(size.values()) < MOST, sorted(size.items(), key=lambda one: -one[1])
    assert size["$instance"] > ENGINES
    shown, *others = filter(None, rows)
    assert len(shown) == ROWS
    assert shown <= {engine.labels["instance"] for engine in map(Engine, range(UNWELL))}
    assert {shown} == {*others}
