"""Draw the pictures of the documentation: every dashboard, small, into a folder: `make pictures`."""

import sys
from pathlib import Path
from typing import Any

from PIL import Image

from conftest import OBJECTIVES
from draftboard.build import render
from draftboard.settings import load
from grafana.past import BUILD, EVERYTHING, FLEET, serving
from grafana.views import CHOSEN, WIDTHS, View, show
from support import grafana

OF_FLEET = "dashboards/draftboard-fleet.json"
FREQUENT, COVERING = 64, 64  # colours
WIDTH = 1200
LARGEST = 150_000


def main(folder: Path) -> None:
    """Of each page, by preference as it reads records: its open rows, in the dark theme."""
    settings = load(OBJECTIVES)
    built = render(settings)
    paths = {
        _name(path): path for path in reversed(grafana.dashboards(built))
    }.values()  # Those without rules are last.
    folder.mkdir(parents=True, exist_ok=True)
    for story in (EVERYTHING, FLEET):
        views = [
            View(path, WIDTHS[0], expanded=False, search=CHOSEN.get(path, ""))
            for path in paths
            if (FLEET if path == OF_FLEET else EVERYTHING) is story
        ]
        with serving(BUILD / story.scenario.stem, settings, story) as past:
            for view in show(views, built, past, BUILD / "pictures", pictures=True):
                out = folder / f"{_name(view.path)}.png"
                small(BUILD / "pictures" / f"{view.name}.png", out)
                sys.stdout.write(f"{out}: {out.stat().st_size // 1000} kB\n")


def _name(path: str) -> str:
    return Path(path).stem.removesuffix("-raw")


def small(source: Path, out: Path) -> None:
    """A copy of fewer pixels and colours, cut off at the bottom where it would still be too large."""
    with Image.open(source) as picture:
        scaled = picture.convert("RGB").resize((WIDTH, round(picture.height * WIDTH / picture.width)))
    height = scaled.height
    while True:
        cut = scaled.crop((0, 0, WIDTH, height))
        cut.quantize(palette=_palette(cut), dither=Image.Dither.NONE).save(out, optimize=True)
        if out.stat().st_size <= LARGEST:
            return
        height = height * 9 // 10


def _palette(picture: Image.Image) -> Image.Image:
    """The most frequent colours as they are, and others that cover all: those of thin lines are rare."""
    found: list[tuple[int, Any]] = sorted(picture.getcolors(picture.width * picture.height) or [], reverse=True)
    frequent = [value for _, colour in found[:FREQUENT] for value in colour]
    covering = picture.quantize(COVERING, Image.Quantize.MAXCOVERAGE).getpalette() or []
    palette = Image.new("P", (1, 1))
    palette.putpalette(frequent + covering[: 3 * COVERING])
    return palette


if __name__ == "__main__":
    main(Path(sys.argv[1]))
