"""What a viewer reads within two seconds: who needs somebody, since when and what to do, in each story of a fleet."""

import re
from dataclasses import replace
from typing import NamedTuple

import pytest

from conftest import OBJECTIVES
from draftboard.build import render
from draftboard.dashboards.fields import NO_VALUE
from draftboard.settings import load
from grafana.past import BUILD, DAY, STORIES, UNRULED, Past, serving
from grafana.views import WIDTHS, Json, View, show

pytestmark = [pytest.mark.grafana, pytest.mark.prometheus]

PHONE = 412
PAGE = "dashboards/draftboard-overview.json"
FIRST = ("To do first", "Why, and what next")


class Expected(NamedTuple):
    """Of a story."""

    first: str
    """Of the first two panels, a regular expression: who, what is wrong, for how long, why, and what to do."""
    rows: tuple[tuple[str, str, str], ...]
    """Of the table, from the top: health, model and next step."""
    leads_to: str = ""
    """The page to which a click on the first tile leads, on that model; none where nothing is to do."""


STORIES_TOLD = {
    "six": Expected(
        r"DeepSeek-V3.1 mtp six not measured for at least 1.\d h K 1 -> 2, expected gain in speed 1\d% open → drafts",
        (
            ("not measured", "DeepSeek-V3.1", "K 1 -> 2: +12% speed"),
            ("pays", "Qwen2.5-72B-Instruct", "measure another K"),
        ),
        "depth",
    ),
    "sixbad": Expected(
        r"phi-4 eagle3 sixbad costs more for 4\d min "
        r"acceptance fell: workload or drafter changed roll back or turn off open → drafts",
        (("costs more", "phi-4", "roll back or turn off"),),
        "depth",
    ),
    "onedown": Expected(
        r"Llama-3.1-8B-Instruct eagle3 onedown servers down "
        r"for 2\d min 2 of 4 down: 2 servers fell at once check node, network open → servers",
        (("servers down", "Llama-3.1-8B-Instruct", "check node, network"),),
        "fleet",
    ),
    "half": Expected(
        r"Llama-4-Maverick eagle3 half \(and 1 more\) servers down "
        r"for \d min 3 of 6 down: 6 servers of 2 models fell at once check node, network open → servers",
        (
            ("servers down", "Llama-4-Maverick", "check node, network"),
            ("servers down", "Qwen3-235B-A22B", "check node, network"),
        ),
        "fleet",
    ),
    "overload": Expected(
        r"command-a-03-2025 eagle3 overload users wait for 3\d min "
        r"requests wait, KV cache has room raise max_num_seqs open → capacity",
        (("users wait", "command-a-03-2025", "raise max_num_seqs"),),
        "capacity",
    ),
    "klong": Expected(
        r"Llama-3.1-70B eagle3 klong not measured for at least 1.\d h "
        r"K 8 -> 2, expected gain in speed 1\d% open → drafts",
        (("not measured", "Llama-3.1-70B", r"K 8 -> 2: +19% speed"),),
        "depth",
    ),
    "idle": Expected("All models no traffic", ()),
    "ab": Expected(
        r"DeepSeek-R1-\S+ draft_model small ab costs more for at least 1.\d h "
        r"users wait longer than on the baseline turn it off K 5 -> off, expected gain in speed 4\d% open → drafts",
        (("costs more", "DeepSeek-R1-Distill-Llama-70B", "K 5 -> off: +42% speed"),),
        "depth",
    ),
    "forty": Expected(
        r"model-(12|26) eagle3 forty \(and 1 more\) down for 1\d min "
        r"2 servers of 2 models fell at once check node, network open → servers",
        (("down", "model-12", "check node, network"), ("down", "model-26", "check node, network")),
        "fleet",
    ),
    "unlabelled": Expected(
        r"Qwen3-30B-A3B unlabelled not measured for at least 1.\d h "
        r"no method label: costs of any method label its method open → drafts",
        (("not measured", "Qwen3-30B-A3B", "label its method"),),
        "depth",
    ),
    "day": Expected(
        r"phi-4 eagle3 day costs more for 4.\d h acceptance fell: workload or drafter changed "
        r"roll back or turn off open → drafts",
        (("costs more", "phi-4", "roll back or turn off"), ("not measured", "gemma-3-27b-it", "run a baseline")),
        "depth",
    ),
    "fresh": Expected("Models no target is scraped, or none is selected: run draftboard doctor", ()),
    "nobody": Expected("Rules no rules are loaded: run draftboard doctor", ()),
    "unruled": Expected("Rules no rules are loaded: run draftboard doctor", ()),
    "unanswered": Expected("Prometheus does not answer: run draftboard doctor", ()),
}
"""By cluster; `fresh` has no target yet, `nobody` is a time without samples."""
ELSEWHERE = {"day", "unruled", "unanswered"}
"""Stories with a past of their own: a day, targets without rules, and a Prometheus that does not answer."""


@pytest.fixture(scope="module")
def told() -> dict[str, dict[int, View]]:
    """The first page in each story, by width: as an issue of its past, in which a cluster selects it."""
    settings, folder = load(OBJECTIVES), BUILD / "stories-told"
    built, shown = render(settings), dict[str, dict[int, View]]()

    def open_in(past: Past, *stories: str) -> None:
        views = [
            View(PAGE, width, expanded=False, search=f"var-cluster={story}", empty=story == "nobody", story=story)
            for story in stories
            for width in (WIDTHS[0], PHONE)
        ]
        for view in show(views, built, past, folder, pictures=True):
            shown.setdefault(view.story, {})[view.width] = view

    with serving(BUILD / "stories", settings, STORIES) as past:
        open_in(past, *(story for story in STORIES_TOLD if story not in ELSEWHERE))
    open_in(replace(past, url="http://127.0.0.1:9"), "unanswered")  # A port of no server.
    with serving(BUILD / "day", settings, DAY) as day:
        open_in(day, "day")
    with serving(BUILD / "unruled", settings, UNRULED) as unruled:
        open_in(unruled, "unruled")
    return shown


def _panel(view: View, title: str) -> Json:
    (found,) = (panel["drawn"] for panel in view.panels if panel["title"] == title)
    return dict(found)


@pytest.mark.parametrize("story", STORIES_TOLD)
def test_the_first_panel_says_who_since_when_and_what_next_on_a_screen_and_on_a_phone(
    story: str, told: dict[str, dict[int, View]]
) -> None:
    for view in told[story].values():
        shown = (str(_panel(view, title)["text"]).removeprefix(title) for title in FIRST)
        said = re.sub(r"\s+", " ", " ".join(shown)).strip().removesuffix(f" {NO_VALUE}")
        assert re.fullmatch(STORIES_TOLD[story].first, said), view.width


@pytest.mark.parametrize("story", [story for story, expected in STORIES_TOLD.items() if expected.rows])
def test_the_table_begins_with_what_is_worst(story: str, told: dict[str, dict[int, View]]) -> None:
    head, *rows = _panel(told[story][WIDTHS[0]], "Models, worst first")["rows"]
    shown = [tuple(row[head.index(name)] for name in ("Health", "Model", "Next step")) for row in rows]
    expected = STORIES_TOLD[story].rows
    assert tuple(shown[: len(expected)]) == expected


@pytest.mark.parametrize("story", STORIES_TOLD)
def test_a_click_on_the_first_tile_leads_to_the_page_that_explains_it(
    story: str, told: dict[str, dict[int, View]]
) -> None:
    view, wanted = told[story][WIDTHS[0]], STORIES_TOLD[story].leads_to
    frames = (frame for panel in view.panels if panel["title"] in FIRST for frame in panel["frames"])
    fields = (field for frame in frames for field in frame["fields"] if field["name"] != "Time")
    leads = {href for field in fields for row in field["links"] or [] for href in row}
    assert {page for href in leads for page in re.findall(r"^/d/(?:draftboard-)?(\w*)\?", href)} == ({wanted} - {""})
    assert all(f"var-cluster={story}&" in href and not re.search(r"var-model_name=(&|$)", href) for href in leads)
