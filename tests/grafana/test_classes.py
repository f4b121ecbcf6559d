"""An overall acceptance as its classes, on the page that says whom speculation helps."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import program, replayed
from draftboard.build import render
from draftboard.prometheus import Server
from draftboard.settings import Settings
from grafana.past import BUILD, Past
from grafana.reading import lines
from grafana.views import WIDTHS, View, show
from support.classed import ACCEPTED, END, recording

pytestmark = [pytest.mark.grafana, pytest.mark.prometheus]

PAGE = "dashboards/draftboard-depth.json"


@pytest.fixture
def past(tmp_path: Path) -> Iterator[Past]:
    (source := tmp_path / "run.om").write_text("".join(recording(seen=1)))
    (kept := tmp_path / "kept").mkdir()
    settings = Settings()
    with replayed(source, settings, keep_in=kept) as replay:
        start = replay.start
    with Server(program("prometheus"), kept, lookback=settings.rules.evaluation_interval).running() as url:
        yield Past(url, start, END)


def test_the_depth_page_shows_the_acceptance_of_each_class(past: Past) -> None:
    view = next(show([View(PAGE, WIDTHS[0])], render(Settings()), past, BUILD / "classes", pictures=True))
    (table,) = (panel for panel in view.panels if panel["title"] == "Classes of requests")
    columns = {
        field["display"]: [value["text"] for value in field["values"]]
        for frame in table["frames"]
        for field in frame["fields"]
        if not field["hidden"]
    }
    accepted = dict(zip(columns["Class"], columns["Accepted"], strict=True))
    assert {name: accepted[name] for name in ACCEPTED} == {
        name: f"{tokens / 4000:.1%}" for name, tokens in ACCEPTED.items()
    }
    assert table["drawn"]["clipped"] == []
    (overall,) = (panel for panel in view.panels if panel["title"] == "Draft acceptance")
    (line,) = lines(overall)
    assert line["values"][-1]["raw"] == pytest.approx(sum(ACCEPTED.values()) / 16000)
