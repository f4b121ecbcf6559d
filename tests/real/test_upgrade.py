"""From the rules of a former build to today's: the doctor names what is stale, missing and left over, then nothing."""

import re
import shlex
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from conftest import ROOT, program
from draftboard import __version__
from draftboard.build import render
from draftboard.build.files import ALERTING, RECORDING
from draftboard.doctor import examine_prometheus
from draftboard.durations import Duration
from draftboard.prometheus import Client, Promtool, Server
from draftboard.rules import RELEASES
from draftboard.settings import Settings, load
from support.rulefiles import rules
from support.waiting import sampled

pytestmark = [pytest.mark.prometheus, pytest.mark.long]
PAGE = (ROOT / "docs/operate/upgrade.md").read_text()
(HOURS,) = re.findall(r"```yaml\n(groups:.*?)```", PAGE, re.DOTALL)
"""The file that the page has somebody write."""
(TYPED,) = re.findall(r"^\$ (promtool tsdb create-blocks-from rules .*)", PAGE, re.MULTILINE)
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


def hours() -> dict[str, str]:
    """Expressions by record."""
    return {rule["record"]: rule["expr"] for group in yaml.safe_load(HOURS)["groups"] for rule in group["rules"]}


def test_the_page_records_every_hour_that_an_error_budget_adds_up_as_the_build_does() -> None:
    built = rules(render(load(ROOT / "tests/rules/objectives.toml")), "record")
    added_up = {name for rule in built for name in re.findall(r"\(([a-z_:0-9]+)\[30d:1h\]\)", rule["expr"])}
    made = {rule["record"]: " ".join(rule["expr"].split()) for rule in built}
    assert hours() == {name: made[name] for name in added_up}


def test_hours_typed_as_the_page_says_are_those_of_the_rates(tmp_path: Path) -> None:
    now = int(time.time())
    begin, rates = now - now % 3600 - 6 * 3600, {"events": 2.0, "bad_events": 0.5}
    lines = [
        f'service:vllm_slo_{name}:rate5m{{slo="errors"}} {rate} {second}'
        for name, rate in rates.items()
        for second in range(begin, now, 60)
    ]
    (tmp_path / "past.om").write_text("\n".join([*lines, "# EOF\n"]))
    (tmp_path / "hours.rules.yaml").write_text(HOURS)
    server, promtool = Server(program("prometheus"), tmp_path, Duration(300)), program("promtool")
    Promtool(promtool).load_openmetrics(tmp_path / "past.om", server.storage)
    with server.running() as url:
        command = TYPED.replace("http://prometheus:9090", url).replace("'-30 days'", "'-6 hours'")
        command = command.replace("promtool", shlex.quote(str(promtool)), 1)
        subprocess.run(["bash", "-c", command], check=True, cwd=tmp_path, capture_output=True)
    with server.running() as url, Client(url) as client:
        # The first hour is whole an hour after samples begin.
        found = {record: client.query(f"sum_over_time({record}[4h:1h])", now - now % 3600) for record in hours()}
    counted = {record: row.samples[0][1] for record, (row,) in found.items()}
    assert counted == {f"service:vllm_slo_{name}:increase1h": 4 * 3600 * rate for name, rate in rates.items()}
