"""Each scenario, backfilled into a real Prometheus: exactly the alerts that it names fire, and as soon as it says."""

from pathlib import Path

import pytest

from conftest import program
from draftboard.lab.replay import Firing, firings
from draftboard.lab.simulator import Scenario, find, names
from scripts.detection import HEAD, PAGE, START, replayed, rows

pytestmark = [pytest.mark.prometheus, pytest.mark.long]

# Slow ones first, so that two workers end together.
ORDER = sorted(names(), key=lambda name: sum(s.instances * s.engines for s in find(name).server), reverse=True)


@pytest.fixture(scope="module")
def programs() -> tuple[Path, Path]:
    return program("prometheus"), program("promtool")


def check(told: Scenario, fired: list[Firing]) -> None:
    assert {firing.alert for firing in fired} == {expected.alert for expected in told.expect}
    for expected in told.expect:
        about = [firing for firing in fired if firing.alert == expected.alert]
        first = min(firing.since for firing in about) - START
        assert expected.since.seconds < first <= expected.since.seconds + expected.within.seconds, expected.alert
        for firing in about:
            assert firing.labels.items() >= expected.labels.items()


@pytest.mark.parametrize("name", ORDER)
def test_exactly_the_alerts_that_a_scenario_names_fire_in_time(
    name: str, tmp_path: Path, programs: tuple[Path, Path]
) -> None:
    told = find(name)
    with replayed(told, tmp_path, programs, alerts_only=True) as replay:
        fired = firings(replay)
    check(told, fired)
    page = PAGE.read_text().splitlines()
    assert [line for line in page if line.startswith(f"| `{name}` |")] == rows(name, told, fired), "run `make detect`"


@pytest.mark.parametrize("seed", [2])
@pytest.mark.parametrize("name", ["disagg-phantom-drafts", "mixed-temperature", "spec-off"])
def test_a_story_does_not_hang_on_its_seed(name: str, seed: int, tmp_path: Path, programs: tuple[Path, Path]) -> None:
    told = find(name)
    with replayed(told, tmp_path, programs, seed, alerts_only=True) as replay:
        check(told, firings(replay))


def test_the_page_names_all_scenarios_and_no_other() -> None:
    text = PAGE.read_text()
    assert text.startswith(HEAD)
    told = [line.split("`")[1] for line in text.removeprefix(HEAD).splitlines()]
    assert list(dict.fromkeys(told)) == names()
