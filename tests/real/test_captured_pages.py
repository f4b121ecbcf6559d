"""Pages of real llama.cpp and Ray Serve in a Prometheus with the dialect's rules: every command in every state."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from conftest import replayed
from draftboard.lab import openmetrics
from draftboard.lab.replay import Replay, firings
from draftboard.settings import Settings
from support import command_line
from support.dialects import captured

pytestmark = pytest.mark.prometheus
START, STEP, MINUTES = 1_760_000_000, 15, 20
COUNT = MINUTES * 60 // STEP
END = START + (COUNT - 1) * STEP
_Labels = frozenset[tuple[str, str]]
_Series = tuple[str, _Labels]
_Page = dict[_Series, tuple[float, bool]]
"""Values by series, and whether each is a counter's."""
OF_RAY_ITSELF = re.compile("ray_(?!vllm_|serve_(?:deployment|replica_processing)_|node_mem_total)")
"""Two thirds of a page of Ray, which neither a signal nor doctor reads."""
PAST = {
    "llama.cpp": {
        "fresh": ("draft_model", "draft-model-idle", "draft-model-idle"),
        "idle": ("draft_model", "draft-model-2", "draft-model-2"),
        "idle-plain": ("none", "baseline-2", "baseline-2"),
        "stopped": ("draft_model", "draft-model-1", ""),
        "unlabelled": ("", "baseline-1", "baseline-2"),
        "drafts@router": ("draft_model", "draft-model-1", "draft-model-2"),
        "plain@router": ("none", "baseline-1", "baseline-2"),
        "tiny/plain": ("none", "baseline-1", "baseline-2"),
        "tiny/draft": ("draft_model", "draft-model-1", "draft-model-2"),
        "tiny/ngram": ("ngram", "ngram-simple-1", "ngram-simple-2"),
    },
    "ray": {
        "fresh": ("ngram", "fresh", "fresh"),
        "idle": ("ngram", "idle-after-load", "idle-after-load"),
        "tiny/drafting": ("ngram", "1", "2"),
        "tiny/plain": ("none", "plain-1", "plain-2"),
        "stopped": ("ngram", "2", "stopped"),
        "hung": ("ngram", "fresh", "hung-at-start"),
        "unlisted": ("ngram", "unlisted-1", "unlisted-2"),
    },
}
"""By model and server: its method, and the pages of the first and the last scrape; it does not answer with none.

Models of one router have a job each.
"""
STATES = {
    "llama.cpp": {
        "fresh/draft_model": "idle",
        "idle/draft_model": "idle",
        "idle-plain/none": "speculation off",
        "stopped/draft_model": "down",
        "tiny/draft_model": "drafting",
        "tiny/ngram": "drafting",
        "tiny/none": "speculation off",
        "unlabelled/": "speculation off",
        "drafts/draft_model": "drafting",
        "plain/none": "speculation off",
    },
    "ray": {
        "/ngram": "idle",  # Nothing was counted yet, not even for a model.
        "idle/ngram": "idle",
        "hung/ngram": "drafting",  # Its other replica.
        "unlisted/ngram": "drafting",
        "stopped/ngram": "holds requests, generates nothing",
        "tiny/ngram": "drafting",
        "tiny/none": "speculation off",
    },
}
SPEEDUPS = {"llama.cpp": {"draft_model": 0.233, "ngram": 0.677}, "ray": {"ngram": 1.0}}
"""Of the clients; behind Ray both sides are one run."""
ALERTS = {
    "llama.cpp": {"VLLMModelDown": {"stopped"}, "VLLMTargetDown": {"stopped"}},
    # Of an engine that hangs before its first token only the name of its deployment is known.
    "ray": {"VLLMEngineStuck": {"stopped", "Tiny"}},
}
"""Models by alert."""
ONE_WAY = {"llama.cpp": {"idle-plain": 0, "plain": 0, "drafts": 4}, "ray": {}}
"""K of models that are served in one way."""
FAULTY = "stopped|unlisted"


@cache
def read(dialect: str, state: str) -> _Page:
    return {
        (one.name, frozenset(one.labels.items())): (one.value, family.type != "gauge")
        for family in text_string_to_metric_families(captured(dialect, state))
        for one in family.samples
        if not OF_RAY_ITSELF.match(one.name)
    }


def between(first: _Page, second: _Page, share: float) -> Iterator[tuple[_Series, float]]:
    """What a page shows so far from one to the other: counters grow evenly, gauges change half-way."""
    for series, (value, counts) in (second if share >= 0.5 else first).items():
        start, _ = first.get(series, (0.0, counts))
        end, _ = second.get(series, (start, counts))
        yield series, start + share * (end - start) if counts else value


def stored(series: _Series, target: Mapping[str, str], model: str) -> str:
    """A series of a page with the labels of its target, of that model."""
    name, labels = series[0], dict(series[1])
    own = {label: model if label == "model_name" else text for label, text in labels.items()}
    return openmetrics.series(name, {**own, **target})


def recording(dialect: str, path: Path) -> Path:
    with path.open("w", encoding="utf-8") as text:
        for place, (method, *states) in PAST[dialect].items():
            model, _, router = place.partition("/")[0].partition("@")
            job = f"engines-{model}" if router else "engines"
            target = {"job": job, "instance": router or place, "spec_method": method}
            first, second = (read(dialect, state) if state else {} for state in states)
            # llama.cpp has no models: its name is a label of the target.
            target |= {"model_name": model} if dialect == "llama.cpp" else {}
            texts = {series: stored(series, target, model) for series in first | second}
            for step in range(COUNT):
                share, at = step / (COUNT - 1), START + step * STEP
                up = bool(second) or share < 0.5
                for series, value in between(first, second, share) if up else ():
                    text.write(f"{texts[series]} {value!r} {at}\n")
                text.write(f"{openmetrics.series('up', target)} {int(up)} {at}\n")
        text.write("# EOF\n")
    return path


class World:
    """A Prometheus with the pasts of one dialect's servers, and the commands on it."""

    def __init__(self, dialect: str, replay: Replay, folder: Path) -> None:
        self.dialect, self.replay, self.config = dialect, replay, folder / "settings.toml"
        self.config.write_text(f'[series]\ndialect = "{dialect}"\n')

    def run(self, command: str, *words: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any], str]:
        where = ("--prometheus", self.replay.client.url, "--config", self.config, "--at", str(END), "--json")
        code, out, err = command_line.run(command, *where, *words, capsys=capsys)
        return code, json.loads(out) if out else {}, err


@pytest.fixture(scope="module", params=PAST)
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder, dialect = tmp_path_factory.mktemp(request.param), request.param
    settings = Settings.model_validate({"series": {"dialect": dialect}})
    with ExitStack() as stack:
        replay = stack.enter_context(replayed(recording(dialect, folder / "past.om"), settings))
        yield World(dialect, replay, folder)


def test_a_report_tells_every_state(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    code, found, err = world.run("report", capsys=capsys)
    assert (code, err) == (0, "")
    states = {f"{one['model']}/{one['method'] or ''}": one["state"] for one in found["models"]}
    assert states == STATES[world.dialect]
    assert not [note for note in found["notes"] if "[series]" in note], "the setting is right"


def test_doctor_finds_no_fault_but_in_the_faulty_servers(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    _, found, err = world.run("doctor", capsys=capsys)
    assert err == ""
    (examination,) = found["examinations"]
    faults = [one for one in examination["findings"] if one["severity"] != "note" and "GPU exporter" not in one["what"]]
    assert [f"{one['where']}: {one['what']}" for one in faults if not re.search(FAULTY, one["where"])] == []
    assert not re.search(r"\bvllm:", json.dumps(found)), "names are the dialect's"


def test_doctor_names_the_series_of_ray_that_a_scrape_leaves_out(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    _, found, _ = world.run("doctor", capsys=capsys)
    (examination,) = found["examinations"]
    named = [one for one in examination["findings"] if "ray_serve_deployment_request_counter_total" in one["what"]]
    assert ["unlisted" in one["where"] for one in named] == [True] * (world.dialect == "ray")


def test_doctor_names_the_label_that_tells_replicas_apart(
    world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the engine label of vLLM, which all replicas of Ray have alike."""
    (config := tmp_path / "settings.toml").write_text(world.config.read_text() + '[labels]\nengine = "engine"\n')
    _, found, _ = world.run("doctor", "--config", str(config), capsys=capsys)
    (examination,) = found["examinations"]
    told = [one for one in examination["findings"] if 'engine = "ReplicaId"' in (one["paste"] or "")]
    assert bool(told) == (world.dialect == "ray")


def test_history_has_no_change_where_nothing_changed(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    code, found, err = world.run("history", "--range", "15m", capsys=capsys)
    assert (code, err) == (0, "")
    assert {one["model"] for one in found["models"]} >= {"idle", "tiny"}
    assert [change for one in found["models"] for change in one["changes"]] == []
    now = {one["model"]: one["now"]["k"] for one in found["models"] if one["now"]}
    assert now.items() >= ONE_WAY[world.dialect].items()


def test_compare_finds_the_speedup_of_the_pages(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    for method, speedup in SPEEDUPS[world.dialect].items():
        sides = ("spec_method=none", f"spec_method={method}", "--model", "tiny")
        code, found, err = world.run("compare", *sides, "--force", capsys=capsys)
        assert (code, err) == (0, "")
        assert found["measured"]["speedup"] == pytest.approx(speedup, rel=1e-2)
        assert found["verdict"]["says"] == ("users wait longer" if speedup < 0.9 else "about even")


def test_stopped_and_hung_servers_alone_have_alerts(world: World) -> None:
    found: dict[str, set[str]] = {}
    for one in firings(world.replay):
        if not one.alert.startswith("Draftboard"):
            found.setdefault(one.alert, set()).add(one.labels["model_name"])
    assert found == ALERTS[world.dialect]
