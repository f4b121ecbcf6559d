"""`experiment`: a switchback on one fleet, planned and read."""

import time
from functools import partial
from pathlib import Path

import click

from draftboard.cli import shared
from draftboard.cli.shared import FILE, require
from draftboard.durations import Duration

_LEAST, _MOST = 16, 500  # With fewer pairs no interval has an end.


@click.group("experiment")
def experiment() -> None:
    """Plan and read an experiment on one fleet: two ways to serve, in blocks of time in random order."""


def _arm(_context: click.Context, _option: click.Parameter, given: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    parts = [text.partition("=") for text in given]
    if len(parts) != len(("baseline", "other")) or not all(
        name.strip() and command.strip() for name, _, command in parts
    ):
        raise click.BadParameter("give two, each as NAME=COMMAND: first the baseline")
    return tuple((name.strip(), command.strip()) for name, _, command in parts)


@experiment.command("plan")
@click.argument("file", type=FILE, metavar="PLAN.json")
@click.option(
    "--arm",
    "arms",
    multiple=True,
    callback=_arm,
    metavar="NAME=COMMAND",
    help="An arm, and what switches to it; twice.",
)
@shared.duration_option("--block", words="Length of a block. Default: 20m.", longest="7d")
@shared.duration_option(
    "--washout", words="Begin of a block that does not count. Default: a quarter of it.", longest="7d"
)
@click.option("--pairs", type=click.IntRange(_LEAST, _MOST), default=24, show_default=True, help="Pairs of blocks.")
@click.option("--start", type=float, metavar="SECONDS", help="Unix time of the first block. Default: in a minute.")
@shared.force_option
@shared.output_options
def plan_command(
    *,
    file: Path,
    arms: tuple[tuple[str, str], tuple[str, str]],
    block: Duration | None,
    washout: Duration | None,
    pairs: int,
    start: float | None,
    force: bool,
) -> None:
    """Draw the order of blocks, save it as PLAN.json, and print what to run when. Runs nothing."""
    from draftboard import experiment as room
    from draftboard.files import require_new

    require_new(file, force=force)
    seconds = block.seconds if block else 1200.0
    first, second = (room.Arm(name, command) for name, command in arms)
    drawn = room.plan(
        (first, second),
        start=time.time() + 60 if start is None else start,
        block=seconds,
        washout=washout.seconds if washout else seconds / 4,
        pairs=pairs,
    )
    room.save(drawn, file)
    shared.print_result(drawn, partial(room.planned, drawn))


@experiment.command("read")
@click.argument("file", type=FILE, metavar="PLAN.json")
@click.option("--prometheus", metavar="URL", required=True, help="The Prometheus that scrapes the fleet.")
@click.option("--model", default="", help="Served model name. Default: all requests of the fleet.")
@shared.access_options()
@shared.config_option
@shared.output_options
def read_command(
    *, file: Path, prometheus: str, model: str, token_file: Path | None, ca_file: Path | None, config: Path | None
) -> None:
    """Say what the blocks so far show, and whether to stop. Valid however often it is called."""
    from draftboard import experiment as room
    from draftboard.access import Access
    from draftboard.alerts import load
    from draftboard.cli import screen
    from draftboard.reading import Recorded

    settings, planned = load(config), room.load(file)
    require(planned.start < time.time(), "the experiment has not begun")
    source = Recorded(prometheus, None, model, None, Access.from_files(token_file, ca_file))
    with screen.progress_bar() as progress:
        result = room.read(planned, source, settings, time.time() - settings.rules.scrape_interval.seconds, progress)
    shared.print_result(result, partial(room.read_out, result, planned))
