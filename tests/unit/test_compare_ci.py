"""Gates as a CI system reads them: JUnit XML, and annotations of GitHub Actions."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree as ET

import pytest

from draftboard.compare import annotations, compare, write_junit
from draftboard.output import as_json, escape
from support import command_line
from support.hostile import every
from support.runs import ran

run = partial(command_line.run, "compare")

GATES = ("--min-speedup", "1.5", "--max-drop-pp", "5")


@pytest.fixture
def saved(tmp_path: Path) -> tuple[Path, Path]:
    """A candidate that is fast enough, and accepts too little."""
    found = []
    for name, acceptance, time in (("base", 0.7, 0.04), ("candidate", 0.5, 0.02)):
        found.append(tmp_path / name)
        found[-1].write_text(as_json(ran(times=[time] * 200, acceptance=acceptance).report))
    return found[0], found[1]


def written(path: Path) -> ET.Element:
    return ET.parse(path).getroot()  # noqa: S314  (the file is ours)


def test_each_gate_is_a_test_case_and_a_missed_one_a_failure(
    saved: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = run(*saved, *GATES, "--junit", tmp_path / "gates.xml", capsys=capsys)
    assert (code, "Verdict" in out) == (1, True)
    suite = written(tmp_path / "gates.xml")
    assert {name: suite.get(name) for name in ("tests", "failures", "errors")} == {
        "tests": "2",
        "failures": "1",
        "errors": "0",
    }
    dropped, faster = suite.iter("testcase")
    assert (dropped.get("name"), faster.get("name")) == ("--max-drop-pp 5", "--min-speedup 1.5")
    failure = dropped.find("failure")
    assert failure is not None
    assert (failure.get("message") or "").startswith("missed: draft acceptance from 70.0% to 50.0%, down 20 points")
    assert faster.find("failure") is None


def test_a_gate_that_cannot_be_judged_is_a_failure(tmp_path: Path) -> None:
    write_junit(compare(ran(times=[0.1]), ran(times=[0.1]), min_speedup=1), tmp_path / "gates.xml")
    assert written(tmp_path / "gates.xml").get("failures") == "1"


@every
def test_no_name_breaks_the_xml_or_begins_a_command_of_its_own(text: str, tmp_path: Path) -> None:
    side = ran(model=text, times=[0.1])
    found = compare(side, side, min_speedup=2)
    write_junit(found, tmp_path / "gates.xml")
    (case,) = written(tmp_path / "gates.xml")
    assert case.get("classname") == " against ".join([escape.terminal(text or "a server that names no model")] * 2)
    assert [part.tag for part in case] == ["failure"]
    (line,) = annotations(found)
    assert line.startswith("::error title=draftboard compare --min-speedup 2::")
    assert len(line.splitlines()) == 1
    assert escape.terminal(text) in unquote(line)


def test_a_property_ends_where_it_should() -> None:
    found = compare(ran(), ran(), min_speedup=0.5)
    (gate,) = found.gates
    (line,) = annotations(replace(found, gates=(replace(gate, option="--a,b: 5%"),)))
    assert line.startswith("::notice title=draftboard compare --a%2Cb%3A 5%25 0.5::")


def test_annotations_leave_json_alone(saved: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(*saved, *GATES, "--github", "--json", capsys=capsys)
    assert (code, out[0]) == (1, "{")
    missed, met = err.splitlines()
    assert missed.startswith("::error title=draftboard compare --max-drop-pp 5::m against m: missed")
    assert met.startswith("::notice title=draftboard compare --min-speedup 1.5::m against m: met")


def test_a_file_that_exists_stays(saved: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    there = tmp_path / "gates.xml"
    there.write_text("mine")
    code, out, err = run(*saved, *GATES, "--junit", there, "--force", capsys=capsys)
    assert (code, out) == (2, "")
    assert err == f"draftboard: {there}: exists: choose another path, or remove it first\n"
    assert there.read_text() == "mine"


def test_a_folder_that_is_not_there_is_said_before_servers_are_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run("host:1", "host:2", *GATES, "--junit", tmp_path / "none/gates.xml", capsys=capsys)
    assert (code, out) == (2, "")
    assert err.startswith(f"draftboard: {tmp_path}/none/gates.xml: {tmp_path}/none is not a folder: ")


def test_the_file_is_there_when_the_text_is_broken_off(
    saved: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken_off(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("draftboard.output.show", broken_off)
    code, _, _ = run(*saved, *GATES, "--junit", tmp_path / "gates.xml", capsys=capsys)
    assert (code, written(tmp_path / "gates.xml").get("tests")) == (130, "2")


@pytest.mark.parametrize("option", ["--github", "--junit=gates.xml", "--whole-interval"])
def test_without_a_gate_there_is_nothing_to_tell(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run("a", "b", option, capsys=capsys)
    assert code == 2
    assert f"{option.partition('=')[0]} requires --max-drop-pp or --min-speedup" in err
