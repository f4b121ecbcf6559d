"""A document on a terminal of any width: where a table is too wide, its rows become lines, and no number is cut."""

from rich import bar, table, text
from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console

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
_WIDE, _NARROW = 3, 2
"""Characters: of a bar, between columns."""


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
    for gap in (_WIDE, _NARROW):
        if drawn := _drawn(found, console.width, gap):
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


def _drawn(found: Table, width: int, gap: int) -> table.Table | None:
    """The table with such gaps between columns; None where its longest words have no room.

    Where gaps are narrow, headings of numbers may take several lines.
    """
    headings = [text.Text(column.heading) for column in found.columns]
    rows = [[_cell(cell) for cell in row] for row in found.rows]
    least, most = [], []
    for number, column in enumerate(found.columns):
        cells = [row[number] for row in rows]
        whole = max(map(_width, cells), default=0)
        longest = max(map(_longest_word, (headings[number], *cells)))
        most.append(max(whole, longest if column.number and gap == _NARROW else _width(headings[number])))
        least.append(max(most[-1], longest) if column.number else longest)
    room = width - 2 - gap * (len(least) - 1) - sum(least)
    if room < 0:
        return None
    drawn = table.Table(title=found.title or None, title_justify="left", title_style="bold", box=SIMPLE_HEAD)
    drawn.pad_edge, drawn.padding = False, (0, 1, 0, gap - _NARROW)
    drawn.show_header = any(column.heading for column in found.columns)
    widths = list(least)
    # The columns that need least come first, so that what they leave is shared by the others.
    growing = sorted(range(len(least)), key=lambda number: most[number] - least[number])
    for left, number in zip(range(len(growing), 0, -1), growing, strict=True):
        more = min(most[number] - least[number], room // left)
        widths[number] += more
        room -= more
    for heading, column, own in zip(headings, found.columns, widths, strict=True):
        drawn.add_column(heading, justify="right" if column.number else "left", width=own)
    for row in rows:
        drawn.add_row(*row)
    return drawn


def _width(cell: text.Text | bar.Bar) -> int:
    return cell.cell_len if isinstance(cell, text.Text) else _BAR


def _longest_word(cell: text.Text | bar.Bar) -> int:
    return max(map(cell_len, cell.plain.split()), default=0) if isinstance(cell, text.Text) else _BAR


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
