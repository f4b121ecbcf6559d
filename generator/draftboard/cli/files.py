"""`build`, `check` and `signals`: the files that Draftboard makes, and what is in them."""

import json
import shlex
from dataclasses import asdict
from pathlib import Path

import click
from rich.table import Table

from draftboard import build as build_room
from draftboard.cli.shared import config_option, console, json_option
from draftboard.settings import load

_SCHEMA_VERSION = 1
"""Of the JSON of `signals`: raised when a key changes its meaning or goes."""
out_option = click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder that holds dashboards/ and alerts/. Default: the repository you stand in, else this folder.",
)


@click.command()
@config_option
@out_option
def build(config: Path | None, out: Path | None) -> None:
    """Write dashboards/ and alerts/."""
    target = out or _repository()
    files = build_room.render(load(config))
    build_room.write(files, target)
    table = Table("File", "Bytes", box=None)
    table.columns[1].justify = "right"
    for path, text in sorted(files.items()):
        table.add_row(path, f"{len(text.encode()):,}")
    paper = console()
    paper.print(f"Written below {target}:", soft_wrap=True)
    paper.print(table)
    for path in build_room.left_over(files, target):
        paper.print(f"{path}: left over; nothing builds it any more", soft_wrap=True)


@click.command()
@config_option
@out_option
def check(config: Path | None, out: Path | None) -> None:
    """Say whether the files on disk are what `build` would write: 0 yes, 1 no."""
    target = out or _repository()
    differences = build_room.compare(build_room.render(load(config)), target)
    for difference in differences:
        click.echo(f"{difference.path}: {difference.what}")
        click.echo(difference.diff, nl=False)
    if differences:
        again = shlex.join(["draftboard", "build", *_options(config=config, out=out)])
        click.echo(f"{len(differences)} of the files below {target} are not as built: run `{again}`", err=True)
        raise SystemExit(1)
    click.echo(f"The files below {target} are as built.")


@click.command()
@config_option
@json_option
def signals(config: Path | None, *, as_json: bool) -> None:
    """List every signal: its question, unit, PromQL, record, panels and alerts."""
    entries = build_room.inventory(load(config))
    if as_json:
        document = {"schema_version": _SCHEMA_VERSION, "signals": [asdict(entry) for entry in entries]}
        click.echo(json.dumps(document, indent=2))
        return
    for entry in entries:
        click.echo(f"{entry.name}: {entry.title} [{entry.unit}, better: {entry.better}]")
        click.echo(f"  {entry.question}")
        for heading, lines in (("record", entry.records), ("panel", entry.panels), ("alert", entry.alerts)):
            for line in lines:
                click.echo(f"  {heading}: {line}")
        click.echo("  promql:")
        for line in entry.expr.splitlines():
            click.echo(f"    {line}")
        click.echo()


def _options(**paths: Path | None) -> list[str]:
    """As they were given, for a command to be typed."""
    return [word for name, path in paths.items() if path for word in (f"--{name}", str(path))]


def _repository() -> Path:
    """The folder of the repository that we stand in, else where we stand."""
    here = Path.cwd()
    return next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)
