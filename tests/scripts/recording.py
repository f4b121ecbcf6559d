"""Draw what `make demo` prints as docs/pictures/demo.svg."""

import io

from rich.console import Console

from conftest import DEMO_SETTINGS, RECORDING, ROOT, program
from draftboard.cli.lab import DEMO_SHOWS
from draftboard.lab import drill, replay
from draftboard.output import show
from draftboard.settings import load

PICTURE = ROOT / "docs/pictures/demo.svg"
WIDTH = 100
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


def draw(console: Console) -> None:
    """Print both parts of the demo, each on real programs."""
    console.print("$ make demo\n", highlight=False)
    console.print("\n".join((*DEMO_SHOWS, "")), highlight=False)
    prometheus, promtool, alertmanager = map(program, ("prometheus", "promtool", "alertmanager"))
    with replay.replaying(RECORDING, load(DEMO_SETTINGS), prometheus=prometheus, promtool=promtool) as replayed:
        show(replay.brief(replay.story_of(replayed)), console)
    console.print()
    settings, programs = load(DEMO_SETTINGS.with_name("drill.toml")), drill.Programs(prometheus, alertmanager)
    scenario = str(DEMO_SETTINGS.with_name("drafter-breaks.toml"))
    show(drill.shown(drill.rehearse(scenario, settings, programs, speed=60.0)), console)


if __name__ == "__main__":
    paper = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    draw(paper)
    PICTURE.write_text(paper.export_svg(title="make demo", code_format=FRAME, unique_id="demo"))
