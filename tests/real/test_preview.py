"""Every dashboard of both editions as a page, drawn from the recorded run."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

import grafana
from conftest import DEMO_SETTINGS
from draftboard import artifacts
from draftboard.cli import main
from draftboard.replay import Replay

pytestmark = [pytest.mark.prometheus, pytest.mark.xdist_group("demo_run")]

BUSY = 210  # seconds after the start, when both servers have all the requests that they can take
# Panels (by title) that the run cannot fill at that moment, in any edition.
EMPTY = {
    "Alerts that fire": "a replay evaluates alerts by itself, so that Prometheus holds no ALERTS",
    "Length against the other engines": "each model has one engine",
    "Tail against its own past": "half of the samples lie under the first bound",
    "Time per output token: P99 over P50": "half of the samples lie under the first bound",
    "Step latency: P99 over P50": "half of the samples lie under the first bound",
    "Prefill time: P99 over P50": "half of the samples lie under the first bound",
    "HTTP errors": "no request failed",
    **dict.fromkeys(("GPU utilisation", "GPU memory in use", "GPU power", "Last XID error"), "the run has no GPU"),
}


class Panels(HTMLParser):
    """What a page shows, and what it would load."""

    def __init__(self) -> None:
        super().__init__()
        self.marks: list[int] = []
        self.loads: list[str] = []
        self.titles: list[str] = []
        self._in_title = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "section":
            self.marks.append(int(given["data-marks"]))
        self._in_title = tag == "h3"
        self.loads += [given["src"]] if "src" in given else []
        # A link is not loaded, unless it is one of the head.
        self.loads += [given["href"]] if "href" in given and tag != "a" else []
        assert tag not in {"script", "iframe", "link", "object"}

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.titles.append(data)
            self._in_title = False


def preview(replay: Replay, out: Path, *more: str) -> dict[str, str]:
    """The pages of the run's first minutes, by name of the file."""
    span = ["--from", str(replay.start), "--to", str(replay.start + BUSY)]
    with pytest.raises(SystemExit) as ended:
        main(["preview", "--prometheus", replay.client.url, "--out", str(out), *span, *more])
    assert not ended.value.code
    return {path.name: path.read_text() for path in out.iterdir()}


@pytest.fixture(scope="module")
def pages(demo_run: Replay, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return preview(demo_run, tmp_path_factory.mktemp("preview"), "--config", str(DEMO_SETTINGS))


def read(page: str) -> Panels:
    panels = Panels()
    panels.feed(page)
    return panels


def test_every_panel_of_every_dashboard_is_drawn_and_those_with_data_have_marks(
    pages: dict[str, str], demo_run: Replay
) -> None:
    empty: set[str] = set()
    for dashboard in grafana.dashboards(artifacts.render(demo_run.settings)).values():
        shown = read(pages[f"{dashboard['uid']}.html"])
        assert shown.titles == [panel["title"] for panel in grafana.panels(dashboard)]
        without = {title for title, marks in zip(shown.titles, shown.marks, strict=True) if not marks}
        empty |= without
    assert empty == EMPTY.keys()


def test_a_page_loads_nothing_from_elsewhere_and_says_what_it_is(pages: dict[str, str]) -> None:
    assert len(pages) == 9
    for name, page in pages.items():
        assert "A preview made by <code>draftboard preview</code>, not Grafana" in page
        assert all(load.startswith("data:image/svg+xml;base64,") for load in read(page).loads)
        assert not re.search(r"url\(|@import", page), name


def test_the_index_leads_to_every_page(pages: dict[str, str]) -> None:
    assert set(re.findall(r'href="([^"]+)"', pages["index.html"])) == pages.keys() - {"index.html"}


def test_a_folder_of_dashboards_is_drawn_as_the_settings_are(
    pages: dict[str, str], demo_run: Replay, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    artifacts.write(artifacts.render(demo_run.settings), tmp_path)
    found = preview(demo_run, tmp_path / "out", "--dashboards", str(tmp_path / "dashboards"), "--json")
    assert found["draftboard-overview.html"] == pages["draftboard-overview.html"]
    told = {one["uid"]: one for one in json.loads(capsys.readouterr().out)["pages"]}
    assert told.keys() == {name.removesuffix(".html") for name in found if name != "index.html"}
    assert told["draftboard-overview"]["without_data"] == ["Alerts that fire"]
