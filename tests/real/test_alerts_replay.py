"""`draftboard alerts replay` on a past of which the truth is known; its Alertmanager: test_notifications.py."""

import json
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from conftest import program, replayed
from draftboard.durations import Duration
from draftboard.lab.simulator.backfill import backfill
from draftboard.lab.simulator.fleet import targets
from draftboard.prometheus import Promtool, Server
from draftboard.rules import recording_groups
from draftboard.settings import Settings
from support import command_line
from support.simulated import scenario

pytestmark = pytest.mark.prometheus

run = partial(command_line.run, "alerts", "replay")
START, MINUTES = 1_756_800_000, 50
DOWN_AT, DOWN_FOR = 30, 8
"""Minutes."""


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model's only server is down for a while."""
    told = scenario({"at": f"{DOWN_AT}m", "restart": f"{DOWN_FOR}m"}, method="eagle3", k=4, load={"clients": 2})
    path = tmp_path_factory.mktemp("past") / "past.om"
    backfill(targets(told, 1), range(START, START + 60 * MINUTES + 1, 15), path)
    return path


def written_down(folder: Path) -> Path:
    """Incidents by minute of their start and end, as people remember them."""
    remembered = {
        "outage": (30, 38),
        "outage, too early": (22, 38),
        "outage, too late": (36, 45),
        "long past": (44, 49),
    }
    path = folder / "incidents.toml"
    with path.open("w") as file:
        for name, (start, end) in remembered.items():
            since, until = (datetime.fromtimestamp(START + 60 * minute, UTC).isoformat() for minute in (start, end))
            file.write(f"[[incident]]\nname = '{name}'\nstart = {since}\nend = {until}\n")
    return path


def asked(url: str, incidents: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    programs = ("--prometheus-program", program("prometheus"), "--promtool-program", program("promtool"))
    words = (
        "--prometheus",
        url,
        "--range",
        f"{MINUTES}m",
        "--at",
        str(START + 60 * MINUTES),
        "--incidents",
        incidents,
        *programs,
    )
    code, out, err = run(*words, "--json", capsys=capsys)
    assert (code, err) == (0, "")
    found: dict[str, Any] = json.loads(out)
    return found


def test_without_records_and_with_them_the_same_page_is_found_for_the_same_outage(
    recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    incidents = written_down(tmp_path)
    Promtool(program("promtool")).load_openmetrics(recording, tmp_path / "data")
    with Server(program("prometheus"), tmp_path, Duration(60)).running() as url:
        of_samples = asked(url, incidents, capsys)
    with replayed(recording, Settings(), rules=recording_groups(Settings())) as replay:
        of_records = asked(replay.client.url, incidents, capsys)
    assert (of_samples["basis"], of_records["basis"]) == ("samples", "records")
    assert of_samples["notifications"] == of_records["notifications"]
    pages = [one for one in of_records["notifications"] if one["severity"] == "critical"]
    assert [(one["kind"], one["alerts"]) for one in pages] == [
        ("new", ["VLLMModelDown"]),
        ("resolved", ["VLLMModelDown"]),
    ]
    told, over = ((one["at"] - START) / 60 for one in pages)
    assert DOWN_AT + 1 < told < DOWN_AT + 6
    assert DOWN_AT + DOWN_FOR < over < DOWN_AT + DOWN_FOR + 6
    assert of_samples["incidents"] == of_records["incidents"]
    assert {one["incident"]: one["outcome"] for one in of_records["incidents"]} == {
        "outage, too early": "late",
        "outage": "in time",
        "outage, too late": "early",
        "long past": "missed",
    }
    assert of_records["false_pages"] == []
