"""The pages that people import, with the front end of older Grafana: nothing hidden shows, and nothing is missing."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from draftboard.build import render
from draftboard.dashboards.grafana import GRAFANA
from draftboard.settings import Settings
from grafana.past import BUILD, HERE, Past
from grafana.reading import failures, none_of, panels, refusals
from grafana.views import WIDTHS, Json, View, show
from support import grafana

pytestmark = [pytest.mark.grafana, pytest.mark.prometheus]

VERSIONS = sorted(folder.name for folder in (HERE / "versions").iterdir())
HELPERS = {"link", "page"}
"""Columns that hold what links need."""


@pytest.fixture(scope="module", params=VERSIONS)
def older(request: pytest.FixtureRequest, settings: Settings, past: Past) -> list[View]:
    """Every page of the import edition in one version, with data."""
    imports = grafana.imports(render(settings))
    chosen = request.config.getoption("--page")
    files = {path: json.dumps(grafana.imported(document, "Prometheus")) for path, document in imports.items()}
    views = [View(path, WIDTHS[0]) for path in files if any(part in path for part in chosen or "/")]
    return list(show(views, files, past, BUILD / "versions" / request.param, pictures=True, version=request.param))


def test_every_page_opens_and_every_query_is_answered(older: list[View]) -> None:
    none_of(failures(older))
    none_of(refusals(older))


def test_every_panel_is_drawn_with_its_data_or_says_why_not(older: list[View]) -> None:
    def problems() -> Iterator[str]:
        for view, panel in panels(older):
            shown = (panel["drawn"] or {"text": ""})["text"]
            if "is unknown here" in shown or not shown.strip():
                yield f"{view.where(panel)}: {shown!r}"
            some = any(frame["length"] for frame in panel["frames"])
            if panel["type"] == "timeseries" and some and not panel["drawn"]["canvas"]:
                yield f"{view.where(panel)}: no axis is drawn"

    none_of(problems())


def _lines(panel: Json) -> list[str]:
    """What stands in a table, heads and cells: the old one has no roles by which to know rows."""
    _, *lines = (line.strip() for line in panel["drawn"]["text"].splitlines() if line.strip())
    return lines


def test_no_column_of_a_table_is_one_that_only_links_need(older: list[View]) -> None:
    none_of(
        f"{view.where(panel)}: {line!r}"
        for view, panel in panels(older, "table")
        for line in _lines(panel)
        if line in HELPERS or re.search(r"\bvar-|Value #", line)
    )


def test_tables_show_their_rows(older: list[View]) -> None:
    none_of(
        f"{view.where(panel)}: {_lines(panel)}"
        for view, panel in panels(older, "table")
        for frame in panel["frames"]
        if frame["length"] and len(_lines(panel)) <= sum(not field["hidden"] for field in frame["fields"])
    )


def test_the_import_dialog_asks_for_the_oldest_that_passes() -> None:
    oldest = min(VERSIONS, key=lambda version: [int(part) for part in version.split(".")])
    for path, document in grafana.imports(render(Settings())).items():
        (required,) = (one for one in document["__requires"] if one["type"] == "grafana")
        assert required["version"] == f"{oldest}.0" == GRAFANA["requires"]["version"], Path(path).name
