"""What docs/start/demo.md shows is what `make demo` prints, and so are the figures that other pages quote of it."""

import os
import re
import subprocess
import sys

import pytest

from conftest import ROOT, program
from support.documented import shape

pytestmark = pytest.mark.docs

PAGE = (ROOT / "docs/start/demo.md").read_text()
REPLAY, DRILL = (
    block.splitlines() for language, block in re.findall(r"(?ms)^```(\w*)\n(.*?)^```", PAGE) if not language
)
MEASURED = (ROOT / "docs/concepts/measured.md").read_text()
REPORT = (ROOT / "docs/commands/report.md").read_text()


@pytest.fixture(scope="module")
def printed() -> str:
    programs = {name.upper(): str(program(name)) for name in ("prometheus", "promtool", "alertmanager")}
    environment = {**os.environ, **programs, "PYTHONPATH": str(ROOT / "generator"), "COLUMNS": "200"}
    command = [sys.executable, "-m", "draftboard", "demo", "--details"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def rows(printed: str, title: str) -> list[list[list[str]]]:
    """The cells of the rows of every table of that title, by minute."""
    tables = [re.split(r"\n(?=\S)", text)[0] for text in printed.split(f"\n{title} ")[1:]]
    return [[re.split(r" {2,}", row.strip()) for row in re.findall(r"(?m)^ \d\d:00 .*", text)] for text in tables]


def test_the_page_shows_the_replay(printed: str) -> None:
    lines = {" ".join(line.split()) for line in printed.splitlines()}
    assert [line for line in REPLAY if line.strip(" ─.") and " ".join(line.split()) not in lines] == []


def test_the_page_shows_the_drill(printed: str) -> None:
    lines = [shape(line) for line in printed.splitlines()]
    for line in DRILL:
        start = shape(line).removesuffix(" ...")
        assert any(one.startswith(start) for one in lines), line


def test_times_that_pages_quote_are_those_of_the_first_two_minutes(printed: str) -> None:
    drafting, plain = ([row[4].removesuffix(" ms") for row in table[:2]] for table in rows(printed, "Do users wait?"))
    for minute, ours, theirs in zip(("first", "second"), drafting, plain, strict=True):
        assert re.search(rf"{theirs} ms / {ours} ms in the\s+{minute}", PAGE)
        assert re.search(rf"{theirs} / {ours} = \S+ +{minute} minute", MEASURED)
    (speedups,) = rows(printed, "How much?")
    assert f"the first minute has {speedups[0][6]}" in MEASURED
    assert f"expected speedups were {speedups[0][4]} and {speedups[1][4]}" in MEASURED


def test_the_expected_speedup_equals_the_measured_one_as_the_page_on_reports_says(printed: str) -> None:
    (speedups,) = rows(printed, "How much?")
    both = [(float(row[4]), float(row[6])) for row in speedups if "-" not in row[4:]]
    assert both
    assert all(expected == measured for expected, measured in both)
    assert "At one load it equals the measured speedup, as in all minutes of the [demo]" in " ".join(REPORT.split())
