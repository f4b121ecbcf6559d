"""GPUs of the machines that serve: joined by host where labels allow, absent without harm."""

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import replayed
from draftboard.build import render
from draftboard.lab.replay import Replay
from draftboard.settings import Settings
from support import grafana
from support.replays import behind

pytestmark = [pytest.mark.prometheus, pytest.mark.xdist_group("gpus")]

START, SCRAPES, PACE = 1_795_000_000, 40, 15
TITLES = ("GPU utilisation", "GPU memory in use", "GPU power", "Last XID error")


def lines(series: str, value: float, growth: float = 0.0) -> Iterator[str]:
    for scrape in range(SCRAPES):
        yield f"{series} {value + growth * scrape} {START + PACE * scrape}"


def engine(instance: str, model: str, extra: str = "") -> Iterator[str]:
    labels = f'job="vllm",instance="{instance}",model_name="{model}",engine="0"{extra}'
    yield from lines(f"vllm:generation_tokens_total{{{labels}}}", 0, 150)
    yield from lines(f"vllm:num_requests_running{{{labels}}}", 1)


def gpu(instance: str, number: int, value: float, extra: str = "") -> Iterator[str]:
    labels = f'job="dcgm",instance="{instance}",gpu="{number}",UUID="GPU-{instance}-{number}"{extra}'
    yield from lines(f"DCGM_FI_DEV_GPU_UTIL{{{labels}}}", value)
    yield from lines(f"DCGM_FI_DEV_FB_USED{{{labels}}}", 1000)
    yield from lines(f"DCGM_FI_DEV_POWER_USAGE{{{labels}}}", 300)
    yield from lines(f"DCGM_FI_DEV_XID_ERRORS{{{labels}}}", 0)


def of_fleet(series: list[str], folder: Path) -> Iterator[Replay]:
    path = folder / "fleet.om"
    path.write_text("\n".join([*series, "# EOF\n"]))
    settings = Settings()
    rules, _ = behind((expression(title, "records") for title in TITLES), settings)
    with replayed(path, settings, rules=rules) as replay:
        yield replay


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replay]:
    """By address; by a label of both; a machine that serves nothing."""
    yield from of_fleet(
        [
            *engine("10.0.0.1:8000", "llama"),
            *engine("10.0.0.1:8001", "qwen"),
            *gpu("10.0.0.1:9400", 0, 50),
            *gpu("10.0.0.1:9400", 1, 70),
            *engine("vllm:8000", "gemma", ',host="rack7"'),
            *gpu("dcgm-exporter:9400", 0, 90, ',host="rack7"'),
            *gpu("10.0.0.9:9400", 0, 10),
        ],
        tmp_path_factory.mktemp("machines"),
    )


@functools.cache
def dashboards() -> dict[str, dict[str, Any]]:
    return grafana.dashboards(render(Settings()))


def expression(title: str, edition: str, **chosen: str) -> str:
    """What a panel asks."""
    folder, suffix = ("dashboards/standalone", "-raw") if edition == "raw" else ("dashboards", "")
    dashboard = dashboards()[f"{folder}/draftboard-capacity{suffix}.json"]
    panel = next(panel for panel in grafana.panels(dashboard) if panel["title"] == title)
    return grafana.substituted(panel["targets"][0]["expr"], dashboard, "5m", chosen)


def shown(replay: Replay, title: str, edition: str, **chosen: str) -> dict[tuple[str, str], float]:
    """What a panel shows, by machine and GPU."""
    found = replay.client.query(expression(title, edition, **chosen), replay.start + 300)
    return {(series.labels["host"], series.labels["gpu"]): series.samples[0][1] for series in found}


@pytest.mark.parametrize("edition", ["records", "raw"])
def test_the_gpus_of_a_model_are_those_of_its_machine(edition: str, machines: Replay) -> None:
    both = {("10.0.0.1", "0"): 0.5, ("10.0.0.1", "1"): 0.7}
    assert shown(machines, "GPU utilisation", edition, model_name="llama") == pytest.approx(both)
    assert shown(machines, "GPU utilisation", edition, model_name="qwen") == pytest.approx(both)
    assert shown(machines, "GPU utilisation", edition, model_name="gemma") == {("rack7", "0"): 0.9}
    assert shown(machines, "GPU utilisation", edition) == pytest.approx(both | {("rack7", "0"): 0.9})


def test_units_are_those_that_are_shown(machines: Replay) -> None:
    assert shown(machines, "GPU memory in use", "records", model_name="gemma") == {("rack7", "0"): 1000 * 2**20}
    assert shown(machines, "GPU power", "records", model_name="gemma") == {("rack7", "0"): 300}
    assert shown(machines, "Last XID error", "records", model_name="gemma") == {("rack7", "0"): 0}


@pytest.fixture(scope="module")
def unmatched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replay]:
    """Containers of one host, each under a name of its own."""
    yield from of_fleet(
        [*engine("vllm:8000", "llama"), *gpu("dcgm-exporter:9400", 0, 40)], tmp_path_factory.mktemp("unmatched")
    )


def test_where_no_label_tells_the_machine_all_gpus_are_shown(unmatched: Replay) -> None:
    assert shown(unmatched, "GPU utilisation", "records") == {("dcgm-exporter", "0"): 0.4}


@pytest.fixture(scope="module")
def without_exporter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replay]:
    yield from of_fleet([*engine("vllm:8000", "llama")], tmp_path_factory.mktemp("without"))


@pytest.mark.parametrize("edition", ["records", "raw"])
def test_without_an_exporter_the_panels_are_empty_and_no_query_fails(edition: str, without_exporter: Replay) -> None:
    for title in TITLES:
        assert shown(without_exporter, title, edition) == {}
