"""`drill`: does an alert reach its receiver?"""

from pathlib import Path

import click

from draftboard.alerts import load
from draftboard.cli.shared import config_option, console, factor_option, json_option, program_option, progress_bar
from draftboard.lab import drill
from draftboard.output import as_json as to_json
from draftboard.output import show


@click.command("drill", short_help="Run a scenario and check that its alerts arrive.")
@click.argument("scenario")
@config_option
@json_option
@factor_option
@program_option("prometheus")
@program_option("alertmanager")
def drill_command(
    scenario: str, config: Path | None, *, as_json: bool, speed: float, prometheus: Path, alertmanager: Path
) -> None:
    """Run SCENARIO on real servers and check that every expected alert arrives: exit code 0 if so, else 1.

    SCENARIO is a name or a TOML file, as for `simulate`. Simulator, Prometheus, Alertmanager and a webhook run on
    loopback until the scenario ends, with the configuration that `build` writes. No other receiver is notified.
    """
    programs = drill.Programs(prometheus, alertmanager)
    with progress_bar() as progress:
        outcome = drill.rehearse(scenario, load(config), programs, speed=speed, progress=progress)
    if as_json:
        click.echo(to_json(outcome))
    else:
        show(drill.shown(outcome), console())
    if not outcome.passed:
        raise SystemExit(1)
