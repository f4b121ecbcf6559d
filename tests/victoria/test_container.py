"""The container of the profile `scale`, with the program that the tests have."""

import subprocess
from pathlib import Path

import httpx
import pytest

from conftest import program
from draftboard.prometheus import stop
from support import victoria
from support.composed import configured

pytestmark = pytest.mark.victoria


@pytest.fixture(scope="module")
def command() -> list[str]:
    """Its flags."""
    found: list[str] = configured("monitoring,scale")["services"]["victoria-metrics"]["command"]
    return found


def test_the_program_knows_all_flags_of_the_container(command: list[str]) -> None:
    done = subprocess.run(
        [program("victoria-metrics"), "--help"], capture_output=True, text=True, timeout=60, check=True
    )
    assert [flag for flag in command if f"\n  {flag.partition('=')[0]} " not in done.stdout + done.stderr] == []


def test_nobody_can_delete_series_or_fill_the_disk_with_snapshots(command: list[str], tmp_path: Path) -> None:
    here = [flag.replace("=/storage", f"={tmp_path / 'data'}") for flag in command]
    process, address = victoria.start(tmp_path, "victoria-metrics", *here)
    try:
        asked = ("api/v1/admin/tsdb/delete_series?match[]=up", "snapshot/create", "api/v1/query?query=1", "health")
        assert [httpx.get(f"{address}/{path}", trust_env=False).status_code for path in asked] == [401, 401, 200, 200]
    finally:
        stop(process)
