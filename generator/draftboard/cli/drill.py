"""`drill`: does an alert reach its receiver?"""

import json
from pathlib import Path

import click
from rich.table import Table

from draftboard.alerts import load
from draftboard.cli.shared import config_option, console, factor_option, json_option, program_option, progress_bar
from draftboard.lab import drill


@click.command("drill")
@click.argument("scenario")
@config_option
@json_option
@factor_option
@program_option("prometheus")
@program_option("alertmanager")
def drill_command(
    scenario: str, config: Path | None, *, as_json: bool, speed: float, prometheus: Path, alertmanager: Path
) -> None:
    """Live through SCENARIO with real servers, and see every alert that it names arrive: exit 0 if so, else 1.

    SCENARIO is a name or a TOML file, as for `simulate`. Simulator, Prometheus, Alertmanager and a webhook run on
    loopback for as long as it takes, with the configuration that `build` writes; nobody is woken.
    """
    with progress_bar() as progress:
        outcome = drill.rehearse(
            scenario, load(config), drill.Programs(prometheus, alertmanager), speed=speed, progress=progress
        )
    if as_json:
        click.echo(json.dumps(outcome.as_json(), indent=2))
    else:
        _show(outcome)
    if not outcome.passed:
        raise SystemExit(1)


def _show(outcome: drill.Drill) -> None:
    paper = console()
    table = Table("Alert", "Reached", "After", "Says", box=None, title="From counter to webhook", title_justify="left")
    for one in outcome.told:
        if one.after_seconds is None:
            table.add_row(one.alert, "nobody", "-", "It did not arrive in time.")
        else:
            table.add_row(one.alert, f"receiver {one.receiver}", f"{one.after_seconds:.1f} s", one.says)
    paper.print(table)
    for name in outcome.others:
        paper.print(f"{name} arrived too, which the scenario does not expect.", soft_wrap=True)
    paper.print(
        f"The time of the scenario ran {outcome.speed:g} times as fast, and holds and windows are those of the "
        "settings: on a real server the same takes as long as its alert's patience.",
        soft_wrap=True,
    )
