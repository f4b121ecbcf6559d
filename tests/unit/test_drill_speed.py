"""A drill that cannot succeed is refused at once, with the speed that is possible."""

import math
from pathlib import Path

import pytest

from conftest import OBJECTIVES, ROOT
from draftboard.alerts import of_settings
from draftboard.cli import main
from draftboard.durations import Duration
from draftboard.lab.drill import Drill, fastest
from draftboard.lab.simulator import find, names
from draftboard.output import Progress
from draftboard.settings import Settings, load

DEMO = ROOT / "deploy/demo/drill.toml"
BREAKS = str(ROOT / "deploy/demo/drafter-breaks.toml")


def speeds(scenario: str, settings: Settings) -> dict[str, float]:
    script, alerts = find(scenario), {alert.name: alert for alert in of_settings(settings)}
    return {one.alert: fastest(script, one, alerts[one.alert], settings) for one in script.expect}


@pytest.mark.parametrize("scenario", [name for name in names() if find(name).expect])
def test_every_built_in_scenario_can_be_drilled_in_real_time(scenario: str) -> None:
    assert min(speeds(scenario, load(OBJECTIVES)).values()) >= 1


def test_the_speed_follows_from_the_holds_the_comparison_and_the_length_of_the_fault() -> None:
    found = speeds("drafter-broken", Settings())
    # The drill waits 3 x (75 + 40) min / speed. An hour's past and a hold of 15 minutes have to fit in.
    assert found["SpecDecodeAcceptanceDrop"] == pytest.approx(3 * 115 / (60 + 15))
    # From the cause at 75 minutes: a hold of 30 minutes, a scrape of 15 s and an evaluation of a minute.
    assert found["SpecDecodeNotPaying"] == pytest.approx((3 * 115 - 75) / 31.25)
    # It is down for eight minutes; the alert holds one.
    assert speeds("restart", Settings())["VLLMTargetDown"] < 8


def test_the_demo_can_succeed_at_its_speed() -> None:
    assert min(speeds(BREAKS, load(DEMO)).values()) > 60
    assert max(speeds(BREAKS, load(DEMO)).values()) < math.inf


@pytest.mark.parametrize("options", [["--speed", "60"], ["--speed", "60", "--json"]])
def test_a_drill_that_cannot_succeed_is_one_line_before_anything_is_started(
    options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nothing = [f"--{name}-program={tmp_path / 'absent'}" for name in ("prometheus", "alertmanager")]
    with pytest.raises(SystemExit) as ended:
        main(["drill", "drafter-broken", *options, *nothing])
    out, err = capsys.readouterr()
    assert (ended.value.code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("draftboard: drafter-broken: SpecDecodeAcceptanceDrop cannot fire at --speed 60: ")
    assert "(its pending period is 15m): take --speed 4.6 or less, or --config with shorter times" in err


def test_a_drill_says_in_a_pipe_how_long_it_takes_and_each_of_its_steps(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def rehearse(*_given: object, speed: float, progress: Progress) -> Drill:
        progress("starting", 0, 2)
        progress("waiting", 1, 2)
        return Drill("restart", speed, (), (), passed=True)

    monkeypatch.setattr("draftboard.lab.drill.rehearse", rehearse)
    programs = [f"--{name}-program={tmp_path / 'absent'}" for name in ("prometheus", "alertmanager")]
    with pytest.raises(SystemExit) as ended:
        main(["drill", "drafter-broken", "--speed", "2", *programs])
    lasts = Duration(find("drafter-broken").duration.seconds // 2)
    told = capsys.readouterr().err.splitlines()
    assert not ended.value.code
    assert told == [
        f"drafter-broken: takes about {lasts} at --speed 2",
        "starting (0 of 2 steps done)",
        "waiting (1 of 2 steps done)",
    ]
