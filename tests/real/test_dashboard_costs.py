"""What it costs to open a dashboard on raw series, with ten simulated engines: samples, which do not depend on load."""

from collections.abc import Iterator

import pytest

from conftest import program
from draftboard.durations import Duration
from draftboard.lab.replay import Replay
from draftboard.settings import Settings
from scripts import dashboard_costs
from support.replays import behind

pytestmark = pytest.mark.prometheus

STRETCH = Duration(300)
MOST = 18_000_000
"""Samples that vLLM's own overview reads of ten engines in three hours."""


@pytest.fixture(scope="module")
def engines(settings: Settings) -> Iterator[Replay]:
    rules, _ = behind((), settings)  # Raw series need none.
    programs = program("prometheus"), program("promtool")
    with dashboard_costs.past(10, settings, programs, rules, STRETCH) as replay:
        yield replay


def test_opening_a_dashboard_on_raw_series_costs_at_most_what_vllm_s_own_does(engines: Replay) -> None:
    costs = dashboard_costs.costs(engines, inside="dashboards/standalone/", stretch=STRETCH)
    assert costs
    assert {uid: f"{cost.samples:,.0f}" for uid, cost in costs.items() if cost.samples > MOST} == {}
    # Of engines that were simulated, that is.
    assert all(cost.samples > 100_000 for cost in costs.values())
