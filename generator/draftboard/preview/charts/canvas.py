"""A picture in the making: its size, its axes, and the finished SVG."""

import base64
import io
import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from draftboard.preview.colours import BACKGROUND, FAINT, GRID, TEXT
from draftboard.preview.document import Fields
from draftboard.preview.frames import printable
from draftboard.preview.times import Span
from draftboard.preview.units import trimmed

LETTER = 6.4
"""Pixels that a letter takes, about."""
_DPI = 100
_FONT_POINTS = 8
_STYLE: Any = {
    "axes.edgecolor": GRID,
    "axes.facecolor": BACKGROUND,
    "axes.labelcolor": FAINT,
    "figure.facecolor": BACKGROUND,
    "font.size": _FONT_POINTS,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "svg.fonttype": "none",
    "svg.hashsalt": "draftboard",
    "text.color": TEXT,
    # Labels are names, not formulas.
    "text.parse_math": False,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
}
_TIME_STEPS = (1, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400, 604_800)
_TIME_LABEL = 80
_EDGE = 14


@dataclass(frozen=True)
class Size:
    """Pixels."""

    width: int
    height: int


@dataclass
class Canvas:
    """One picture."""

    size: Size
    figure: Figure
    axes: Axes
    left: float = 10
    bottom: float = 24

    def times(self, span: Span) -> None:
        """Time across, in UTC."""
        most = max(2, self.size.width // _TIME_LABEL)
        step = next((step for step in _TIME_STEPS if span.seconds / step <= most), _TIME_STEPS[-1])
        # A name that would be cut off at the right edge is left out.
        last = span.end - span.seconds * _EDGE / self.size.width
        ticks = [tick * step for tick in range(-int(-span.start // step), int(last // step) + 1)]
        form = "%H:%M:%S" if step % 60 else "%H:%M" if step < _TIME_STEPS[-2] else "%m-%d"
        self.axes.set_xticks(ticks, [datetime.fromtimestamp(tick, UTC).strftime(form) for tick in ticks])
        self.axes.set_xlim(span.start, span.end)

    def values(self, numbers: Sequence[float], fields: Fields) -> None:
        """Numbers up, from the lowest to the highest that there are, or as the panel bounds them."""
        low, high = bounds(numbers, fields)
        self.axes.set_ylim(low, high)
        ticks = nice(low, high, max(2, self.size.height // 40), fields.unit)
        if fields.decimals == 0:
            ticks = [tick for tick in ticks if tick.is_integer()]
        names = [trimmed(tick, fields.unit) for tick in ticks]
        self.axes.set_yticks(ticks, names)
        self.room(names, fields.custom.axis_label)
        self.axes.grid(axis="y")

    def room(self, names: Sequence[str], title: str = "") -> None:
        """Room on the left for the names of ticks, and for a title beside them."""
        self.left = 12 + LETTER * max(map(len, names), default=0) + (16 if title else 0)
        if title:
            self.axes.set_ylabel(printable(title))
            self.axes.yaxis.set_label_coords(9 / self.size.width, 0.5, transform=self.figure.transFigure)

    def finished(self) -> str:
        """The picture as a data URI."""
        width, height = self.size.width, self.size.height
        wide = max(1.0, width - self.left - 12)
        self.axes.set_position(
            (self.left / width, self.bottom / height, wide / width, (height - self.bottom - 8) / height)
        )
        paper = io.BytesIO()
        self.figure.savefig(paper, format="svg", metadata={"Date": None, "Creator": None})
        return "data:image/svg+xml;base64," + base64.b64encode(paper.getvalue()).decode()


@contextmanager
def drawing(size: Size) -> Iterator[Canvas]:
    """An empty picture in the colours of the page."""
    with mpl.rc_context(_STYLE), warnings.catch_warnings():
        # The reader's browser has letters that matplotlib's font lacks: only their width is guessed.
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        figure = Figure(figsize=(size.width / _DPI, size.height / _DPI), dpi=_DPI)
        axes = figure.add_subplot()
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.tick_params(length=0, pad=5)
        axes.set_axisbelow(True)
        yield Canvas(size, figure, axes)


def nice(low: float, high: float, most: int, unit: str = "") -> list[float]:
    """Numbers within a range that are round in their unit."""
    size = 1024 ** math.floor(math.log(max(abs(low), abs(high)), 1024)) if unit == "bytes" and (low or high) else 1
    ticks = MaxNLocator(most, steps=[1, 2, 5, 10]).tick_values(low / size, high / size)
    return [float(tick) * size for tick in ticks if low <= tick * size <= high]


def bounds(numbers: Sequence[float], fields: Fields) -> tuple[float, float]:
    """Where an axis begins and ends: as the panel says, else around the numbers with a little room."""
    least, most = min(numbers), max(numbers)
    low = least if fields.min is None else fields.min
    high = most if fields.max is None else fields.max
    if high <= low:
        high = low + 1.0
    spread = high - low
    return low - (spread * 0.05 if fields.min is None else 0), high + (spread * 0.05 if fields.max is None else 0)


def shortened(text: str, pixels: float) -> str:
    """The text, or as much of it as has room."""
    letters = max(1, int(pixels / LETTER))
    return text if len(text) <= letters else text[: letters - 1] + "…"
