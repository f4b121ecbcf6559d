"""Draw the pictures of the documentation: every dashboard, small, into a folder: `make pictures`."""

import sys
from pathlib import Path

from PIL import Image

from conftest import OBJECTIVES, ROOT
from draftboard.build import render
from draftboard.settings import load
from grafana.past import serving
from grafana.views import WIDTHS, View, show
from support import grafana

BUILD = ROOT / "build/grafana"
COLOURS, WIDTH = 64, 1200
LARGEST = 150_000


def main(folder: Path) -> None:
    """Of each page that reads records: its open rows, in the dark theme."""
    settings = load(OBJECTIVES)
    built = render(settings)
    paths = [path for path in grafana.dashboards(built) if "standalone" not in path]
    views = [View(path, WIDTHS[0], expanded=False) for path in paths]
    folder.mkdir(parents=True, exist_ok=True)
    with serving(BUILD / "past", settings) as past:
        for view in show(views, built, past, BUILD / "pictures", pictures=True):
            out = folder / f"{Path(view.path).stem}.png"
            small(BUILD / "pictures" / f"{view.name}.png", out)
            sys.stdout.write(f"{out}: {out.stat().st_size // 1000} kB\n")


def small(source: Path, out: Path) -> None:
    """A copy of fewer pixels and colours, cut off at the bottom where it would still be too large."""
    with Image.open(source) as picture:
        scaled = picture.convert("RGB").resize((WIDTH, round(picture.height * WIDTH / picture.width)))
    height = scaled.height
    while True:
        cut = scaled.crop((0, 0, WIDTH, height)).quantize(COLOURS, dither=Image.Dither.NONE)
        cut.save(out, optimize=True)
        if out.stat().st_size <= LARGEST:
            return
        height = height * 4 // 5


if __name__ == "__main__":
    main(Path(sys.argv[1]))
