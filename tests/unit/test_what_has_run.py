"""What never ran says so where it is offered, and what runs names its test."""

import re
from datetime import date
from pathlib import Path

import pytest

from conftest import ROOT
from support.rulefiles import loaded

TESTING = ROOT / "docs/contribute/testing.md"
COMPOSE = ROOT / "deploy/docker-compose.yml"
_TABLE = TESTING.read_text().partition("## What has run, and what has not\n")[2].partition("\n## ")[0]
ROWS = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in _TABLE.splitlines() if line.startswith("|")]
NOT_RUN = [row for row in ROWS[2:] if row[1] == "**not run**"]
RUN = [row for row in ROWS[2:] if row[1].startswith("yes")]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def linked(cell: str) -> list[Path]:
    """The files that a cell of the table links to."""
    return [(TESTING.parent / path if path else TESTING) for path in re.findall(r"\]\(([^)#]*)(?:#[^)]*)?\)", cell)]


def targets() -> set[str]:
    makefiles = (ROOT / "Makefile", ROOT / "deploy/stack.mk")
    return {name for path in makefiles for name in re.findall(r"(?m)^([a-z-]+):", path.read_text())}


def test_the_table_has_both() -> None:
    assert len(RUN) + len(NOT_RUN) == len(ROWS) - 2
    assert RUN
    assert NOT_RUN


@pytest.mark.parametrize("row", RUN, ids=lambda row: row[0])
def test_what_runs_names_a_test_that_there_is(row: list[str]) -> None:
    commands = re.findall(r"`make ([a-z-]+)`", row[2])
    tests = [path for path in linked(row[2]) if path.suffix == ".py"]
    assert commands or tests
    assert set(commands) <= targets()
    assert all(path.exists() for path in tests)


@pytest.mark.parametrize("row", NOT_RUN, ids=lambda row: row[0])
def test_what_never_ran_says_so_where_it_is_offered(row: list[str]) -> None:
    for path in linked(row[0]):
        page = path.read_text() if path.is_file() else (ROOT / "docs/operate/install.md").read_text()
        assert re.search(r"(?i)\bnot run\b", page), path


@pytest.mark.parametrize("name", ["Mimir", "Thanos", "VictoriaMetrics", "healthchecks.io", "e-mail", "macOS", "arm64"])
def test_every_page_that_offers_it_marks_it(name: str) -> None:
    offering = [page for page in PAGES if name.lower() in page.read_text().lower()]
    assert offering
    for page in offering:
        assert re.search(r"(?i)\bnot run\b", page.read_text()), page


def test_every_image_says_when_and_whence_it_is_known() -> None:
    text = COMPOSE.read_text()
    images = loaded(text)["x-images"]
    known = dict(re.findall(r"(?m)^#   ([a-z-]+) +(\d{4}-\d\d-\d\d)   \S.*$", text))
    assert set(known) == set(images)
    assert all(date.fromisoformat(day) >= date(2026, 11, 22) for day in known.values())
