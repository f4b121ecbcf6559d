"""What a command prints, as data."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from draftboard.status import Status


class Text(NamedTuple):
    """Words with a meaning, which a terminal shows as a colour."""

    words: str
    status: Status = Status.NEUTRAL


class Bar(NamedTuple):
    """A share, 0 to 1, drawn as a bar on a terminal. Markdown leaves its column out."""

    share: float


Cell = str | Text | Bar
Progress = Callable[[str, int, int], None]
"""Called with what a long task does, the steps done and their number."""


def no_progress(_what: str, _done: int, _total: int) -> None:
    """Show nothing."""


class Heading(NamedTuple):
    """The name of what follows, and what is concluded about it."""

    name: str
    says: Text = Text("")


class Sentence(NamedTuple):
    """A line of text."""

    text: str
    status: Status = Status.NEUTRAL


class Bullets(NamedTuple):
    """A list of sentences."""

    lines: tuple[str, ...]
    status: Status = Status.NEUTRAL


class Column(NamedTuple):
    """A column of a table."""

    heading: str
    number: bool = False  # Aligned to the right and never broken.


class Table(NamedTuple):
    """Rows of cells, as many in each as there are columns."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    title: str = ""


class Note(NamedTuple):
    """What limits the figures above: assumptions, rules of thumb."""

    text: str


class Verbatim(NamedTuple):
    """Text to copy as it is, such as a command line."""

    text: str


Block = Heading | Sentence | Bullets | Table | Note | Verbatim


@dataclass(frozen=True)
class Document:
    """Blocks in the order of reading."""

    blocks: tuple[Block, ...] = ()

    @classmethod
    def of(cls, blocks: Iterable[Block]) -> "Document":
        """A document without empty lists, tables and sentences."""
        contents = ((block, block.rows if isinstance(block, Table) else block[0]) for block in blocks)
        return cls(tuple(block for block, content in contents if content or isinstance(block, Heading)))


def columns(*words: str, numbers: Iterable[str] = ()) -> tuple[Column, ...]:
    """Columns of words, then columns of numbers."""
    return (*(Column(word) for word in words), *(Column(number, number=True) for number in numbers))


def shortened(names: Sequence[str], most: int = 4, where: str = "", between: str = ", ") -> str:
    """The first names, how many more there are, and `where` they are."""
    more = len(names) - most
    return between.join(names[:most]) + (f" and {more} more{where}" if more > 0 else "")
