"""`draftboard new`: writes the skeleton of an addition, and lists what is left to fill in."""

import subprocess
import sys
from pathlib import Path

import click

from draftboard import project
from draftboard.errors import DraftboardError
from draftboard_dev import skeletons
from draftboard_dev.skeletons import MARK, Files


@click.group("new")
def new() -> None:
    """Write the skeleton of a signal, alert, page, metric or dialect."""


@new.command()
@click.argument("name")
@click.option("--family", required=True, metavar="MODULE", help="Module of signals, such as requests.")
def signal(name: str, family: str) -> None:
    """Write a signal and a promtool case."""
    _write(skeletons.signal(_root(), name, family))


@new.command()
@click.argument("name")
@click.option("--signal", "signal_name", required=True, metavar="SIGNAL", help="Signal that it watches.")
@click.option("--beyond", required=True, metavar="BAND", help="Band or code of the signal in which it fires.")
def alert(name: str, signal_name: str, beyond: str) -> None:
    """Write an alert, its runbook and a promtool case."""
    _write(skeletons.alert(_root(), name, signal_name, beyond))


@new.command()
@click.argument("name")
def page(name: str) -> None:
    """Write a page of the dashboards."""
    _write(skeletons.page(_root(), name))


@new.command()
@click.argument("name")
@click.option("--label", "labels", multiple=True, metavar="LABEL", help="Label besides model and engine; repeatable.")
@click.option("--since", default=skeletons.NEWEST, metavar="RELEASE", help="First vLLM release that exports it.")
def metric(name: str, labels: tuple[str, ...], since: str) -> None:
    """Write a raw series of vLLM."""
    _write(skeletons.metric(_root(), name, labels, since))


@new.command()
@click.argument("name")
@click.option("--engine", required=True, metavar="ENGINE", help="The engine in words.")
@click.option("--prefix", required=True, metavar="PREFIX", help="How its series begin, such as tgi_.")
def dialect(name: str, engine: str, prefix: str) -> None:
    """Write the names of another engine, its page and its documentation."""
    _write(skeletons.dialect(_root(), name, engine, prefix))


def _root() -> Path:
    if project.CHECKOUT is None:
        raise DraftboardError("new: needs a checkout of the project")
    return project.CHECKOUT


def _write(files: Files) -> None:
    """Write the files, format the modules, and list the lines that are left to fill in."""
    root = _root()
    for path, text in files.items():
        (root / path).write_text(text)
    modules = [path for path in files if path.endswith(".py")]
    for action in (["check", "--quiet", "--fix", "--select", "I"], ["format", "--quiet"]):
        subprocess.run([sys.executable, "-m", "ruff", *action, *modules], cwd=root, check=True)
    for path in files:
        click.echo(path)
        for number, line in enumerate((root / path).read_text().splitlines(), start=1):
            if MARK in line:
                click.echo(f"  {number}: {line.strip()}")
    click.echo("Fill in these lines, then `make build schemas quick`: red tests name what is missing.")
