"""What is read in tables: labels, heads, colours, order and links."""

import json
from collections.abc import Collection, Iterator, Mapping
from urllib.parse import parse_qs, urlsplit

import pytest

from draftboard.build import render
from draftboard.build.files import RUNBOOKS
from draftboard.settings import Settings
from draftboard.signals.health import HEALTH, WELL
from grafana.reading import colour, fields, none_of, panels
from grafana.views import Json, View

pytestmark = [pytest.mark.grafana, pytest.mark.prometheus]

LONGEST = 40
DASH = {"", "-", "\N{EN DASH}"}


def test_a_label_cell_shows_the_label_and_nothing_where_there_is_none(wide: list[View]) -> None:
    def problems() -> Iterator[str]:
        for shown in fields(wide, "table", "barchart"):
            if shown.field["type"] == "string":
                for value in shown.field["values"]:
                    raw, text = value["raw"] or "", value["text"]
                    if (not raw and text not in DASH) or (len(text) > LONGEST and text != raw):
                        yield f"{shown.where}: {raw!r} reads {text!r}"

    none_of(problems())


def test_the_names_along_a_bar_chart_are_read_as_they_are(wide: list[View]) -> None:
    none_of(
        f"{shown.where}: {value['raw']!r} reads {value['text']!r}"
        for shown in fields(wide, "barchart")
        if shown.field["type"] == "string"
        for value in shown.field["values"]
        if value["text"] != value["raw"]
    )


def test_no_text_is_wider_than_its_column(views: list[View]) -> None:
    def problems() -> Iterator[str]:
        for view, panel in panels(views, "table"):
            for cell in panel["drawn"]["clipped"]:
                kind = "head" if cell["head"] else "cell"
                yield f"{view.where(panel)}: {kind} {cell['text']!r}: {cell['width']} px in {cell['room']}"

    none_of(problems())


def test_no_table_is_wider_than_its_panel(views: list[View]) -> None:
    none_of(view.where(panel) for view, panel in panels(views, "table") if panel["drawn"]["scrolls"])


def test_a_missing_value_has_the_colour_of_text(wide: list[View]) -> None:
    def problems() -> Iterator[str]:
        for shown in fields(wide, "table"):
            coloured = shown.field.get("cell", "").startswith("color-")
            for value in shown.field["values"] if coloured and shown.field["type"] == "number" else ():
                if value["raw"] is None and colour(value["colour"]) not in {None, colour(shown.view.found["text"])}:
                    yield f"{shown.where}: {value['text']!r} is {value['colour']}"

    none_of(problems())


# Those that need nobody have one place: among them the model comes first of which another K gains most.
HEALTH_PLACES = {code.says: min(code.value, WELL) for code in HEALTH.codes}
SEVERITY_PLACES = {"critical": 0, "warning": 1, "info": 2}


def _ranked(rows: list[list[str]], places: Mapping[str, float]) -> list[float]:
    """Of each row with a word in a cell that has a place, the place."""
    return [places[cell] for row in rows for cell in row if cell in places]


def test_tables_begin_with_the_worst(wide: list[View]) -> None:
    def problems() -> Iterator[str]:
        for view, panel in panels(wide, "table"):
            _, *rows = panel["drawn"]["rows"] or [[]]
            if not panel["sorted"]:
                yield f"{view.where(panel)}: no order is set"
            for places in (HEALTH_PLACES, SEVERITY_PLACES):
                ranks = _ranked(rows, places)
                if ranks != sorted(ranks):
                    yield f"{view.where(panel)}: {[cell for row in rows for cell in row if cell in places]}"

    none_of(problems())


def test_the_overview_says_of_each_model_what_is_wrong_and_what_to_do_the_worst_first(
    overview: dict[int, View],
) -> None:
    for view in overview.values():
        (table,) = (panel for _, panel in panels([view], "table") if panel["title"] == "Models, worst first")
        head, *rows = table["drawn"]["rows"]
        shown = [tuple(row[head.index(name)] for name in ("Health", "Model", "Next step")) for row in rows]
        assert shown[:4] == [
            ("down", "granite-3.3-8b-instruct", "restart it"),
            ("servers down", "gpt-oss-120b", "restart 1 of 2"),
            ("costs more", "Qwen3-32B", "roll back or turn off"),
            ("costs more", "gemma-3-27b-it", "K 3 -> 1: +16% speed"),
        ]


def _problems_of(
    href: str, row: Mapping[str, str], pages: Mapping[str, Json], runbooks: Collection[str]
) -> Iterator[str]:
    """Whether a link leads to a runbook or a dashboard of ours, and chooses there what its row is of."""
    url = urlsplit(href)
    if "/runbooks/" in url.path:
        if url.path.rpartition("/")[2] not in runbooks:
            yield f"no such runbook: {href}"
        return
    uid = url.path.split("/")[2] if url.path.startswith("/d/") else ""
    if uid not in pages:
        yield f"no such dashboard: {href}"
        return
    known = {variable["name"] for variable in pages[uid]["templating"]["list"]}
    chosen = parse_qs(url.query, keep_blank_values=True)
    given = {name.removeprefix("var-"): values for name, values in chosen.items() if name.startswith("var-")}
    # A page on models takes no notice of an engine.
    yield from (f"{uid} has no variable {name!r}: {href}" for name in given.keys() - known - {"instance", "engine"})
    for name in row.keys() & known:
        if given.get(name, [""]) != [row[name]] or name not in given:
            yield f"{name} is {given.get(name)}, the row's is {row[name]!r}: {href}"


def test_a_rows_link_leads_to_its_model(wide: list[View], pages: Mapping[str, str], settings: Settings) -> None:
    dashboards = {json.loads(text).get("uid"): json.loads(text) for text in pages.values()}
    # Those that these settings build: the alerts of SLOs have a runbook where there are objectives.
    runbooks = {path.rpartition("/")[2] for path in render(settings) if path.startswith(f"{RUNBOOKS}/")}

    def problems() -> Iterator[str]:
        for view, panel in panels(wide, "table"):
            for frame in panel["frames"]:
                labels = {
                    field["name"]: [value["raw"] or "" for value in field["values"]]
                    for field in frame["fields"]
                    if field["name"] in settings.labels.model_level
                }
                for field in frame["fields"]:
                    for number, hrefs in enumerate(field["links"]):
                        row = {name: values[number] for name, values in labels.items()}
                        for href in hrefs:
                            for problem in _problems_of(href, row, dashboards, runbooks):
                                yield f"{view.where(panel)} {field['display']!r}: {problem}"

    none_of(problems())
