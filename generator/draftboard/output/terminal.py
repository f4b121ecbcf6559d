"""A document on a terminal of any width: where a table is too wide, its rows become lines, and no number is cut."""

from typing import Any

from rich import bar, table, text
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.measure import Measurement

from draftboard.output.document import Bar, Block, Bullets, Cell, Document, Heading, Note, Sentence, Table, Verbatim
from draftboard.output.document import Text as Words
from draftboard.status import Status

STYLES = {
    Status.BAD: "bold red",
    Status.WARN: "bold yellow",
    Status.GOOD: "bold green",
    Status.BEST: "bold green",
    Status.ODD: "bold magenta",
    Status.QUIET: "dim",
    Status.NEUTRAL: "",
}
_BAR = 16
"""Characters."""
_ENDLESS = 100_000
"""Characters."""
_CUT = "\N{HORIZONTAL ELLIPSIS}"
"""What Rich writes in place of the rest of a word."""


def show(document: Document, console: Console) -> None:
    """Print every block."""
    for number, block in enumerate(document.blocks):
        if number and isinstance(block, Heading):
            console.print()
        _show(block, console)


def printable(words: str) -> str:
    """Text of servers and users among ours: nothing that a terminal would obey."""
    return "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in words)


def _show(block: Block, console: Console) -> None:
    match block:
        case Heading():
            says = (f"  {printable(block.says.words)}", STYLES[block.says.status])
            console.print(text.Text.assemble((printable(block.name), "bold"), says if block.says.words else ""))
        case Sentence():
            console.print(_styled(Words(block.text, block.status)))
        case Bullets():
            for line in block.lines:
                grid = table.Table.grid("", table.Column(overflow="fold"), padding=(0, 1, 0, 0))
                grid.add_row(_styled(Words("  -", block.status)), _styled(Words(line, block.status)))
                console.print(grid)
        case Table():
            _show_table(block, console)
        case Note():
            console.print(_styled(Words(block.text, Status.QUIET)))
        case Verbatim():
            console.print(text.Text(printable(block.text)), soft_wrap=True)


def _show_table(found: Table, console: Console) -> None:
    drawn = table.Table(title=found.title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False)
    drawn.title = found.title or None
    drawn.show_header = any(column.heading for column in found.columns)
    for column in found.columns:
        layout: dict[str, Any] = {"justify": "right", "no_wrap": True} if column.number else {"overflow": "fold"}
        drawn.add_column(column.heading, **layout)
    for row in found.rows:
        drawn.add_row(*(_cell(cell) for cell in row))
    if _fits(drawn, console):
        console.print(drawn)
        return
    if found.title:
        console.print(text.Text(found.title, "bold"))
    for row in found.rows:
        console.print()
        for column, cell in zip(found.columns, row, strict=True):
            words = _cell(cell)
            if isinstance(words, text.Text) and words:
                console.print(text.Text.assemble(f"{column.heading}: " if column.heading else "", words))
    console.print()


def _cell(cell: Cell) -> text.Text | bar.Bar:
    match cell:
        case Bar():
            return bar.Bar(1, 0, cell.share, width=_BAR)
        case str():
            return text.Text(printable(cell))
        case Words():
            return _styled(cell)


def _styled(words: Words) -> text.Text:
    return text.Text(printable(words.words), style=STYLES[words.status])


def _fits(drawn: table.Table, console: Console) -> bool:
    """Whether the longest words of all columns find room together, and Rich gives it to them."""
    needed = Measurement.get(console, console.options.update(max_width=_ENDLESS), drawn).minimum
    return needed <= console.width and not any(_CUT in segment.text for segment in console.render(drawn))
