"""What a panel has become: a picture or words, ready for the page."""

from dataclasses import dataclass
from typing import ClassVar

from draftboard.preview.values import Shown


@dataclass(frozen=True)
class LegendRow:
    """A series, its colour, and its calculated values."""

    name: str
    colour: str
    values: tuple[Shown, ...] = ()


@dataclass(frozen=True)
class Legend:
    """The series of a picture; without headings of calculations a list."""

    rows: tuple[LegendRow, ...]
    headings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Chart:
    """A picture with its legend below."""

    kind: ClassVar[str] = "chart"
    picture: str
    """SVG as a data URI, which holds all that it shows."""
    height: int
    marks: int
    """How many points, bars, bands or cells were drawn."""
    legend: Legend | None = None


@dataclass(frozen=True)
class Stat:
    """One value, large."""

    value: Shown
    name: str
    font: int
    """Pixels."""


@dataclass(frozen=True)
class Stats:
    """Values side by side, or below each other."""

    kind: ClassVar[str] = "stats"
    cells: tuple[Stat, ...]
    side_by_side: bool

    @property
    def marks(self) -> int:
        """A mark a value."""
        return len(self.cells)


@dataclass(frozen=True)
class Gauge:
    """One value as the part of a bar."""

    value: Shown
    name: str
    share: float
    """From 0 to 1."""


@dataclass(frozen=True)
class Gauges:
    """Bars below each other."""

    kind: ClassVar[str] = "gauges"
    cells: tuple[Gauge, ...]

    @property
    def marks(self) -> int:
        """A mark a bar."""
        return len(self.cells)


@dataclass(frozen=True)
class Cell:
    """One cell of a table."""

    value: Shown
    number: bool


@dataclass(frozen=True)
class Table:
    """Rows below headings."""

    kind: ClassVar[str] = "table"
    headings: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    @property
    def marks(self) -> int:
        """A mark a row."""
        return len(self.rows)


@dataclass(frozen=True)
class Words:
    """A text, or what is said where there is nothing to draw."""

    kind: ClassVar[str] = "words"
    text: str
    empty: bool
    marks: ClassVar[int] = 0


Body = Chart | Stats | Gauges | Table | Words
