"""Tables on a terminal of any width: where one is too narrow, rows become lines, and no number is ever cut."""

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

_ENDLESS = 100_000
"""Characters."""
_CUT = "\N{HORIZONTAL ELLIPSIS}"
"""What Rich writes in place of the rest of a word."""


def print_whole(table: Table, console: Console) -> None:
    """Print a table, or its rows as lines of `heading: cell` where a column has no room for its longest word."""
    if _fits(table, console):
        console.print(table)
        return
    console.print(_text(table.title or "", "bold"))
    headings = [_text(column.header).plain for column in table.columns]
    rows = zip(*(column.cells for column in table.columns), strict=True)
    for row, cells in zip(table.rows, rows, strict=True):
        console.print()
        for heading, cell in zip(headings, cells, strict=True):
            if told := _text(cell, row.style):
                console.print(Text.assemble(f"{heading}: " if heading else "", told))
    console.print()


def _fits(table: Table, console: Console) -> bool:
    """Whether the longest words of all columns find room together, and Rich gives it to them."""
    needed = Measurement.get(console, console.options.update(max_width=_ENDLESS), table).minimum
    return needed <= console.width and not any(_CUT in segment.text for segment in console.render(table))


def _text(given: object, style: object = "") -> Text:
    """A title, heading or cell, which is text or markup; a bar beside its number says nothing in words."""
    if not isinstance(given, str | Text):
        return Text()
    text = given.copy() if isinstance(given, Text) else Text.from_markup(given)
    text.stylize(str(style or ""))
    return text
