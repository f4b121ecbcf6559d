"""Pages: what each module declares becomes a dashboard, and every page is listed once."""

import ast
from dataclasses import replace
from pkgutil import ModuleInfo, iter_modules

import pytest

from conftest import ROOT
from draftboard.dashboards import PAGES, pages
from draftboard.dashboards.document import build
from draftboard.dashboards.page import Page, row
from draftboard.dashboards.panels import note, table, totals, trend, trends
from draftboard.settings import Settings
from draftboard.signals import ALL, Edition, Level, acceptance, health, requests, traffic
from draftboard.signals.latency import per_token
from support import grafana

FOLDER = "generator/draftboard/dashboards/pages"


def test_every_module_of_pages_is_listed() -> None:
    missing = {module.name for module in iter_modules(pages.__path__)} - PAGES.keys()
    assert not missing, f"add {', '.join(sorted(missing))} to PAGES in {FOLDER}/__init__.py"


@pytest.mark.parametrize("module", [*iter_modules(pages.__path__)], ids=lambda module: module.name)
def test_a_page_writes_no_title_description_or_expression_of_a_signal(module: ModuleInfo) -> None:
    of_signals = {text for one in ALL for text in (one.title, one.description, one.action, one.question)}
    tree = ast.parse((ROOT / FOLDER / f"{module.name}.py").read_text())
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    assert not texts & of_signals
    assert not any("vllm" in str(text) for text in texts)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_and_its_rows_ask_questions(name: str) -> None:
    page = PAGES[name]
    questions = [page.question, *(one.question for one in page.rows if one.question)]
    unwritten = [text for text in questions if "?" not in text]
    assert not unwritten, f"{FOLDER}/{name}.py: write the questions that it answers"


def test_rows_are_built_in_order_and_a_row_without_a_question_has_no_head() -> None:
    page = Page(
        question="Is it built?",
        rows=(row("", *trends(requests.request_rate, requests.cut_off)), row("Last?", trend(traffic.drafts, width=24))),
    )
    document = build("mine", page, Settings(), Edition.RECORDS).document
    assert (document["uid"], document["title"], document["description"]) == (
        "draftboard-mine",
        "Draftboard / Mine",
        "Is it built?",
    )
    assert [(one["type"], one["title"], one["gridPos"]["y"]) for one in document["panels"]] == [
        ("timeseries", requests.request_rate.title, 0),
        ("timeseries", requests.cut_off.title, 0),
        ("row", "Last?", 8),
        ("timeseries", traffic.drafts.title, 9),
    ]


def test_a_collapsed_row_holds_its_panels() -> None:
    page = Page(question="", rows=(row("Closed?", trend(traffic.drafts, width=24), collapsed=True),))
    (closed,) = build("mine", page, Settings(), Edition.RECORDS).document["panels"]
    assert closed["collapsed"]
    assert [panel["title"] for panel in closed["panels"]] == [traffic.drafts.title]


def test_a_row_without_a_panel_is_left_out_and_what_raw_series_cannot_afford_is_named() -> None:
    rows = (row("Which health?", trend(health.health)), row("How much?", trend(traffic.drafts, width=24)))
    page = Page(question="", rows=rows)
    assert [*grafana.rows(build("mine", page, Settings(), Edition.RECORDS).document)] == [one.question for one in rows]
    raw = build("mine", page, Settings(), Edition.RAW).document
    ((question, text),) = grafana.notes(raw)
    assert (question, text.rpartition(": ")[2]) == ("Which health?", f"{health.health.title}.")
    without = Settings.model_validate({"series": {"dialect": "sglang"}})
    percentile = row("How long?", trend(per_token.p99))
    assert build("mine", Page(question="", rows=(percentile,)), without, Edition.RECORDS).document["panels"] == []


def test_panels_side_by_side_fill_the_line_where_a_neighbour_is_left_out() -> None:
    page = Page(question="", rows=(row("", trend(health.health), trend(traffic.drafts)),))
    raw = build("mine", page, Settings(), Edition.RAW).document
    assert [panel["gridPos"]["w"] for panel in raw["panels"]] == [24, 24], "the panel, and the note below"


def test_only_variables_that_a_query_uses_are_offered() -> None:
    plain = Page(question="", rows=(row("", totals(traffic.drafts, width=24)),))
    assert not offered(plain) & {"lines", "draft_cost"}
    assert offered(replace(plain, rows=(row("", trend(traffic.drafts, width=24)),))) >= {"lines"}
    assert not offered(plain) & {"instance", "engine", "baseline"}
    by_engine = trend(traffic.drafts, level=Level.ENGINE, width=24)
    assert offered(replace(plain, rows=(row("", by_engine),))) >= {"instance", "engine"}
    assert offered(replace(plain, with_baseline=True)) >= {"baseline", "baseline_variant"}


def offered(page: Page) -> set[str]:
    document = build("mine", page, Settings(), Edition.RECORDS).document
    return {variable["name"] for variable in document["templating"]["list"]}


def test_a_note_names_settings_by_their_values() -> None:
    settings = Settings.model_validate({"labels": {"spec_method": "drafter"}})
    page = Page(question="", rows=(row("", note("Of `{labels.spec_method}={methods.baseline}`.")),))
    (panel,) = build("mine", page, settings, Edition.RECORDS).document["panels"]
    assert panel["options"]["content"] == "Of `drafter=none`."


def test_a_panel_of_a_page_says_what_it_is_made_of() -> None:
    assert trend(traffic.drafts) == trend(traffic.drafts)
    assert trend(traffic.drafts) != trend(traffic.drafts, level=Level.ENGINE)


def test_a_table_without_a_signal_that_exists_is_left_out() -> None:
    settings = Settings.model_validate({"series": {"dialect": "sglang"}})
    shown = table("Times", per_token.p50, per_token.p99, description="Times.", action="None.", worst=(per_token.p99,))
    page = Page(question="", rows=(row("Empty?", shown), row("Kept?", trend(acceptance.acceptance, width=24))))
    document = build("mine", page, settings, Edition.RECORDS).document
    assert [*grafana.rows(document)] == ["Kept?"]
