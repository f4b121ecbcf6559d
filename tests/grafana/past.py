"""The past that the dashboards show: simulated servers, GPUs, the monitoring itself, and the alerts that fired."""

import hashlib
import json
import math
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from conftest import ROOT, program, replayed
from draftboard.build import render
from draftboard.build.files import ALERTING, RECORDING
from draftboard.catalogue import around, probe
from draftboard.lab.simulator import find
from draftboard.lab.simulator.backfill import backfill
from draftboard.lab.simulator.fleet import Target, targets
from draftboard.lab.simulator.scenario import Scenario
from draftboard.prometheus import Promtool, Server
from draftboard.settings import Settings

HERE = ROOT / "tests/grafana"
BUILD = ROOT / "build/grafana"
LAB = ROOT / "generator/draftboard/lab"
END = 1_756_800_420
"""Off the full hour, whose label would be cut off at the edge of a graph."""


@dataclass(frozen=True)
class Story:
    """A scenario, how often it is scraped, in seconds, and whether rules are loaded."""

    scenario: Path
    pace: int
    ruled: bool = True


EVERYTHING = Story(HERE / "past.toml", 15)
FLEET = Story(HERE / "fleet.toml", 60)
STORIES = Story(HERE / "stories.toml", 60)
DAY = Story(HERE / "day.toml", 60)
UNRULED = Story(LAB / "simulator/scenarios/healthy-eagle3.toml", 60, ruled=False)
UNLABELLED = "unlabelled"
"""Cluster of servers without the label of a method, which simulated servers have."""


@dataclass(frozen=True)
class Past:
    """A Prometheus with it, and its first and last evaluation, in Unix time."""

    url: str
    start: float
    end: float


@contextmanager
def serving(folder: Path, settings: Settings, story: Story = EVERYTHING) -> Iterator[Past]:
    """Serve it for a `with`. Making it takes minutes, so it stays there until the rules or the scenario change."""
    kept = folder / _digest(settings, story)
    if not (kept / "span.json").exists():
        shutil.rmtree(folder, ignore_errors=True)
        kept.mkdir(parents=True)
        (kept / "span.json").write_text(json.dumps(_made(kept, settings, story)))
    start, end = json.loads((kept / "span.json").read_text())
    with _server(kept, settings).running() as url:
        yield Past(url, start, end)


def _digest(settings: Settings, story: Story) -> str:
    built = render(settings)
    sources = [Path(__file__), story.scenario, *sorted(LAB.glob("simulator/*.py")), *sorted(LAB.glob("replay/*.py"))]
    parts = [built[RECORDING], built[ALERTING], *(path.read_text() for path in sources)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def _made(kept: Path, settings: Settings, story: Story) -> tuple[float, float]:
    """Simulate and evaluate the rules; returns the first and the last evaluation."""
    scenario = find(str(story.scenario))
    times = range(END - scenario.duration.seconds, END + 1, story.pace)
    recording = kept / "past.om"
    backfill(_scraped(scenario), times, recording)
    _append(recording, chain(_plugin(times), _gpus(times), _monitoring(times)))
    if not story.ruled:
        Promtool(program("promtool")).load_openmetrics(recording, _server(kept, settings).storage)
        recording.unlink()
        return times[0], times[-1]
    with replayed(recording, settings, keep_in=kept) as replay:
        recording.unlink()
    return replay.start, replay.end


def _server(kept: Path, settings: Settings) -> Server:
    return Server(program("prometheus"), kept, lookback=settings.rules.evaluation_interval)


def _scraped(scenario: Scenario) -> tuple[Target, ...]:
    """Its servers, each with the labels that its scrape configuration gives it."""
    return tuple(
        replace(one, labels={name: value for name, value in one.labels.items() if name != "spec_method"})
        if one.labels.get("cluster") == UNLABELLED
        else one
        for one in targets(scenario, 1)
    )


def _append(recording: Path, lines: Iterator[str]) -> None:
    """Behind the last family, before the end mark."""
    end = "# EOF\n"
    with recording.open("r+") as text:
        text.seek(0, 2)
        text.seek(text.tell() - len(end))
        text.writelines(f"{line}\n" for line in lines)
        text.write(end)


def _plugin(times: range) -> Iterator[str]:
    """One engine with Draftboard's plugin for vLLM, and how it drafts."""
    target = 'job="vllm",instance="vllm-0:8000",engine="0",model_name="meta-llama/Llama-3.3-70B-Instruct"'
    variant = 'variant="speculative",spec_method="eagle3"'
    drafts = 'method="eagle3",k="5",adaptive="false",rejection="standard"'
    yield from (f"{probe.INFO.name}{{{target},{variant},{drafts}}} 1 {at}" for at in times)


def _gpus(times: range) -> Iterator[str]:
    """Four GPUs of the first server's machine; one of them reports an error in the last half hour."""
    waves = {
        around.GPU_UTILISATION: (80, 15),
        around.GPU_MEMORY_USED: (70_000, 500),
        around.GPU_POWER: (400, 150),
        around.GPU_XID: (0, 0),
    }
    for metric, (middle, height) in waves.items():
        for gpu in range(4):
            series = f'{metric.name}{{job="dcgm",instance="vllm-0:9400",gpu="{gpu}",UUID="GPU-{gpu}"}}'
            for at in times:
                broken = metric is around.GPU_XID and gpu == 2 and at > times[-1] - 1800
                value = 79 if broken else middle + height * math.sin(at / 900 + gpu)
                yield f"{series} {value:.3f} {at}"


def _monitoring(times: range) -> Iterator[str]:
    """A Prometheus with a rule that failed once, and no failures otherwise."""
    own = 'job="prometheus",instance="prometheus:9090"'
    steady = {
        f'{around.RULE_GROUPS.name}{{{own},rule_group="draftboard"}}': 60,
        f'{around.RULES_MISSED.name}{{{own},rule_group="draftboard"}}': 0,
        f"{around.ALERTMANAGERS.name}{{{own}}}": 1,
        f"{around.ALERTS_DROPPED.name}{{{own}}}": 0,
    }
    for series, value in steady.items():
        yield from (f"{series} {value} {at}" for at in times)
    failed = f'{around.RULES_FAILED.name}{{{own},rule_group="draftboard"}}'
    yield from (f"{failed} {int(at > times[-1] - 3600)} {at}" for at in times)
