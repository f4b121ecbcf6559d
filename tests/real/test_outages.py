"""What people are told of troubles and on quiet days, by all shipped alerts: `tests/data/outages.yaml`."""

from functools import cache
from pathlib import Path

import pytest

from conftest import program
from support.outages import Scenario, Told, batches, firing, scenarios, told

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


def _marks(scenario: Scenario) -> list[pytest.MarkDecorator]:
    known = [pytest.mark.xfail(reason=scenario.gap, strict=True)] if scenario.gap else []
    return [pytest.mark.xdist_group(f"outages {_BATCH[scenario.name]}"), *known]


@pytest.mark.parametrize("name", [pytest.param(name, marks=_marks(one)) for name, one in scenarios().items()])
def test_people_are_told_of_a_trouble_in_time_and_of_nothing_else(name: str, promtool: Path) -> None:
    scenario = scenarios()[name]
    heard = outcome(_BATCH[name], promtool)[name]
    first = {one.alert: min(one.minutes) - scenario.fault for one in sorted(heard, key=lambda one: -min(one.minutes))}
    assert set(scenario.told) <= set(first), "missed"
    assert set(first) <= set(scenario.told) | scenario.may, "false"
    for alert, within in scenario.told.items():
        assert 0 < first[alert] <= within, alert
    last = {minute for one in heard if one.alert in scenario.told for minute in one.minutes}
    if scenario.told and not scenario.ends:
        assert scenario.minutes - 1 in last, "forgotten"
    if not scenario.told:
        for one in heard:
            assert one.minutes == tuple(range(one.minutes[0], one.minutes[-1] + 1)), f"{one.alert} flickers"


def test_there_are_at_least_sixty_troubles_and_fifteen_quiet_days() -> None:
    troubles = [scenario for scenario in scenarios().values() if scenario.told]
    assert len(troubles) >= 60
    assert len(scenarios()) - len(troubles) >= 15
