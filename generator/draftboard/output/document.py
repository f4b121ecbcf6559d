"""What a command says, as data: printed on a terminal or as Markdown by the modules beside this one."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from draftboard.status import Status


@dataclass(frozen=True)
class Text:
    """Words with a meaning, which a terminal shows as a colour."""

    words: str
    status: Status = Status.NEUTRAL


@dataclass(frozen=True)
class Bar:
    """A share, 0 to 1, drawn as a bar on a terminal. Markdown leaves its column out."""

    share: float


Cell = str | Text | Bar


@dataclass(frozen=True)
class Heading:
    """The name of what follows, and what is concluded about it."""

    name: str
    says: Text = Text("")


@dataclass(frozen=True)
class Sentence:
    """A line of text."""

    text: str
    status: Status = Status.NEUTRAL


@dataclass(frozen=True)
class Bullets:
    """A list of sentences."""

    lines: tuple[str, ...]
    status: Status = Status.NEUTRAL


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    heading: str
    number: bool = False
    """Aligned to the right and never broken."""


@dataclass(frozen=True)
class Table:
    """Rows of cells, as many in each as there are columns."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    title: str = ""


@dataclass(frozen=True)
class Note:
    """What limits the figures above: assumptions, rules of thumb."""

    text: str


@dataclass(frozen=True)
class Verbatim:
    """Text to copy as it is, such as a command line."""

    text: str


Block = Heading | Sentence | Bullets | Table | Note | Verbatim


@dataclass(frozen=True)
class Document:
    """Blocks in the order of reading."""

    blocks: tuple[Block, ...] = field(default=())

    @classmethod
    def of(cls, blocks: Iterable[Block]) -> "Document":
        """A document of those blocks that say anything: empty lists, tables and sentences are left out."""
        return cls(tuple(block for block in blocks if _says_something(block)))


def columns(*words: str, numbers: Iterable[str] = ()) -> tuple[Column, ...]:
    """Columns of words, then columns of numbers."""
    return (*(Column(word) for word in words), *(Column(number, number=True) for number in numbers))


def _says_something(block: Block) -> bool:
    match block:
        case Bullets():
            return bool(block.lines)
        case Table():
            return bool(block.rows)
        case Heading():
            return True
        case Sentence() | Note() | Verbatim():
            return bool(block.text)
