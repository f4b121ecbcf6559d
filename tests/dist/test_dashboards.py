"""The dashboards of the release's archive, shown in Grafana's own front end."""

from pathlib import Path

import pytest

from conftest import OBJECTIVES
from draftboard.settings import load
from grafana.past import BUILD, serving
from grafana.reading import failures, none_of, refusals
from grafana.views import WIDTHS, View, show
from support import grafana

pytestmark = [pytest.mark.dist, pytest.mark.grafana, pytest.mark.prometheus]


def test_each_loads_and_shows_what_it_asks_for(unpacked: Path, tmp_path: Path) -> None:
    files = {path.relative_to(unpacked).as_posix(): path.read_text() for path in unpacked.rglob("dashboards/**/*.json")}
    chosen = [View(path, WIDTHS[0]) for path in grafana.dashboards(files)]
    assert len(chosen) > 9
    with serving(BUILD / "past", load(OBJECTIVES)) as past:
        views = list(show(chosen, files, past, tmp_path, pictures=False))
    none_of(failures(views))
    none_of(refusals(views))
    none_of(view.where(panel) for view in views for panel in view.found["panels"] if not panel["ran"])
    for view in views:
        shown = [panel for panel in view.panels if any(frame["length"] for frame in panel["frames"])]
        assert len(shown) > len(view.panels) / 2, view.name
