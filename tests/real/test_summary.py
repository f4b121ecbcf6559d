"""The summary of a recorded run says of each window what a report of that window says."""

from collections import Counter

import pytest

from draftboard.durations import Duration
from draftboard.lab.replay import Replay
from draftboard.reading import Recorded
from draftboard.report import ModelReport, report, status_of
from draftboard.report.summary import of_range
from draftboard.status import Status

pytestmark = [pytest.mark.prometheus, pytest.mark.xdist_group("demo_run")]
_BY_STATUS = {Status.GOOD: "helped", Status.DUE: "slower", Status.WARN: "even"}


def outcome(model: ModelReport) -> str:
    if not model.traffic.generated:
        return "idle"
    if not model.sample or not model.sample.drafts:
        return "without"
    return _BY_STATUS[status_of(model)] if model.verdict.says else "unclear"


def test_each_window_counts_as_a_report_of_it_says(demo_run: Replay) -> None:
    settings, window = demo_run.settings, demo_run.settings.rules.rate_window
    url, number = demo_run.client.url, int((demo_run.end - demo_run.start) // window.seconds)
    end = demo_run.start + number * window.seconds
    totals = of_range(Recorded(url, Duration(number * window.seconds)), settings, at=end).totals
    told = Counter(
        outcome(model)
        for one in range(1, number + 1)
        for model in report(Recorded(url, window, at=demo_run.start + one * window.seconds), settings).models
    )
    assert {"helped", "slower", "without"} <= told.keys()
    assert {name: round(getattr(totals, name).hours * 3600 / window.seconds) for name in told if name != "idle"} == {
        name: windows for name, windows in told.items() if name != "idle"
    }
    assert totals.coverage == 1
