"""What people are told of troubles and on quiet days, by all shipped alerts: `tests/data/outages.yaml`."""

from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

from conftest import program
from support.outages import Told, batches, firing, scenarios, told

pytestmark = [pytest.mark.prometheus, pytest.mark.long]

BATCHES = batches()
_BATCH = {scenario.name: number for number, batch in enumerate(BATCHES) for scenario in batch}


@pytest.fixture(scope="session")
def promtool() -> Path:
    return program("promtool")


@cache
def outcome(number: int, promtool: Path) -> dict[str, list[Told]]:
    """What people are told of each scenario of a batch."""
    fired = firing(BATCHES[number], promtool)
    return {scenario.name: told(fired, scenario) for scenario in BATCHES[number]}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.xdist_group(f"outages {_BATCH[name]}")) for name in scenarios()]
)
def test_people_are_told_of_a_trouble_in_time_and_of_nothing_else(name: str, promtool: Path) -> None:
    scenario = scenarios()[name]
    heard = outcome(_BATCH[name], promtool)[name]
    since: dict[str, list[int]] = defaultdict(list)
    for one in heard:
        since[one.alert] += (minute for minute in one.minutes if minute > scenario.fault)
    assert set(scenario.told) <= {alert for alert, minutes in since.items() if minutes}, "missed"
    assert set(since) <= set(scenario.told) | scenario.may, "false"
    for alert, within in scenario.told.items():
        assert min(since[alert]) - scenario.fault <= within, alert
    spoken = {minute for alert in scenario.told for minute in since[alert]}
    if scenario.told and not scenario.ends:
        assert spoken >= set(range(min(spoken), scenario.minutes)), "resolved"
    if not scenario.told:
        for one in heard:
            assert one.minutes == tuple(range(one.minutes[0], one.minutes[-1] + 1)), f"{one.alert} flickers"


def test_there_are_at_least_sixty_troubles_and_fifteen_quiet_days() -> None:
    troubles = [scenario for scenario in scenarios().values() if scenario.told]
    assert len(troubles) >= 60
    assert len(scenarios()) - len(troubles) >= 15
