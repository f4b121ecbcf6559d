"""What is read in charts: names, lines, axes and states."""

import re
from collections.abc import Iterator
from itertools import combinations

import pytest

from draftboard.dashboards.watched import WORDS
from draftboard.signals import ALL
from draftboard.status import Status
from grafana.reading import colour, fields, is_grey, lines, none_of, panels
from grafana.views import Json, View

pytestmark = [pytest.mark.grafana, pytest.mark.prometheus]

MOST_LINES = 12
HEADER = 40  # pixels of a panel's title, and of the room around its content


def _misnamed(fields: list[Json]) -> Iterator[str]:
    names = [field["display"] for field in fields if not field["hidden"]]
    for name in set(names):
        if not name.strip() or re.search(r"^Value( #|$)|[{}]|__name__", name):
            yield f"the name {name!r}"
        if names.count(name) > 1:
            yield f"{names.count(name)} times {name!r}"


def test_every_series_and_column_has_a_name_of_its_own(wide: list[View]) -> None:
    def problems() -> Iterator[str]:
        for view, panel in panels(wide):
            if panel["type"] == "stat" and panel["options"]["textMode"] in {"value", "name"}:
                continue  # It shows no name, or nothing but a text.
            for frame in panel["frames"] if panel["type"] == "table" else [{"fields": lines(panel)}]:
                yield from (f"{view.where(panel)}: {what}" for what in _misnamed(frame["fields"]))

    none_of(problems())


def test_a_tile_of_text_shows_what_a_label_of_its_model_says(wide: list[View]) -> None:
    """Such as since when or why; several models may share it."""

    def problems() -> Iterator[str]:
        for view, panel in panels(wide, "stat"):
            if panel["options"]["textMode"] == "name":
                for field in lines(panel):
                    if not field["display"].strip() or field["display"] not in field["labels"].values():
                        yield f"{view.where(panel)}: {field['display']!r} of {field['labels']}"

    none_of(problems())


def test_no_panel_draws_more_lines_than_can_be_told_apart(wide: list[View]) -> None:
    def problems() -> Iterator[str]:
        for view, panel in panels(wide, "timeseries", "barchart", "xychart", "state-timeline"):
            drawn = len(panel["drawn"]["names"] if panel["type"] == "state-timeline" else lines(panel))
            if drawn > MOST_LINES:
                yield f"{view.where(panel)}: {drawn}"

    none_of(problems())


def test_a_legend_takes_no_more_room_than_its_plot(views: list[View]) -> None:
    def problems() -> Iterator[str]:
        for view, panel in panels(views, "timeseries"):
            box, chart, plot = (panel["drawn"].get(part) for part in ("box", "chart", "plot"))
            if plot and chart:
                below = box["height"] - HEADER - chart["height"]
                beside = box["width"] - chart["width"]
                if below > plot["height"] or beside > plot["width"]:
                    yield f"{view.where(panel)}: {below} px below and {beside} beside a plot of {plot}"

    none_of(problems())


def test_an_axis_of_shares_ends_at_what_can_be_reached(wide: list[View]) -> None:
    def problems() -> Iterator[str]:
        for view, panel in panels(wide, "timeseries"):
            ticks = [float(text[:-1]) for text in panel["drawn"]["canvas"] if re.fullmatch(r"-?[\d.]+%", text)]
            values = [field["most"] for field in lines(panel) if field["most"] is not None]
            if ticks and values and max(ticks) > max(125, 200 * max(values)):
                yield f"{view.where(panel)}: up to {max(ticks):g} % for values up to {max(values):.1%}"

    none_of(problems())


def test_what_is_below_the_resolution_is_not_drawn_as_zero(wide: list[View]) -> None:
    def problems() -> Iterator[str]:
        for shown in fields(wide, "timeseries"):
            words = [mapped["text"] for mapped in shown.field["mapped"] if mapped["value"] == "0"]
            if words and shown.field["unit"] == "s" and shown.field["zeros"]:
                yield f"{shown.where}: {shown.field['zeros']} points at 0 that mean {words[0]!r}"

    none_of(problems())


def test_states_keep_their_names(wide: list[View]) -> None:
    """Thresholds and merged values together show the threshold's bounds in place of the state."""

    def problems() -> Iterator[str]:
        for shown in fields(wide, "state-timeline"):
            if shown.field["colourMode"] == "thresholds" and shown.panel["options"].get("mergeValues", True):
                yield f"{shown.view.where(shown.panel)}: coloured by thresholds and merged"
        for view, panel in panels(wide, "state-timeline"):
            if any("∞" in text for text in panel["drawn"]["svg"]):
                yield f"{view.where(panel)}: a state reads '-∞+'"

    none_of(problems())


def test_no_title_of_a_panel_is_cut(views: list[View]) -> None:
    none_of(view.where(panel) for view, panel in panels(views) if panel["drawn"]["cutTitle"])


def test_names_beside_states_and_in_tiles_are_not_cut(views: list[View]) -> None:
    def problems() -> Iterator[str]:
        for view, panel in panels(views, "state-timeline"):
            yield from (f"{view.where(panel)}: {name['text']!r}" for name in panel["drawn"]["names"] if name["cut"])
        for view, panel in panels(views, "stat"):
            yield from (f"{view.where(panel)}: {text!r}" for text in panel["drawn"]["cutTiles"])

    none_of(problems())


BADNESS: dict[str, set[Status]] = {}
"""Of the words for states: what each says of who should act."""
for code in (code for signal in ALL for code in signal.codes):
    BADNESS.setdefault(code.says, set()).add(code.status)
for text, status in WORDS.values():
    BADNESS.setdefault(text, set()).add(status)


def _sharing(mapped: list[Json]) -> Iterator[str]:
    for one, other in combinations(mapped, 2):
        alike = BADNESS.get(one["text"], set()) & BADNESS.get(other["text"], set())
        coloured = one.get("colour") and other.get("colour")
        if coloured and one["text"] != other["text"] and not alike:
            found = colour(one["colour"])
            if found == colour(other["colour"]) and not is_grey(found):
                yield f"{one['text']!r} and {other['text']!r} are both {one['colour']}"


def test_states_of_different_badness_have_colours_that_differ(wide: list[View]) -> None:
    """A colour says how bad a state is, and its word which one it is. Grey says nothing, so several may have it."""
    none_of(
        f"{shown.view.where(shown.panel)} {shown.field['display'] if shown.panel['type'] == 'table' else ''}: {text}"
        for shown in fields(wide, "table", "state-timeline", "stat")
        if shown.panel["type"] != "table" or shown.field.get("cell", "").startswith("color-")
        for text in _sharing(shown.field["mapped"])
    )


def test_two_lines_of_one_model_differ_in_style(wide: list[View]) -> None:
    """Such as a value and its break-even."""

    def problems() -> Iterator[str]:
        for view, panel in panels(wide, "timeseries"):
            if panel["stacked"]:
                continue
            by_model: dict[frozenset[tuple[str, str]], list[tuple[str, Json]]] = {}
            for frame in panel["frames"]:
                for field in frame["fields"]:
                    if field["type"] == "number" and not field["hidden"]:
                        labels = frozenset((name, text) for name, text in field["labels"].items() if name != "__name__")
                        by_model.setdefault(labels, []).append((frame.get("refId", ""), field))
            for pair in by_model.values():
                for (ref, one), (other_ref, other) in combinations(pair, 2):
                    if ref != other_ref and one["line"] == other["line"] and len(by_model) > 1:
                        yield f"{view.where(panel)}: queries {ref} and {other_ref}"

    none_of(problems())


def test_the_overview_says_who_since_when_and_what_next_on_a_small_screen(overview: dict[int, View]) -> None:
    """1366 x 768, without scrolling."""
    view = overview[1366]
    for title in ("To do first", "Why, and what next", "Models, worst first"):
        assert [panel["drawn"]["box"]["bottom"] <= 768 for panel in view.panels if panel["title"] == title] == [True]
