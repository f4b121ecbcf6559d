"""The page on performance, which `make bench` writes whole, and some scripts in part."""

import re
import sys
from collections.abc import Iterable, Sequence

from conftest import ROOT

PAGE = ROOT / "docs/reference/performance.md"


def table(heads: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """In Markdown."""
    rows = [heads, ["---"] * len(heads), *lines]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in rows)


def rewrite(section: str) -> None:
    """Put a section in the place of the one with its heading, and print it."""
    heading = re.escape(section.partition("\n")[0])
    former = re.compile(rf"^{heading}\n.*?(?=^## )", re.DOTALL | re.MULTILINE)
    PAGE.write_text(former.sub(lambda _: section, PAGE.read_text(), count=1))
    sys.stdout.write(section)
