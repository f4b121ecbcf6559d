"""`simulate`: servers that behave like vLLM, live or as a past."""

import signal
import threading
import time
from pathlib import Path
from types import ModuleType

import click
from rich.table import Table

from draftboard.cli.shared import console, duration, factor_option, optional_part, progress_bar, require
from draftboard.durations import Duration
from draftboard.errors import DraftboardError
from draftboard.lab.replay.recording import LATEST
from draftboard.lab.simulator import Scenario, find, names

_STEP = Duration(15)


@click.command()
@click.option("--list", "listed", is_flag=True, help="List the scenarios that come with Draftboard.")
@click.option("--scenario", metavar="NAME|FILE.toml", default="healthy-eagle3", show_default=True, help="What to tell.")
@click.option(
    "--engines", type=click.IntRange(1, 1000), help="Engines of each kind of server, instead of its own number."
)
@click.option("--models", type=click.IntRange(1, 100), default=1, show_default=True, help="Tell it of so many models.")
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="Same seed, same numbers.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen: 0.0.0.0 inside a container.")
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=8000,
    show_default=True,
    help="Of the first server; each further one has the next. 0 takes free ones.",
)
@factor_option
@click.option("--backfill", metavar="DURATION", callback=duration, help="Write so long a past instead of serving.")
@click.option("--step", metavar="DURATION", callback=duration, help=f"Between scrapes of the past. Default: {_STEP}.")
@click.option("--until", type=click.IntRange(0, LATEST), help="Unix time at which the past ends. Default: now.")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="File for the past, as OpenMetrics.")
def simulate(
    *,
    listed: bool,
    scenario: str,
    engines: int | None,
    models: int,
    seed: int,
    host: str,
    port: int,
    speed: float,
    backfill: Duration | None,
    step: Duration | None,
    until: int | None,
    out: Path | None,
) -> None:
    """Serve the pages of servers that behave like vLLM, or write their past for `promtool`."""
    if listed:
        _list()
        return
    if not host:
        raise click.UsageError("--host is empty: name an address, such as 127.0.0.1")
    if (backfill is None) != (out is None):
        raise click.UsageError("--backfill and --out go together")
    require(backfill or (step is None and until is None), "--step and --until go with --backfill: nobody scrapes here")
    told = find(scenario).scaled(engines=engines, models=models)
    if backfill is None or out is None:
        _serve(told, seed, host, port, speed)
    else:
        _backfill(told, seed, (backfill, step or _STEP, until), out)


def _list() -> None:
    table = Table("Scenario", "Lasts", "Alerts", "Story", box=None)
    for name in names():
        told = find(name)
        alerts = ", ".join(dict.fromkeys(expected.alert for expected in told.expect)) or "-"
        table.add_row(name, str(told.duration), alerts, " ".join(told.story.split()))
    console().print(table)


def _serve(told: Scenario, seed: int, host: str, port: int, speed: float) -> None:
    """Until told to end, which is how a server ends well: exit code 0."""
    fleet, serve = _part("fleet"), _part("serve")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with serve.serving(fleet.targets(told, seed), serve.Address(host, port), speed) as places:
            for place in places:
                click.echo(f"http://{place}/metrics")
            click.echo(f"All of them, for Prometheus' http_sd_configs: http://{places[0]}/targets")
            threading.Event().wait()
    except KeyboardInterrupt:
        click.echo("Ended.", err=True)


def _backfill(told: Scenario, seed: int, span: tuple[Duration, Duration, int | None], out: Path) -> None:
    lasting, step, until = span
    end = int(time.time()) // step.seconds * step.seconds if until is None else until
    start = end - lasting.seconds // step.seconds * step.seconds
    if start < 0:
        raise DraftboardError(f"--backfill {lasting} --until {end}: the past would begin before 1970")
    fleet, past = _part("fleet"), _part("backfill")
    with progress_bar() as progress:
        past.backfill(fleet.targets(told, seed), past.Past(start, end, step.seconds), out, progress)
    click.echo(f"Written: {out}. Load it with: promtool tsdb create-blocks-from openmetrics {out} DATA")


def _part(name: str) -> ModuleType:
    return optional_part(f"draftboard.lab.simulator.{name}", command="simulate", extra="simulator")
