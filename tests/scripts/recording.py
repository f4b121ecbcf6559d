"""Draw what `make demo` prints as docs/pictures/demo.svg, without the tables that repeat it by depth and by latency."""

import io
import os
import re
import subprocess
import sys

from rich.console import Console
from rich.text import Text

from conftest import ROOT, program

PICTURE = ROOT / "docs/pictures/demo.svg"
WIDTH = 116
SHOWN = ("Does it pay?", "How much?", "Alerts that would have fired", "From counter to webhook")
# Rich's own frame fetches a font.
FRAME = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace;
font-size: {char_height}px; line-height: {line_height}px; }}
.{unique_id}-title {{ font-size: 18px; font-weight: bold; font-family: sans-serif; }}
{styles}
</style>
<defs><clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/></clipPath>
{lines}</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">{matrix}</g>
</g>
</svg>
"""


def printed() -> str:
    """What the demo prints into a terminal that knows colours."""
    programs = {name.upper(): str(program(name)) for name in ("prometheus", "promtool", "alertmanager")}
    done = subprocess.run(
        [sys.executable, "-m", "draftboard", "demo"],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **programs, "FORCE_COLOR": "1", "TERM": "xterm-256color", "COLUMNS": str(WIDTH)},
    )
    return done.stdout


def shown(text: str) -> Text:
    """The first section of each name, up to the sentences below its table."""
    lines = Text.from_ansi(text).split(allow_blank=True)
    found = Text("$ make demo\n\n")
    for name in SHOWN:
        start = next(number for number, line in enumerate(lines) if line.plain.strip() == name)
        end = start + 2
        while end < len(lines) and re.match(r"$| [^ ]| {10}", lines[end].plain.rstrip()) and lines[end].plain.strip():
            end += 1
        found.append_text(Text("\n").join(lines[start:end])).append("\n\n")
    return found


if __name__ == "__main__":
    console = Console(record=True, width=WIDTH, file=io.StringIO())
    console.print(shown(printed()), end="", no_wrap=True, overflow="ellipsis")
    PICTURE.write_text(console.export_svg(title="make demo", code_format=FRAME, unique_id="demo"))
