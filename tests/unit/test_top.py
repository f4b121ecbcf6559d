"""`draftboard top`: the page as it is drawn, and what keys do."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from textual.pilot import Pilot
from textual.widgets import DataTable, Static

from draftboard import explain
from draftboard.errors import DraftboardError
from draftboard.reading import Lifetime, Pages, Servers
from draftboard.report import ModelReport, document, read
from draftboard.settings import Settings
from draftboard.signals.health import HEALTH
from draftboard.signals.signal import NOTHING, Code
from draftboard.top import Look, looking
from draftboard.top.app import Top
from support.command_line import run
from support.hostile import CORPUS, is_seen

if TYPE_CHECKING:
    from rich.text import Text

DATA = Path(__file__).parents[1] / "data"
BEFORE, AFTER = DATA / "v0.32.0-ngram-pair-before.prom", DATA / "v0.32.0-ngram-pair-after.prom"


def a_look(*names: str, edit: Callable[[ModelReport], ModelReport] = lambda model: model) -> Look:
    """A real pair of pages, its model under these names; the first one edited."""
    reading = read(Pages(BEFORE, AFTER, None), Settings(), "ngram")
    report = reading.report()
    (model,) = report.models
    models = tuple(replace(model, model=name) for name in names or (model.model,))
    report = replace(report, models=(*models[:-1], edit(models[-1])))
    conditions = explain.document(explain.of_reading("verdict", reading))
    return Look(report, reading.settings, lambda _: conditions, lambda model: replace(report, models=(model,)))


def shown(look: Callable[[], Look], *keys: str, size: tuple[int, int] = (80, 24)) -> tuple[list[list[str]], str, str]:
    """The cells of the table, the line above it and all that the screen holds, after these keys."""

    async def talk() -> tuple[list[list[str]], str, str]:
        app = Top(look, pause=3600)
        async with app.run_test(size=size) as pilot:
            await _settle(app, pilot)
            table: DataTable[Text] = app.query_one(DataTable)
            cells = [[str(cell).rstrip() for cell in table.get_row_at(at)] for at in range(table.row_count)]
            line = str(app.query_one("#state", Static).content)
            for key in keys:
                await pilot.press(key)
            await pilot.pause()
            return cells, line, app.export_screenshot(simplify=True)

    return asyncio.run(talk())


async def _settle(app: Top, pilot: Pilot[Any]) -> None:
    await app.workers.wait_for_complete()
    await pilot.pause()


def test_a_row_has_the_verdict_the_positions_and_who_waits() -> None:
    ((name, health, verdict, positions, *_),), line, _ = shown(a_look)
    assert "ngram" in name
    assert " ".join(health.split()) == "not measured"
    assert "0.83 to 1.81 times" in " ".join(verdict.split())
    assert len(positions) == 4
    assert line.startswith("1 model")


def test_all_columns_fit_into_eighty_characters() -> None:
    screen = shown(lambda: a_look("meta-llama/Llama-3.3-70B-Instruct"))[2]
    assert "tokens/s" in screen
    assert "Queue" in screen
    assert "Health" in screen


def test_the_worst_health_stands_first() -> None:
    order = ["down", "users wait", "costs more", "unclear", None]
    looks = a_look(*"abcde")
    models = [replace(model, health=says) for model, says in zip(looks.report.models, reversed(order), strict=True)]
    cells, _, _ = shown(lambda: replace(looks, report=replace(looks.report, models=tuple(models))))
    assert [row[1] for row in cells] == [says or NOTHING for says in order]


@pytest.mark.parametrize("code", HEALTH.codes, ids=lambda code: f"{code.value} {code.says}")
def test_no_word_of_a_health_is_cut_at_eighty_columns(code: Code) -> None:
    screen = shown(lambda: a_look("m", edit=lambda model: replace(model, health=code.says)))[2]
    assert [word for word in code.says.split() if word not in screen] == []


def test_a_server_that_does_not_answer_is_named_above_what_was_read_before() -> None:
    answers = iter((a_look(),))

    def look() -> Look:
        try:
            return next(answers)
        except StopIteration:
            raise DraftboardError("127.0.0.1:1: cannot be reached\x1b[2J") from None

    async def talk() -> tuple[int, str]:
        app = Top(look, pause=3600)
        async with app.run_test() as pilot:
            await _settle(app, pilot)
            app.read()
            await _settle(app, pilot)
            return app.query_one(DataTable).row_count, str(app.query_one("#state", Static).content)

    rows, line = asyncio.run(talk())
    assert rows == 1
    assert line.startswith("127.0.0.1:1: cannot be reached")
    assert "\x1b" not in line


@pytest.mark.parametrize(("key", "words"), [("e", "verdict"), ("w", "Speedup")])
def test_keys_open_the_conditions_and_the_draft_lengths(key: str, words: str) -> None:
    assert words in shown(a_look, key, size=(120, 60))[2]


def test_the_engines_of_servers_are_judged_when_their_numbers_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    reading = read(Lifetime(DATA / "v0.32.0-ngram-dp2.prom"), Settings(), "ngram")
    monkeypatch.setattr(looking, "read", lambda *_: reading)
    found = looking.look(Servers(("gpu-1:8000",)), Settings(), "ngram")
    (model,), (whole,) = found.models, reading.report().models
    assert (model.engines, len(whole.engines)) == ((), 2)
    assert looking.row(model) == looking.row(whole)
    assert found.details(model) == document(reading.report(), reading.settings, engines=True)


def test_hostile_names_are_words() -> None:
    cells, _, screen = shown(lambda: a_look(*CORPUS.values()))
    assert len(cells) == len(CORPUS)
    assert [name for name, *_ in cells if not all(is_seen(one) for one in name.replace("\n", ""))] == []
    assert "\x1b" not in screen


def test_three_hundred_models_are_rows_and_the_last_one_can_be_reached() -> None:
    cells, line, screen = shown(lambda: a_look(*(f"m{number}" for number in range(300))), "ctrl+end")
    assert len(cells) == 300
    assert line.startswith("300 models")
    assert "m299" in screen


@pytest.mark.parametrize("arguments", [(), ("127.0.0.1:1", "--prometheus", "http://127.0.0.1:1")])
def test_servers_or_a_prometheus_are_required_not_both(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("top", *arguments, capsys=capsys)[0] == 2
