"""A document as Markdown, for a pull request or a chat."""

from draftboard.output.document import Bar, Block, Bullets, Cell, Document, Heading, Note, Sentence, Table, Verbatim


def as_markdown(document: Document) -> str:
    """Headings, lists and tables; a blank line after each block."""
    return "\n\n".join(_block(block) for block in document.blocks) + "\n"


def plain(words: str) -> str:
    """Names come from servers: they must not become markup."""
    return "".join(f"\\{character}" if character in "\\`*_[]<>|#" else character for character in words)


def _block(block: Block) -> str:
    match block:
        case Heading():
            says = f": {plain(block.says.words)}" if block.says.words else ""
            return f"## {plain(block.name)}{says}"
        case Sentence():
            return plain(block.text)
        case Bullets():
            return "\n".join(f"- {plain(line)}" for line in block.lines)
        case Table():
            return _table(block)
        case Note():
            return f"*{plain(block.text)}*"
        case Verbatim():
            return f"```\n{block.text.rstrip()}\n```"


def _table(table: Table) -> str:
    """Markdown needs a header line; a column of bars is left out."""
    shown = [i for i in range(len(table.columns)) if not any(isinstance(row[i], Bar) for row in table.rows)]
    columns = [table.columns[i] for i in shown]
    lines = [
        [plain(column.heading) for column in columns],
        ["---:" if column.number else "---" for column in columns],
        *([plain(_words(row[i])) for i in shown] for row in table.rows),
    ]
    title = f"**{plain(table.title)}**\n\n" if table.title else ""
    return title + "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _words(cell: Cell) -> str:
    return "" if isinstance(cell, Bar) else cell if isinstance(cell, str) else cell.words
