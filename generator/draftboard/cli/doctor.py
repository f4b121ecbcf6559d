"""`doctor`: is everything in place, and what is missing?"""

from pathlib import Path

import click

from draftboard import doctor
from draftboard.cli.shared import console, json_option
from draftboard.settings import load


@click.command("doctor")
@click.option("--config", metavar="JSON", help="Examine the value of vLLM's --speculative-config.")
@click.option("--command", metavar="COMMANDLINE", help="Examine a command line that starts a vLLM server.")
@click.option("--settings", type=click.Path(path_type=Path), help="Settings that overlay the defaults, as TOML.")
@json_option
def doctor_command(config: str | None, command: str | None, settings: Path | None, *, as_json: bool) -> None:
    """Say what is wrong, where, and what to do: 0 all well, 1 problems or warnings, 2 cannot look."""
    chosen = load(settings)
    examinations = []
    if config is not None:
        examinations.append(doctor.examine_config(config, chosen))
    if command is not None:
        examinations.append(doctor.examine_command(command, chosen))
    if not examinations:
        raise click.UsageError("nothing to look at: give --config or --command")
    if as_json:
        click.echo(doctor.as_json(examinations))
    else:
        doctor.show(examinations, console())
    if not all(examination.content for examination in examinations):
        raise SystemExit(1)
