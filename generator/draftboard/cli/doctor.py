"""`doctor`: is everything in place, and what is missing?"""

import time
from pathlib import Path

import click

from draftboard import doctor
from draftboard.access import Access
from draftboard.alerts import load
from draftboard.cli.shared import FILE, access_options, at_option, console, json_option, progress_bar, require, wait
from draftboard.durations import Duration
from draftboard.prometheus import Client

_WINDOW = Duration(10)


@click.command("doctor")
@click.argument("sources", nargs=-1, metavar="[SOURCE]...")
@click.option(
    "--window",
    metavar="DURATION",
    callback=wait,
    help=f"Between two readings of a server. Default: {_WINDOW}.",
)
@click.option("--prometheus", metavar="URL", help="Examine what a Prometheus scrapes, holds and evaluates.")
@at_option
@click.option("--config", metavar="JSON", help="Examine the value of vLLM's --speculative-config.")
@click.option("--command", metavar="COMMANDLINE", help="Examine a command line that starts a vLLM server.")
@click.option("--settings", type=FILE, help="Settings that overlay the defaults, as TOML.")
@access_options()
@json_option
def doctor_command(
    *,
    sources: tuple[str, ...],
    window: Duration | None,
    prometheus: str | None,
    at: float | None,
    config: str | None,
    command: str | None,
    settings: Path | None,
    token_file: Path | None,
    ca_file: Path | None,
    as_json: bool,
) -> None:
    """Say what is wrong, where, and what to do: 0 all well, 1 problems or warnings, 2 cannot look.

    SOURCE is a vLLM server's address or a page of it that was saved.
    """
    require(at is None or prometheus is not None, "--at goes with --prometheus: servers are read now")
    require(window is None or sources, "--window goes with servers: name one")
    require(
        not (token_file or ca_file) or prometheus is not None or sources,
        "--token-file and --ca-file go with servers and --prometheus: name one",
    )
    chosen, access = load(settings), Access.from_files(token_file, ca_file)
    examinations: list[doctor.Examination] = []
    if config is not None:
        examinations.append(doctor.examine_config(config, chosen))
    if command is not None:
        examinations.append(doctor.examine_command(command, chosen))
    if prometheus is not None:
        with Client(prometheus, access) as client:
            examinations.append(doctor.examine_prometheus(client, chosen, time.time() if at is None else at))
    if sources:
        with progress_bar() as progress:
            found = doctor.examine_sources(sources, chosen, window=window or _WINDOW, access=access, progress=progress)
            examinations.extend(found)
    if not examinations:
        raise click.UsageError("nothing to look at: give a SOURCE, --prometheus, --config or --command")
    if as_json:
        click.echo(doctor.as_json(examinations))
    else:
        doctor.show(examinations, console())
    if not all(examination.content for examination in examinations):
        raise SystemExit(1)
