"""A document as Markdown, for a pull request or a chat."""

from draftboard.output.document import Bar, Block, Bullets, Cell, Document, Heading, Note, Sentence, Table, Verbatim
from draftboard.output.escape import fence, log, markdown, markdown_block


def as_markdown(document: Document) -> str:
    """Headings, lists and tables; a blank line after each block."""
    return log("\n\n".join(_block(block) for block in document.blocks) + "\n")


def _block(block: Block) -> str:
    match block:
        case Heading():
            says = f": {markdown(block.says.words)}" if block.says.words else ""
            return f"## {markdown_block(block.name)}{says}"
        case Sentence():
            return markdown_block(block.text)
        case Bullets():
            return "\n".join(f"- {markdown_block(line)}" for line in block.lines)
        case Table():
            return _table(block)
        case Note():
            return f"*{markdown_block(block.text)}*"
        case Verbatim():
            return fence(block.text)


def _table(table: Table) -> str:
    """Markdown needs a header line; a column of bars is left out."""
    shown = [i for i in range(len(table.columns)) if not any(isinstance(row[i], Bar) for row in table.rows)]
    columns = [table.columns[i] for i in shown]
    lines = [
        [markdown(column.heading) for column in columns],
        ["---:" if column.number else "---" for column in columns],
        *([markdown(_words(row[i])) for i in shown] for row in table.rows),
    ]
    title = f"**{markdown_block(table.title)}**\n\n" if table.title else ""
    return title + "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _words(cell: Cell) -> str:
    return "" if isinstance(cell, Bar) else cell if isinstance(cell, str) else cell.words
