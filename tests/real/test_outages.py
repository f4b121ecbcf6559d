"""What people are told of troubles and on quiet days, by all shipped alerts: `tests/data/outages.yaml`."""

from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

from conftest import program
from draftboard.alerts.monitoring import SAMPLES_STOPPED
from support.outages import Labels, Scenario, Told, alerts, batches, firing, inhibitions, scenarios, told

pytestmark = [pytest.mark.prometheus, pytest.mark.long]

BATCHES = batches()
_BATCH = {scenario.name: number for number, batch in enumerate(BATCHES) for scenario in batch}
UNTOLD = {
    "DraftboardWatchdog": "fires always",
    "DraftboardRecordsMissing": "rules that are not loaded: tests/rules/alert-DraftboardRecordsMissing.cases.yaml",
    "SpecDecodeClassLoses": "needs the lens: tests/rules/alert-SpecDecodeClassLoses.cases.yaml",
}


@pytest.fixture(scope="session")
def promtool() -> Path:
    return program("promtool")


@cache
def fired(number: int, promtool: Path) -> dict[int, list[Labels]]:
    """What fires in the scenarios of a batch."""
    return firing(BATCHES[number], promtool)


def _minutes(heard: list[Told], alert: str) -> set[int]:
    return {minute for one in heard if one.alert == alert for minute in one.minutes}


def _false(heard: list[Told], scenario: Scenario) -> set[str]:
    """Alerts that people are told of and should not be."""
    return {one.alert for one in heard} - set(scenario.told) - scenario.may


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.xdist_group(f"outages {_BATCH[name]}")) for name in scenarios()]
)
def test_people_are_told_of_a_trouble_in_time_and_of_nothing_else(name: str, promtool: Path) -> None:
    scenario = scenarios()[name]
    everything = fired(_BATCH[name], promtool)
    heard = told(everything, scenario)
    since: dict[str, list[int]] = defaultdict(list)
    for one in heard:
        since[one.alert] += (minute for minute in one.minutes if minute > scenario.fault)
    assert set(scenario.told) <= {alert for alert, minutes in since.items() if minutes}, "missed"
    assert not _false(heard, scenario), "false"
    for alert, within in scenario.told.items():
        assert min(since[alert]) - scenario.fault <= within, alert
    spoken = {minute for alert in scenario.told for minute in since[alert]}
    if scenario.told and not scenario.ends:
        assert spoken >= set(range(min(spoken), scenario.minutes, scenario.every)), "resolved"
    if not scenario.told:
        for one in heard:
            lasts = range(one.minutes[0], one.minutes[-1] + 1, scenario.every)
            assert one.minutes == tuple(lasts), f"{one.alert} flickers"
    for cause, target in scenario.inhibits:
        without = told(everything, scenario, (cause, target))
        assert _minutes(without, target) > _minutes(heard, target), f"{cause} inhibits nothing"


def test_there_are_at_least_sixty_troubles_and_fifteen_quiet_days() -> None:
    troubles = [scenario for scenario in scenarios().values() if scenario.told]
    assert len(troubles) >= 60
    assert len(scenarios()) - len(troubles) >= 15


def test_without_any_alert_or_inhibition_a_scenario_fails() -> None:
    assert {alert for scenario in scenarios().values() for alert in scenario.told} == alerts() - UNTOLD.keys()
    needed = {pair for scenario in scenarios().values() for pair in scenario.inhibits}
    # Samples that stop end all alerts alike: some stand for all.
    assert needed >= {pair for pair in inhibitions() if pair[0] != SAMPLES_STOPPED and pair[1] not in UNTOLD}
