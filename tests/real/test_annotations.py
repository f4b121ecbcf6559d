"""What Grafana marks on its graphs: a restart, a change of K and a new method, each once, from either edition."""

import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import NamedTuple

import pytest

from conftest import replayed
from draftboard.build import render
from draftboard.durations import Duration
from draftboard.history.finding import of_past
from draftboard.lab.replay import Replay
from draftboard.reading import Recorded
from draftboard.settings import Settings
from support import grafana
from support.replays import behind

pytestmark = pytest.mark.prometheus

START, PACE, MINUTES = 1_795_000_020, 15, 70
EDITIONS = ("dashboards/draftboard-overview.json", "dashboards/standalone/draftboard-overview-raw.json")


class Life(NamedTuple):
    """A server between two starts, in minutes."""

    begins: int
    ends: int
    k: int


class Event(NamedTuple):
    minute: int
    text: str


def exposed(model: str, instance: str, method: str, *lives: Life) -> Iterator[str]:
    labels = f'job="vllm",instance="{instance}",model_name="{model}",engine="0",spec_method="{method}"'
    names = ["vllm:generation_tokens_total{" + labels + "}"]
    positions = [
        f'vllm:spec_decode_num_accepted_tokens_per_pos_total{{{labels},position="{number}"}}'
        for number in range(max(life.k for life in lives))
    ]
    for series, position in [(names[0], -1), *((name, number) for number, name in enumerate(positions))]:
        for life in lives:
            for scrape in range(life.begins * 60 // PACE, life.ends * 60 // PACE if position < life.k else 0):
                since = scrape - life.begins * 60 // PACE
                yield f"{series} {150 * since} {START + PACE * scrape}"


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replay]:
    """Models that change, each in its own way, and one that does not."""
    samples = [
        *exposed("deeper", "a:8000", "eagle3", Life(0, 20, 5), Life(24, MINUTES, 8)),
        *exposed("shallower", "b:8000", "eagle3", Life(0, 30, 4), Life(31, MINUTES, 2)),
        *exposed("rolled", "c:8000", "mtp", Life(0, 40, 1), Life(41, MINUTES, 3)),
        *exposed("rolled", "d:8000", "mtp", Life(0, 48, 1), Life(50, MINUTES, 3)),
        *exposed("tried", "e:8000", "none", Life(0, MINUTES, 0)),
        *exposed("tried", "f:8000", "ngram", Life(15, MINUTES, 3)),
        *exposed("steady", "g:8000", "eagle3", Life(0, MINUTES, 5)),
    ]
    samples += [
        f'draftboard_spec_info{{job="vllm",instance="g:8000",model_name="steady",engine="0",spec_method="eagle3",'
        f'vllm_version="{"0.33.0" if minute >= 25 else "0.32.0"}",draft_model="{"B" if minute >= 45 else "A"}"}} 1 '
        f"{START + 60 * minute + second}"
        for minute in range(MINUTES)
        for second in range(0, 60, PACE)
    ]
    samples.sort(key=lambda line: (line.partition("{")[0], line.rpartition(" ")[0].rpartition(" ")[0]))
    path = tmp_path_factory.mktemp("history") / "history.om"
    path.write_text("\n".join([*samples, "# EOF\n"]))
    settings = Settings()
    rules, _ = behind((expr for _, expr in ours(EDITIONS[0], 60).values()), settings)
    with replayed(path, settings, rules=rules) as replay:
        yield replay


def ours(path: str, step: int) -> dict[str, tuple[str, str]]:
    """By name, the text and the query of those that are shown by default."""
    (document,) = grafana.dashboards({path: render(Settings())[path]}).values()
    window, interval = f"{step + PACE}s", f"{step}s"
    return {
        one["name"]: (
            one["titleFormat"],
            grafana.substituted(one["target"]["expr"], document, window, interval=interval),
        )
        for one in document["annotations"]["list"]
        if "target" in one and one["enable"]
    }


def marked(replay: Replay, path: str, name: str, step: int) -> set[Event]:
    """As Grafana makes them: where a series is above 0, texts from its labels; neighbours are one event."""
    form, expr = ours(path, step)[name]
    found = set()
    for series in replay.client.query_range(expr, START // step * step, replay.end, step):
        text = re.sub(r"{{(\w+)}}", partial(_label, series.labels), form)
        latest = float("-inf")
        for at, value in series.samples:
            if value > 0:
                if at > latest + step:
                    found.add(Event(round((at - START) / 60), text))
                latest = at
    return found


def _label(labels: Mapping[str, str], found: re.Match[str]) -> str:
    """Of a label that is not there, Grafana writes the name."""
    return labels.get(found[1]) or found[1]


def texts(events: set[Event]) -> list[str]:
    return sorted(text.strip() for _, text in events)


@pytest.mark.parametrize("path", EDITIONS, ids=["records", "raw"])
@pytest.mark.parametrize("step", [60, 300], ids=["near", "zoomed-out"])
def test_each_change_is_marked_once_with_what_changed(path: str, step: int, history: Replay) -> None:
    def of(name: str) -> set[Event]:
        return marked(history, path, name, step)

    restarts, changes, methods = of("Restarts"), of("Changes of K"), of("New methods")
    of_rolled = ["Restart: rolled mtp"] * 2
    for name, minute, text in (("version", 25, "Version 0.32.0 -> 0.33.0"), ("drafter", 45, "Drafter A -> B")):
        (mark,) = of(f"Changes of {name}")
        assert 0 <= mark.minute - minute <= 2 + step // 60
        assert mark.text.strip() == f"{text}: steady eagle3"
    assert texts(restarts) == ["Restart: deeper eagle3", *of_rolled, "Restart: shallower eagle3"]
    assert texts(changes) == ["K 1 -> 3: rolled mtp", "K 4 -> 2: shallower eagle3", "K 5 -> 8: deeper eagle3"]
    assert texts(methods) == ["New method or variant: tried ngram"]
    # Not before it happened, and as soon as it can be seen: the last engine of a rolled change has no mark of its own.
    happened = {"deeper": 24, "shallower": 31, "rolled": 41, "tried": 15}
    for event in (*changes, *methods):
        model = event.text.partition(": ")[2].partition(" ")[0]
        assert 0 <= event.minute - happened[model] <= 2 + step // 60, event


@pytest.mark.parametrize("path", EDITIONS, ids=["records", "raw"])
def test_the_command_finds_the_changes_of_k_that_graphs_mark(path: str, history: Replay) -> None:
    source = Recorded(history.client.url, Duration(60 * MINUTES))
    found = of_past(source, Settings(), at=history.end)
    changes = {
        Event(round((change.at - START) / 60), f"K {change.before.k} -> {change.after.k}: {model.model}")
        for model in found.models
        for change in model.changes
        if "K" in change.what
    }
    marks = {
        Event(minute, text.strip().rpartition(" ")[0]) for minute, text in marked(history, path, "Changes of K", 60)
    }
    assert sorted(text for _, text in changes) == sorted(text for _, text in marks)
    # Its windows hold the new K alone: of a roll-out, when the last engine has it.
    at = {text: minute for minute, text in marks}
    assert all(0 <= minute - at[text] <= 20 for minute, text in changes)
    (tried,) = (model for model in found.models if model.model == "tried")
    assert tried.notes[0].startswith("Served in several ways at once for ")
