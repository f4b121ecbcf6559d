"""A document on a terminal of any width: where a table is too wide, its rows become lines, and no number is cut."""

from rich import bar, table, text
from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console

from draftboard.output.document import Bar, Bullets, Cell, Document, Heading, Note, Sentence, Table, Verbatim
from draftboard.status import Status

STYLES = dict.fromkeys((Status.GOOD, Status.BEST), "bold green") | {
    **dict.fromkeys((Status.BAD, Status.DOWN), "bold red"),
    **dict.fromkeys((Status.WARN, Status.STUCK), "bold yellow"),
    Status.ODD: "bold magenta",
    **dict.fromkeys((Status.QUIET, Status.STARTING), "dim"),
    **dict.fromkeys((Status.NEUTRAL, Status.OFF), ""),
}
_BAR = 16  # characters


def show(document: Document, console: Console) -> None:
    """Print every block."""
    for number, block in enumerate(document.blocks):
        match block:
            case Heading():
                if number:
                    console.print()
                says = text.Text("  ") + _styled(*block.says) if block.says.words else ""
                console.print(text.Text.assemble((printable(block.name), "bold"), says))
            case Sentence():
                console.print(_styled(*block))
            case Bullets():
                for line in block.lines:
                    grid = table.Table.grid("", table.Column(overflow="fold"), padding=(0, 1, 0, 0))
                    grid.add_row(_styled("  -", block.status), _styled(line, block.status))
                    console.print(grid)
            case Table():
                _show_table(block, console)
            case Note():
                console.print(_styled(block.text, Status.QUIET))
            case Verbatim():
                console.print(text.Text(printable(block.text)), soft_wrap=True)


def printable(words: str) -> str:
    """Text of servers and users among ours: nothing that a terminal would obey."""
    return "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in words)


def _show_table(found: Table, console: Console) -> None:
    if drawn := _drawn(found, console.width):
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


def _drawn(found: Table, width: int) -> table.Table | None:
    """The table, headings of numbers on several lines where they must be; None where its longest words have no room."""
    rows = [[_cell(cell) for cell in row] for row in found.rows]
    widths, wanted = [], []
    for number, column in enumerate(found.columns):
        heading, sizes = _sizes(text.Text(column.heading)), [_sizes(row[number]) for row in rows]
        whole, word = max((size[0] for size in sizes), default=0), max(size[1] for size in (heading, *sizes))
        widths.append(max(whole, word) if column.number else word)
        wanted.append(max(whole, *heading))
    room = width + 1 - 3 * len(widths) - sum(widths)
    if room < 0:
        return None
    # The columns that need least come first: the others share what they leave.
    growing = sorted(range(len(widths)), key=lambda number: wanted[number] - widths[number])
    for left, number in zip(range(len(widths), 0, -1), growing, strict=True):
        more = max(0, min(wanted[number] - widths[number], room // left))
        widths[number] += more
        room -= more
    drawn = table.Table(title=found.title or None, title_justify="left", title_style="bold", box=SIMPLE_HEAD)
    drawn.pad_edge, drawn.show_header = False, any(column.heading for column in found.columns)
    for column, own in zip(found.columns, widths, strict=True):
        drawn.add_column(text.Text(column.heading), justify="right" if column.number else "left", width=own)
    for row in rows:
        drawn.add_row(*row)
    return drawn


def _sizes(cell: text.Text | bar.Bar) -> tuple[int, int]:
    if isinstance(cell, bar.Bar):
        return _BAR, _BAR
    return cell.cell_len, max(map(cell_len, cell.plain.split()), default=0)


def _cell(cell: Cell) -> text.Text | bar.Bar:
    if isinstance(cell, Bar):
        return bar.Bar(1, 0, cell.share, width=_BAR)
    return _styled(cell) if isinstance(cell, str) else _styled(*cell)


def _styled(words: str, status: Status = Status.NEUTRAL) -> text.Text:
    return text.Text(printable(words), style=STYLES[status])
