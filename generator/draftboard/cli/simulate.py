"""`simulate`: servers that behave like vLLM, live or as a past."""

import signal
import threading
import time
from pathlib import Path
from types import ModuleType

import click

from draftboard.cli.shared import console, duration, factor_option, optional_part, progress_bar, require
from draftboard.durations import LATEST, Duration
from draftboard.errors import DraftboardError
from draftboard.lab.simulator import Scenario, find, names
from draftboard.output import Block, Document, Heading, Sentence, show
from draftboard.status import Status

_STEP = Duration(15)


@click.command(short_help="Serve simulated vLLM /metrics pages, or write their history.")
@click.option("--list", "listed", is_flag=True, help="List the built-in scenarios.")
@click.option(
    "--scenario",
    metavar="NAME|FILE.toml",
    default="healthy-eagle3",
    show_default=True,
    help="Scenario to simulate: a built-in name or a TOML file.",
)
@click.option(
    "--engines", type=click.IntRange(1, 1000), help="Engines of each kind of server. Default: the scenario's."
)
@click.option("--models", type=click.IntRange(1, 100), default=1, show_default=True, help="Number of simulated models.")
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="Equal seeds give equal numbers.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on; 0.0.0.0 in a container.")
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=8000,
    show_default=True,
    help="Port of the first server; each further server has the next. 0: any free ports.",
)
@factor_option
@click.option(
    "--backfill", metavar="DURATION", callback=duration, help="Write this much history to --out instead of serving."
)
@click.option(
    "--step", metavar="DURATION", callback=duration, help=f"Scrape interval of the history. Default: {_STEP}."
)
@click.option("--until", type=click.IntRange(0, LATEST), help="Unix time at which the history ends. Default: now.")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="OpenMetrics file for the history.")
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
    """Serve the /metrics pages of simulated vLLM servers, or write their history for `promtool`."""
    if listed:
        show(_listed(), console())
        return
    if not host:
        raise click.UsageError("--host is empty: name an address, such as 127.0.0.1")
    if (backfill is None) != (out is None):
        raise click.UsageError("--backfill and --out go together")
    require(
        backfill or (step is None and until is None), "--step and --until need --backfill: a live server has neither"
    )
    scaled = find(scenario).scaled(engines=engines, models=models)
    if backfill is None or out is None:
        _serve(scaled, seed, host, port, speed)
    else:
        _backfill(scaled, seed, (backfill, step or _STEP, until), out)


def _listed() -> Document:
    """Every scenario: its name, length, alerts and story."""
    blocks: list[Block] = []
    for name in names():
        scenario = find(name)
        alerts = ", ".join(dict.fromkeys(expected.alert for expected in scenario.expect)) or "no alert"
        blocks += [
            Heading(name),
            Sentence(f"{scenario.duration}: {alerts}"),
            Sentence(" ".join(scenario.story.split()), Status.QUIET),
        ]
    return Document.of(blocks)


def _serve(scenario: Scenario, seed: int, host: str, port: int, speed: float) -> None:
    """Until SIGINT or SIGTERM: exit code 0. A shell's background process ignores the first, not the second."""
    fleet, serve = _part("fleet"), _part("serve")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with serve.serving(fleet.targets(scenario, seed), host, port, speed) as places:
            for place in places:
                click.echo(f"http://{place}/metrics")
            click.echo(f"All of them, for Prometheus' http_sd_configs: http://{places[0]}/targets")
            threading.Event().wait()
    except KeyboardInterrupt:
        click.echo("Ended.", err=True)


def _backfill(scenario: Scenario, seed: int, span: tuple[Duration, Duration, int | None], out: Path) -> None:
    lasting, step, until = span
    end = int(time.time()) // step.seconds * step.seconds if until is None else until
    start = end - lasting.seconds // step.seconds * step.seconds
    if start < 0:
        raise DraftboardError(f"--backfill {lasting} --until {end}: the history would begin before 1970")
    fleet, past = _part("fleet"), _part("backfill")
    with progress_bar() as progress:
        past.backfill(fleet.targets(scenario, seed), range(start, end + 1, step.seconds), out, progress)
    click.echo(f"Written: {out}. Load it with: promtool tsdb create-blocks-from openmetrics {out} DATA")


def _part(name: str) -> ModuleType:
    return optional_part(f"draftboard.lab.simulator.{name}", command="simulate", extra="lab")
