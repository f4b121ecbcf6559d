"""From the rules of a former build to today's: the doctor names what is stale, missing and left over, then nothing."""

import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from conftest import program
from draftboard import __version__
from draftboard.build.files import ALERTING, RECORDING
from draftboard.doctor import examine_prometheus
from draftboard.durations import Duration
from draftboard.prometheus import Client, Server
from draftboard.rules import RELEASES
from draftboard.settings import Settings
from support.waiting import sampled

pytestmark = [pytest.mark.prometheus, pytest.mark.long]
FORMER = Path(__file__).parent.parent / "data/former.rules.yaml"


@pytest.fixture(scope="module")
def today(committed: Mapping[str, str]) -> Mapping[str, str]:
    """The rule files of this build, by name."""
    return {Path(path).name: committed[path] for path in (RECORDING, ALERTING)}


@contextmanager
def loading(folder: Path) -> Iterator[Client]:
    """A Prometheus with the rule files of a folder."""
    server = Server(program("prometheus"), folder, Duration(60), 'rule_files: ["*.rules.yaml"]')
    with server.running() as url, Client(url) as client:
        yield client


def found(client: Client) -> dict[str, str]:
    """What is said of loaded rules, by how it begins: `5 loaded rules`."""
    findings = examine_prometheus(client, Settings(), time.time()).findings
    return {" ".join(one.what.split()[2:7]): one.what for one in findings if one.where == "rules"}


def test_an_upgrade_is_checked_before_and_after(tmp_path: Path, today: Mapping[str, str]) -> None:
    shutil.copy(FORMER, tmp_path)
    with loading(tmp_path) as client:
        before = found(client)
    stale = before["rules have other expressions than"]
    assert stale.startswith("2 loaded")
    assert "SpecDecodeNotPaying" in stale
    assert f"this build: {__version__}" in stale
    left = before["rules of Draftboard's groups are"]
    assert "SpecDecodeDraftTooLong, model:vllm_slo_budget:ratio;" in left
    assert any("are not loaded" in what for what in before.values())

    for name, text in today.items():
        (tmp_path / name).write_text(text)
    with loading(tmp_path) as client:
        both = found(client)
    assert any("loaded more than once" in what for what in both.values())

    (tmp_path / FORMER.name).unlink()
    with loading(tmp_path) as client:
        after = found(client)
        releases = [release_in(client, record) for record in RELEASES.values()]
    assert after == {}
    assert releases == [__version__, __version__]


def release_in(client: Client, record: str) -> str:
    """The release that a record names, once it is evaluated."""
    (row,) = client.query(record, sampled(client, record))
    return row.labels["release"]


def test_the_record_tells_the_release_that_wrote_a_file(tmp_path: Path, today: Mapping[str, str]) -> None:
    for name, text in today.items():
        (tmp_path / name).write_text(text.replace(f'"release", "{__version__}"', '"release", "0.0.9"'))
        (tmp_path / name).write_text((tmp_path / name).read_text().replace("offset 1h", "offset 2h"))
    with loading(tmp_path) as client:
        assert "loaded: 0.0.9, this build: " in found(client)["rules have other expressions than"]
