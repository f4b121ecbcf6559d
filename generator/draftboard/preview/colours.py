"""Grafana's colours by name, as its dark theme shows them."""

from collections.abc import Iterable, Iterator
from itertools import cycle

from matplotlib.colors import is_color_like

BACKGROUND = "#181b1f"
TEXT = "#ccccdc"
FAINT = "#8e8ea0"
GRID = "#2c3036"

_SHADES = ("super-light-", "light-", "", "semi-dark-", "dark-")
_HUES = {
    "red": ("#ffa6b0", "#ff7383", "#f2495c", "#e02f44", "#c4162a"),
    "orange": ("#ffcb7d", "#ffb357", "#ff9830", "#ff780a", "#fa6400"),
    "yellow": ("#fff899", "#ffee52", "#fade2a", "#f2cc0c", "#e0b400"),
    "green": ("#c8f2c2", "#96d98d", "#73bf69", "#56a64b", "#37872d"),
    "blue": ("#c0d8ff", "#8ab8ff", "#5794f2", "#3274d9", "#1f60c4"),
    "purple": ("#deb6f2", "#ca95e5", "#b877d9", "#a352cc", "#8f3bb8"),
}
_BY_NAME = {"text": TEXT} | {
    shade + hue: colour for hue, colours in _HUES.items() for shade, colour in zip(_SHADES, colours, strict=True)
}
_SERIES = ("green", "yellow", "blue", "orange", "red", "purple")


def colour(name: str) -> str:
    """A colour to draw with; an unknown name is shown as text is."""
    return _BY_NAME.get(name) or (name if is_color_like(name) else TEXT)


def of_series(fixed: Iterable[str]) -> Iterator[str]:
    """A colour for each series: what is fixed for it, else the next of the palette: bright, then dark, then pale."""
    palette = cycle(_BY_NAME[shade + hue] for shade in ("", "dark-", "super-light-") for hue in _SERIES)
    return (colour(name) if name else drawn for name, drawn in zip(fixed, palette, strict=False))
