"""A document on a terminal of any width: tables that are too wide are split or become lines, and no word is cut."""

from typing import IO, Any, NamedTuple, cast

from rich import bar, table, text
from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console

from draftboard.output import escape
from draftboard.output.document import Bar, Bullets, Cell, Column, Document, Heading, Note, Sentence, Table, Verbatim
from draftboard.status import Status

STYLES = dict.fromkeys((Status.GOOD, Status.BEST), "bold green") | {
    **dict.fromkeys((Status.DOWN, Status.BAD, Status.DUE), "bold red"),
    Status.WARN: "bold yellow",
    Status.ODD: "bold magenta",
    **dict.fromkeys((Status.QUIET, Status.STARTING), "dim"),
    **dict.fromkeys((Status.NEUTRAL, Status.OFF), ""),
}
_BAR = 16  # characters
_Shown = text.Text | bar.Bar


def show(document: Document, console: Console) -> None:
    """Print every block."""
    file = console.file
    console.file = cast("IO[str]", _Log(file))
    try:
        _print(document, console)
    finally:
        console.file = file


class _Log:
    """A file that CI systems may read: after the console has broken the lines."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def write(self, printed: str) -> int:
        return self._file.write(escape.log(printed))

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  (of the file)
        return getattr(self._file, name)


def _print(document: Document, console: Console) -> None:
    for number, block in enumerate(document.blocks):
        match block:
            case Heading():
                if number:
                    console.print()
                says = text.Text("  ") + _styled(*block.says) if block.says.words else ""
                console.print(text.Text.assemble((escape.terminal(block.name), "bold"), says))
            case Sentence():
                console.print(_styled(*block))
            case Bullets():
                for line in block.lines:
                    console.print(_bullet(line, block.status, console))
            case Table():
                _show_table(block, console)
            case Note():
                console.print(_styled(block.text, Status.QUIET))
            case Verbatim():
                console.print(text.Text(escape.verbatim(block.text)), soft_wrap=True)


def _bullet(line: str, status: Status, console: Console) -> text.Text | table.Table:
    """A line with its mark; one that is broken continues beside the mark."""
    if console.soft_wrap:
        return text.Text.assemble(_styled("  - ", status), _styled(line, status))
    grid = table.Table.grid("", table.Column(overflow="fold"), padding=(0, 1, 0, 0))
    grid.add_row(_styled("  -", status), _styled(line, status))
    return grid


def _show_table(block: Table, console: Console) -> None:
    if drawn := _drawn(block, console):
        for part in drawn:
            console.print(part, soft_wrap=False)
        return
    if block.title:
        console.print(text.Text(escape.terminal(block.title), "bold"))
    for row in block.rows:
        console.print()
        for column, cell in zip(block.columns, row, strict=True):
            words = _cell(cell, console)
            if isinstance(words, text.Text) and words:
                console.print(text.Text.assemble(_heading(column, ": "), words))
    console.print()


class _Width(NamedTuple):
    least: int  # Its longest word, and of a number all.
    wanted: int  # Without a line break.


def _drawn(block: Table, console: Console) -> list[table.Table]:
    """The table, split if it consists of numbers and is too wide; empty where its words do not fit.

    Each part repeats the first column. Headings of numbers may take several lines.
    """
    cells = [[_cell(cell, console) for cell in row] for row in block.rows]
    widths = [_width(column, [row[number] for row in cells]) for number, column in enumerate(block.columns)]
    parts: list[list[int]] = [[]]
    for number in range(len(widths)):
        if _room([*parts[-1], number], widths, console.width) >= 0:
            parts[-1].append(number)
        elif len(parts[-1]) > 1 and _of_numbers(block) and _room([0, number], widths, console.width) >= 0:
            parts.append([0, number])
        else:
            return []
    drawn = [_table(block, cells, _shared(part, widths, console.width)) for part in _even(parts, widths, console.width)]
    drawn[0].title = text.Text(escape.terminal(block.title), "bold") if block.title else None
    return drawn


def _even(parts: list[list[int]], widths: list[_Width], width: int) -> list[list[int]]:
    """The same number of parts, with columns spread evenly if they fit."""
    others = [number for part in parts for number in part if number]
    size = -(-len(others) // len(parts))
    alike = [[0, *others[start : start + size]] for start in range(0, len(others), size)]
    return alike if len(parts) > 1 and all(_room(part, widths, width) >= 0 for part in alike) else parts


def _of_numbers(block: Table) -> bool:
    """Whether all columns are numbers but the first, which names the rows, and perhaps the last."""
    return len(block.columns) > 1 and all(column.number for column in block.columns[1 : max(2, len(block.columns) - 1)])


def _room(part: list[int], widths: list[_Width], width: int) -> int:
    """Width of the terminal that the columns leave over; negative where they do not fit."""
    return width + 1 - 3 * len(part) - sum(widths[number].least for number in part)


def _shared(part: list[int], widths: list[_Width], width: int) -> dict[int, int]:
    """The width of each column: those that need least come first, and the others share what they leave."""
    room, own = _room(part, widths, width), {number: widths[number].least for number in part}
    growing = sorted((widths[number].wanted - widths[number].least, number) for number in part)
    for left, (wanted, number) in zip(range(len(part), 0, -1), growing, strict=True):
        more = max(0, min(wanted, room // left))
        own[number] += more
        room -= more
    return own


def _table(block: Table, cells: list[list[_Shown]], widths: dict[int, int]) -> table.Table:
    drawn = table.Table(title_justify="left", title_style="bold", box=SIMPLE_HEAD)
    drawn.pad_edge, drawn.show_header = False, any(column.heading for column in block.columns)
    for number, own in widths.items():
        column = block.columns[number]
        drawn.add_column(_heading(column), justify="right" if column.number else "left", width=own)
    for row in cells:
        drawn.add_row(*(row[number] for number in widths))
    return drawn


def _width(column: Column, cells: list[_Shown]) -> _Width:
    heading, sizes = _sizes(_heading(column)), [_sizes(cell) for cell in cells]
    whole, word = max((size[0] for size in sizes), default=0), max(size[1] for size in (heading, *sizes))
    return _Width(max(whole, word) if column.number else word, max(whole, *heading))


def _heading(column: Column, ending: str = "") -> text.Text:
    return text.Text(escape.terminal(column.heading) + ending if column.heading else "")


def _sizes(cell: _Shown) -> tuple[int, int]:
    if isinstance(cell, bar.Bar):
        return _BAR, _BAR
    return cell.cell_len, max(map(cell_len, cell.plain.split()), default=0)


def _cell(cell: Cell, console: Console) -> _Shown:
    if isinstance(cell, Bar):
        plain = text.Text("#" * round(cell.share * _BAR))
        return plain if console.options.ascii_only else bar.Bar(1, 0, cell.share, width=_BAR)
    return _styled(cell) if isinstance(cell, str) else _styled(*cell)


def _styled(words: str, status: Status = Status.NEUTRAL) -> text.Text:
    return text.Text(escape.terminal(words), style=STYLES[status])
