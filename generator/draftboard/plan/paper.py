"""Tables for people: each row names its columns, and no number is ever cut."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from draftboard.tables import print_whole

_HEADING_WIDTH = 10


@dataclass(frozen=True)
class Row:
    """One line of a table: cells by heading, words to the left, numbers to the right."""

    words: dict[str, str]
    numbers: dict[str, str] = field(default_factory=dict)
    style: str = ""


def print_table(title: str, rows: Sequence[Row], console: Console) -> None:
    """Print rows that all have the headings of the first."""
    table = Table(
        title=escape(title),
        title_justify="left",
        title_style="bold",
        box=SIMPLE_HEAD,
        show_edge=False,
        padding=(0, 1, 0, 0),
    )
    for heading in rows[0].words:
        table.add_column(heading)
    for heading in rows[0].numbers:
        widest = max(len(text) for row in rows for text in (*heading.split(), row.numbers[heading]))
        table.add_column(heading, justify="right", min_width=widest, max_width=max(widest, _HEADING_WIDTH))
    for row in rows:
        cells = (row.words[heading] for heading in rows[0].words)
        numbers = (row.numbers[heading] for heading in rows[0].numbers)
        table.add_row(*(Text(cell) for cell in cells), *numbers, style=row.style)
    print_whole(table, console)
    console.print()
