"""The page on alerts is that of today's alerts; what a story is made of."""

import pytest

from conftest import program
from draftboard.alerts import ALERTS
from scripts.alerts_page import PAGE, STORIES, measured, page, samples, scraped, stated, under_test


def test_every_alert_has_a_story() -> None:
    assert list(STORIES) == [alert.name for alert in ALERTS]


def test_the_page_is_of_the_alerts_of_today() -> None:
    assert PAGE.read_text() == page(under_test()[0], stated()), "run `make detect`"


@pytest.mark.prometheus
@pytest.mark.parametrize(
    "alert",
    [
        *(pytest.param(alert, marks=pytest.mark.long) for alert in ("VLLMModelDown", "VLLMModelGone")),
        *("VLLMEngineStuck", "DraftboardAlertmanagerDown"),
    ],
)
def test_the_page_states_what_promtool_measures(alert: str) -> None:
    assert stated()[alert] == measured(alert, program("promtool"), under_test()[1]), "run `make detect`"


@pytest.mark.parametrize(
    ("notation", "expected"),
    [
        ("1+2x2", "1.0 3.0 5.0"),
        ("4-1x1 7", "4.0 3.0 7.0"),
        ("0x2", "0.0 0.0 0.0"),
        ("_x2 5", "_ _ 5.0"),
        ("5 _ 6", "5.0 _ 6.0"),
        ("5 stale _x2 6 _", "5.0 stale stale stale 6.0 _"),
    ],
)
def test_samples_are_those_of_promtool(notation: str, expected: str) -> None:
    assert " ".join(samples(notation)) == expected


@pytest.mark.parametrize(
    ("name", "values", "scrape", "expected"),
    [
        ("a_total", "0 60", 15, "_ 0.0 15.0 30.0 45.0 60.0"),
        ("a_total", "60 0", 30, "_ 60.0 _ 0.0 _ 0.0"),
        ("up", "1 0", 15, "_ 1.0 0.0 0.0 0.0 0.0"),
        ("up", "1 0", 60, "_ 1.0 _ _ _ 0.0"),
        ("a_total", "60 stale", 30, "_ 60.0 _ stale _ stale"),
    ],
)
def test_a_scrape_sees_counters_that_grow_evenly_and_faults_at_once(
    name: str, values: str, scrape: int, expected: str
) -> None:
    assert scraped({"series": f'{name}{{job="vllm"}}', "values": values}, 60, scrape)["values"] == expected
