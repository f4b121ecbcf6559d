"""What a page asks, and what it shows where there is nothing."""

import re
from collections.abc import Iterator

import pytest

from draftboard.dashboards import watched
from draftboard.settings import Settings
from grafana.reading import failures, none_of, panels, refusals
from grafana.views import View

pytestmark = [pytest.mark.grafana, pytest.mark.prometheus]


def test_no_page_has_an_exception_or_a_request_that_fails(all_views: list[View]) -> None:
    none_of(failures(all_views))


def test_no_query_fails_or_is_answered_with_a_warning(all_views: list[View]) -> None:
    none_of(refusals(all_views))


def test_every_panel_asks(views: list[View]) -> None:
    none_of(f"{view.where(panel)}: no query" for view in views for panel in view.found["panels"] if not panel["ran"])


def test_every_variable_is_replaced_before_a_query_is_sent(all_views: list[View]) -> None:
    none_of(
        f"{view.name}: {query['expr']}"
        for view in all_views
        for query in view.found["queries"]
        if re.search(r"\$\{?[A-Za-z_]", query["expr"])
    )


def test_every_variable_has_something_to_choose(wide: list[View]) -> None:
    none_of(
        f"{view.name}: {variable['name']}"
        for view in wide
        for variable in view.found["variables"]
        if variable["error"] or not (variable["options"] or variable["hide"])
    )


def test_latest_values_are_taken_over_the_window_of_the_records(wide: list[View], settings: Settings) -> None:
    """$__rate_interval of a query for one moment is a minute, whatever time is shown."""

    def problems() -> Iterator[str]:
        for view in wide:
            for query in view.found["queries"]:
                # Grafana writes a whole minute as 1m0s, which no expression of ours does.
                for minutes, seconds in re.findall(r"\[(\d+)m(\d+)s\]", query["expr"]) if query["instant"] else ():
                    if int(minutes) * 60 + int(seconds) < settings.rules.rate_window.seconds:
                        yield f"{view.name}: {minutes} min {seconds} s in {query['expr'][:200]}"

    none_of(problems())


def test_without_samples_each_panel_says_why_and_none_breaks(empty: list[View]) -> None:
    reasons = [watched.NO_ANSWER, *(text for text, _ in watched.WORDS.values())]

    def problems() -> Iterator[str]:
        for view, panel in panels(empty):
            shown = panel["drawn"] or {"text": ""}
            if panel["type"] == "stat" and panel["options"]["textMode"] == "name":
                # Grafana writes no value there: the tiles of the models beside it say why.
                beside = " ".join(other["drawn"]["text"] for other in view.panels)
                if not any(reason in beside for reason in reasons):
                    yield f"{view.where(panel)}: none of {reasons} in {beside!r}"
                continue
            some = any(frame["length"] for frame in panel["frames"])
            if not some and panel["noValue"] not in shown["text"]:
                yield f"{view.where(panel)}: not {panel['noValue']!r} but {shown['text']!r}"

    none_of(problems())
