"""Links in the documentation have a target."""

import re
from pathlib import Path

import pytest

from conftest import ROOT

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "alerts/runbooks").glob("*.md")])


def prose(page: Path) -> str:
    """A page without its blocks of code."""
    return re.sub(r"(?ms)^ *```.*?^ *```", "", page.read_text())


def anchors(page: Path) -> set[str]:
    """Anchors of the headings, as GitHub derives them."""
    headings = re.findall(r"(?m)^#+ (.+)$", prose(page))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_relative_link_has_a_target(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)", prose(page))
    for path, anchor in links:
        target = page.parent / path if path else page
        assert target.exists(), path
        assert not anchor or anchor in anchors(target), f"{path}#{anchor}"
